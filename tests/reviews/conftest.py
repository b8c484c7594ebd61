"""What tests of reviews share: PubMed on this machine, and the real replies of NCBI."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from eutilities_server import EUtilitiesServer, serving

from needs import require
from rankwell.core import home
from rankwell.reviews import EUtilities
from rankwell.reviews.pubmed.answers import AnswerCache
from rankwell.reviews.pubmed.transport import Account, Throttle, Transport

SET_UP = home()  # before any test is given a home of its own


@pytest.fixture(autouse=True)
def no_account_and_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in ("RANKWELL_NCBI_EMAIL", "RANKWELL_NCBI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[EUtilitiesServer]:
    with serving([]) as state:
        yield state


@pytest.fixture
def pauses() -> list[float]:
    """How long the client of a test wanted to wait."""
    return []


@pytest.fixture
def client(server: EUtilitiesServer, tmp_path: Path, pauses: list[float]) -> Iterator[EUtilities]:
    """A client of the server that only notes its pauses."""
    transport = Transport(server.url, Throttle(10_000), timeout=5, attempts=4, sleep=pauses.append)
    with EUtilities(AnswerCache(tmp_path / "cache"), transport, Account()) as made:
        yield made


@pytest.fixture(scope="session")
def biopython() -> Path:
    """The tests of Biopython's source archive, which hold replies of NCBI as they came."""
    folder = Path(os.environ.get("RANKWELL_BIOPYTHON") or SET_UP / "biopython") / "Tests"
    how = "unpack Tests/ of Biopython's source archive there, or set RANKWELL_BIOPYTHON (see CONTRIBUTING.md)"
    require("biopython", there=(folder / "Entrez" / "pubmed1.xml").is_file(), how=f"{folder}: {how}")
    return folder
