"""Trainings that last a second: most draw no curves, and the garbage collector leaves the libraries alone."""

from __future__ import annotations

import gc
from importlib.util import find_spec

import pytest

from rankwell.core import MissingExtraError
from rankwell.models.learning import finishing
from rankwell.report.pictures import Picture


@pytest.fixture(scope="session", autouse=True)
def freeze_libraries() -> None:
    """Every training collects garbage at its end; without this it looks at each object of torch and transformers."""
    if find_spec("torch") and find_spec("sentence_transformers"):
        import sentence_transformers  # noqa: F401 -- imports torch and transformers
        from transformers import BertModel, Trainer  # noqa: F401 -- imported when they are asked for
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def draw_no_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A training inside a test draws nothing, as where matplotlib is missing; those of a module's fixtures do draw."""

    def lines(*_: object, **__: object) -> Picture:
        raise MissingExtraError("drawing", extra="plots")

    monkeypatch.setattr(finishing, "lines", lines)
