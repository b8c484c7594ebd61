"""What the tests of a server share: kernels that are compiled, once for all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankwell.vectors.search import warm


@pytest.fixture(scope="session", autouse=True)
def compiled_kernels(shared_home: Path) -> None:
    """Otherwise every server would begin to compile them, and stop when its test ends."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANKWELL_HOME", str(shared_home))
        warm()
