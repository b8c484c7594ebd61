"""Errors of the API: JSON that says what was expected, what was found, and where. Never HTML, never a traceback."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from rankwell.core import ParameterError, RankwellError
from rankwell.core.errors import shown
from rankwell.web.headers import HEADERS, UNLESS_SAID

if TYPE_CHECKING:
    from starlette.responses import Response

JSON = "application/json"
WORDS = {
    400: "the request cannot be read",
    404: "there is nothing here",
    405: "this method is not for this address",
    408: "the request came too slowly",
    413: "the request is too large",
    415: "the body is of another kind",
    422: "the request asks for something that cannot be",
    500: "something went wrong here",
    503: "too much is being asked at the moment",
}


@dataclass(frozen=True)
class Problem:
    """Why a request was refused. `where` is the option, or the part of the body, that it is about."""

    status: int
    error: str
    expected: str | None = None
    found: str | None = None
    where: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def for_json(self) -> dict[str, Any]:
        """As the API gives it."""
        return {"error": self.error, "expected": self.expected, "found": self.found, "where": self.where}


class ProblemError(Exception):
    """Raised by a route that cannot go on."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.error)
        self.problem = problem


def respond(problem: Problem) -> Response:
    """The response, with the headers that every answer has: a refusal may come before anything adds them."""
    return json_response(problem.for_json(), problem.status, {**HEADERS, **UNLESS_SAID, **problem.headers})


def json_response(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Any content as JSON; numbers of numpy too."""
    from starlette.responses import Response

    made = orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)
    return Response(made, status, dict(headers or {}), JSON)


def problem_of(error: RankwellError, status: int = 422, hidden: Mapping[str, str] | None = None) -> Problem:
    """A refusal of the library. `hidden` are texts (paths of this machine) and what is said in their place."""
    told = str(error)
    for text, instead in (hidden or {}).items():
        told = told.replace(text, instead)
    if not isinstance(error, ParameterError):
        return Problem(status, told)
    name = _as_option(error.name)
    told = told.replace(error.name, name, 1)
    expected = error.expected
    for text, instead in (hidden or {}).items():
        expected = expected.replace(text, instead)
    return Problem(status, told, expected, shown(error.found), name)


def _as_option(name: str) -> str:
    """`--rm3-settings` as requests spell it."""
    return name[2:].replace("-", "_") if name.startswith("--") else name
