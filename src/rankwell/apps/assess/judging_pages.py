"""The judging page: it shows a passage, saves the grade, and shows the next."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Depends, Form, HTTPException, Path
from starlette.responses import Response

from rankwell.analysis import Analyzer, parse_analyzer
from rankwell.apps.assess.site import Visit, check_assessor
from rankwell.judging.judging import LONGEST_NOTE, Task

UNSURE, NOTE = "unsure", "note"  # answers of a form other than grades
LARGEST = 2**31 - 1  # the largest id of a database

Number = Annotated[int, Path(ge=1, le=LARGEST)]
router = APIRouter(default_response_class=Response, dependencies=[Depends(check_assessor)])


@router.post("/begin")
def begin(visit: Visit) -> Response:
    """Assign queries to the assessor; what they are to judge again comes first."""
    if visit.store.rejudging.task(visit.me.name) is not None:
        return visit.go("/again")
    if not visit.store.judging.begin(visit.me.name):
        return visit.show("nothing_left.html")
    return _next(visit)


@router.get("/judge")
def judge(visit: Visit) -> Response:
    """The passage to judge next."""
    return _next(visit)


@router.get("/judge/{assignment}/{position}")
def judge_again(visit: Visit, assignment: Number, position: Number) -> Response:
    """A passage that was judged before, to view it again."""
    task = visit.store.judging.task(visit.me.name, assignment, position)
    if task is None:
        raise HTTPException(404)
    return _passage(visit, task)


@router.post("/judge/{assignment}/{position}")
def answer(  # noqa: PLR0917 -- FastAPI passes them by name
    visit: Visit,
    assignment: Number,
    position: Number,
    answer: Annotated[str, Form(max_length=20)],
    note: Annotated[str | None, Form(max_length=2 * LONGEST_NOTE)] = None,
    milliseconds: Annotated[int | None, Form(ge=0)] = None,
) -> Response:
    """Save an answer or a note to the disk, and show the next passage."""
    judging, name = visit.store.judging, visit.me.name
    note = None if note is None else note.replace("\r\n", "\n")  # browsers send CRLF
    if answer == NOTE:
        judging.note(name, assignment, position, note or "")
        if not visit.wants_fragment:
            return visit.go(f"/judge/{assignment}/{position}")
        task = judging.task(name, assignment, position)
        return _next(visit) if task is None else _passage(visit, task)
    try:
        grade = None if answer == UNSURE else int(answer)
    except ValueError:
        raise HTTPException(422) from None
    swap = visit.wants_fragment
    given = judging.give(name, assignment, position, grade, milliseconds=milliseconds, note=note, go_on=swap)
    return _shown(visit, given.following, saved=answer) if swap else visit.go("/judge")


@router.post("/undo")
def undo(visit: Visit) -> Response:
    """Undo the last answer, and show its passage."""
    task = visit.store.judging.undo(visit.me.name)
    if task is None:
        return _next(visit)
    if visit.wants_fragment:
        return _passage(visit, task, undone=True)
    return visit.go(f"/judge/{task.assignment}/{task.position}")


@router.get("/again")
def judge_a_second_time(visit: Visit) -> Response:
    """A passage that the assessor has judged before, without the first grade."""
    task = visit.store.rejudging.task(visit.me.name)
    if task is None:
        return visit.go("/judge")
    return visit.show(
        "again.html",
        task=task,
        reading=lay_out(task.passage, task.query, mark=visit.study.mark_terms),
        only_ends=only_ends_named((point.grade, point.name) for point in visit.study.scale),
        guidelines=visit.site.guidelines,
    )


@router.post("/again/{assignment}/{position}")
def answer_again(
    visit: Visit, assignment: Number, position: Number, answer: Annotated[str, Form(max_length=20)]
) -> Response:
    """Save a second answer, and show the next passage to judge again."""
    try:
        grade = None if answer == UNSURE else int(answer)
    except ValueError:
        raise HTTPException(422) from None
    visit.store.rejudging.give(visit.me.name, assignment, position, grade)
    return visit.go("/again")


def _next(visit: Visit) -> Response:
    """The next passage: directly for our script, by a redirect for a plain form, so that a reload is harmless."""
    if visit.request.method == "POST" and not visit.wants_fragment:
        return visit.go("/judge")
    return _shown(visit, visit.store.judging.task(visit.me.name))


def _shown(visit: Visit, task: Task | None, *, saved: str | None = None) -> Response:
    if task is None:
        done = sum(query.state == "done" for query in visit.store.judging.queries(visit.me.name))
        return visit.show("round_done.html", done=done, again=visit.store.rejudging.task(visit.me.name))
    return _passage(visit, task, saved=saved)


def _passage(visit: Visit, task: Task, *, saved: str | None = None, undone: bool = False) -> Response:
    names = {str(point.grade): point.name for point in visit.study.scale}
    return visit.show(
        "judge.html",
        task=task,
        reading=lay_out(task.passage, task.query, mark=visit.study.mark_terms),
        can_undo=task.answered > 0 or task.query_number > 1,
        only_ends=only_ends_named((point.grade, point.name) for point in visit.study.scale),
        guidelines=visit.site.guidelines,
        saved=names.get(saved or "", saved),
        undone=undone,
        longest_note=LONGEST_NOTE,
    )


def only_ends_named(names: Iterable[tuple[int, str]]) -> bool:
    """Whether a scale names only its first and last grade: then the names are shown beside the grades."""
    first, *between, last = [name != str(grade) for grade, name in names]
    return first and last and bool(between) and not any(between)


TITLE = "title"
WORD = re.compile(r"\w+(?:['’-]\w+)*")  # noqa: RUF001 -- texts have both kinds of apostrophe
BREAK = re.compile(r"\n[^\S\n]*\n\s*")
SHORTEST = 2  # characters of a highlighted word
# Words of a query that are not highlighted.
PLAIN_TEXT = """
a about an and are as at be by can could did do does for from had has have how i if in into is it its of on or should so
than that the their them then there these they this to was were what when where which who whom whose why will with would
you your
"""
PLAIN = frozenset(PLAIN_TEXT.split())


class PassagePiece(NamedTuple):
    """A piece of text, highlighted or not."""

    text: str
    marked: bool


Paragraph = tuple[PassagePiece, ...]


class PassageSection(NamedTuple):
    """One text of a passage with its name, which is shown where there are several."""

    name: str
    paragraphs: tuple[Paragraph, ...]


class PassageReading(NamedTuple):
    """A passage laid out: its title (empty where it has none) and its other texts."""

    title: Paragraph
    sections: tuple[PassageSection, ...]


def lay_out(passage: Mapping[str, str], query: str, *, mark: bool) -> PassageReading:
    """The passage in paragraphs, with the query's words and their other forms highlighted (SIGMET, SIGMETs).

    Nothing in it is markup: templates escape every piece.
    """
    words = query_words(query) if mark else frozenset()
    texts = {name: text for name, text in passage.items() if text.strip()}
    title = texts.pop(TITLE, "") if len(texts) > 1 else ""
    sections = tuple(
        PassageSection(name, tuple(tuple(_pieces(part, words)) for part in BREAK.split(text.strip())))
        for name, text in texts.items()
    )
    return PassageReading(tuple(_pieces(title, words)), sections)


def query_words(query: str) -> frozenset[str]:
    """The stems of a query's words to highlight, in lower case."""
    words = (word.casefold() for word in WORD.findall(query))
    return frozenset(_stem(word) for word in words if len(word) >= SHORTEST and word not in PLAIN)


@lru_cache(maxsize=4096)
def _stem(word: str) -> str:
    """A word's stem; the word itself where the analyzer drops it."""
    return next(iter(analyzer()(word)), word)


@cache
def analyzer() -> Analyzer:
    """The analyzer that says which words are forms of one."""
    return parse_analyzer("english:none")


def _pieces(text: str, words: frozenset[str]) -> Iterator[PassagePiece]:
    end = 0
    for match in WORD.finditer(text) if words else ():
        if _stem(match[0].casefold()) in words:
            if match.start() > end:
                yield PassagePiece(text[end : match.start()], marked=False)
            yield PassagePiece(match[0], marked=True)
            end = match.end()
    if end < len(text):
        yield PassagePiece(text[end:], marked=False)
