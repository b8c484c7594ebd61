"""The rule for things that may be missing on a machine."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest


def require(name: str, *, there: bool, how: str) -> None:
    """Skip with a line where something is not there; fail where RANKWELL_REQUIRE names it (CI names everything)."""
    if there:
        return
    message = f"{name} is not here: {how}"
    if name in os.environ.get("RANKWELL_REQUIRE", "").split(","):
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


def require_train() -> None:
    """Skip where torch and its libraries are not installed."""
    require("train", there=find_spec("torch") is not None, how="pip install 'rankwell[train]'")
