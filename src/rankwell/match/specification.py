"""Match functions by name, as the command has them: `or`, `and`, `ann:100`, `expr:a OR b`, `and + ann:100`."""

from __future__ import annotations

import re
from collections.abc import Callable

from rankwell.core import ParameterError
from rankwell.match.ann import Nearest
from rankwell.match.boolean import Boolean
from rankwell.match.functions import AllTerms, AnyTerm, Intersection, Match, Union

EXPRESSION = "expr"
# An expression may hold every sign there is, so it takes all that follows it.
TAIL = re.compile(rf"(?<![^\s+&]){EXPRESSION}:(?P<expression>.*)", re.DOTALL)
EXAMPLES = "or, and, ann:100, expr:... or several with + (union) or & (intersection) between them"


def plain(kind: Callable[[], Match]) -> Callable[[str | None], Match]:
    """A function that takes no argument."""

    def made(argument: str | None) -> Match:
        if argument is not None:
            raise ParameterError("match", expected="no argument here", found=argument)
        return kind()

    return made


MATCHES: dict[str, Callable[[str | None], Match]] = {
    "or": plain(AnyTerm),
    "and": plain(AllTerms),
    "ann": Nearest.parse,
    EXPRESSION: Boolean,
}
"""What makes a match function of what stands behind the colon (None without one)."""


def parse_match(text: str | Match) -> Match:
    """The match function that a text asks for. `&` binds before `+`; an `expr:` takes everything behind it.

    `expr` alone takes each query's own text as its expression.
    """
    if isinstance(text, Match):
        return text
    tail = TAIL.search(text)
    head = text[: tail.start()] + EXPRESSION if tail else text
    groups = [[part.strip() for part in group.split("&")] for group in head.split("+")]
    made = [[_made(part, text) for part in group] for group in groups]
    if tail:
        made[-1][-1] = MATCHES[EXPRESSION](tail["expression"])
    return _one(Union, [_one(Intersection, parts) for parts in made])


def _made(part: str, text: str) -> Match:
    name, colon, argument = part.partition(":")
    if name not in MATCHES:
        raise ParameterError("match", expected=EXAMPLES, found=text)
    return MATCHES[name](argument if colon else None)


def _one(kind: Callable[[tuple[Match, ...]], Match], parts: list[Match]) -> Match:
    return parts[0] if len(parts) == 1 else kind(tuple(parts))
