"""Which layers of a deeper model go with the layers of a shallower one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rankwell.core import ParameterError

NUMBERS = "numbers of the teacher's layers such as 2,4,6"


def layer_map(told: str, student: int, teacher: int) -> tuple[int, ...]:
    """For each of the student's layers a layer of the teacher, counted from 1.

    evenly        the last layer and others at equal distances before it: 4,8,12 for 3 of 12 layers (TinyBERT's map)
    every-second  2,4,6,...: the same, for a student with half as many layers
    first, last   as many as the student has, from the bottom or the top
    2,4,12        these
    """
    if not 1 <= student <= teacher:
        raise ParameterError("student", expected=f"from 1 to {teacher} layers, as many as the teacher", found=student)
    if told in NAMED:
        return NAMED[told](student, teacher)
    numbers = tuple(int(part) if part.strip().isdecimal() else 0 for part in told.split(","))
    if 0 in numbers or max(numbers) > teacher:
        expected = f"{', '.join(NAMED)}, or {NUMBERS}, each from 1 to {teacher}"
        raise ParameterError("layers", expected=expected, found=told)
    if len(numbers) != student or list(numbers) != sorted(set(numbers)):
        raise ParameterError("layers", expected=f"{student} different {NUMBERS}, in their order", found=told)
    return numbers


def _evenly(student: int, teacher: int) -> tuple[int, ...]:
    return tuple(round(place * teacher / student) for place in range(1, student + 1))


def _every_second(student: int, teacher: int) -> tuple[int, ...]:
    if student != teacher // 2:
        expected = f"another map (evenly, first, last), because every second of {teacher} layers are {teacher // 2}"
        raise ParameterError("layers", expected=expected, found=f"every-second for {student}")
    return tuple(range(2, teacher + 1, 2))


def _first(student: int, teacher: int) -> tuple[int, ...]:  # noqa: ARG001 -- all maps are called alike
    return tuple(range(1, student + 1))


def _last(student: int, teacher: int) -> tuple[int, ...]:
    return tuple(range(teacher - student + 1, teacher + 1))


NAMED: Mapping[str, Callable[[int, int], tuple[int, ...]]] = {
    "evenly": _evenly,
    "every-second": _every_second,
    "first": _first,
    "last": _last,
}
