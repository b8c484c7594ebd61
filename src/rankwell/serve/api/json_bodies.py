"""JSON objects out of bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from rankwell.core import ParameterError
from rankwell.serve.requests import UnreadableError


def json_object(body: bytes, needed: Sequence[str], others: Sequence[str] = ()) -> dict[str, Any]:
    """The object of a body: it has these names, perhaps those, and no more."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise UnreadableError(f"body: expected JSON, found something else ({error})") from error
    if not isinstance(found, dict):
        raise ParameterError("body", expected="a JSON object", found=found)
    for name in needed:
        if name not in found:
            raise ParameterError("body", expected=f"an object with {', '.join(needed)}", found=f"none of {name}")
    for name in found:
        if name not in (*needed, *others):
            raise ParameterError("body", expected=f"nothing besides {', '.join((*needed, *others))}", found=name)
    return found
