from __future__ import annotations

from pathlib import Path

import pytest
from overlap_scorer import Overlap

from needs import require


@pytest.fixture
def scorer(request: pytest.FixtureRequest) -> Overlap:
    """Under a name of its own, so that no other test's scores are met."""
    return Overlap(name="".join(char for char in request.node.name if char.isalnum()))


@pytest.fixture(scope="session")
def real_model(models: Path) -> str:
    """A cross-encoder that was trained on MS MARCO, in int8."""
    folder = models / "ms-marco-minilm-l12"
    require("models", there=folder.is_dir(), how="run `make setup`, or `rankwell models add ms-marco-minilm-l12`")
    return str(folder)
