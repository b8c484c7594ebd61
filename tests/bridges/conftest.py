"""A small index with judged queries."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from needs import require
from rankwell.core import Document, Judgments
from rankwell.index import Index, IndexWriter

DOCUMENTS = {
    "d1": ("Fever in children", "Fever is common in children and mostly harmless.", 2019),
    "d2": ("Cough", "A cough after a fever may last for weeks.", 2020),
    "d3": ("Masks", "Masks stop large droplets.", 2021),
    "d4": ("Fever", "Fever, fever and more fever in adults.", 2022),
}
TOPICS = {"q1": "fever in children", "q2": "masks and droplets", "q3": "zebra"}


@pytest.fixture
def index(tmp_path: Path) -> Index:
    with IndexWriter(tmp_path / "papers", metadata=["year"]) as writer:
        for docno, (title, abstract, year) in DOCUMENTS.items():
            writer.add(Document(docno, {"title": title, "abstract": abstract}, {"year": year}))
    return Index.open(tmp_path / "papers")


@pytest.fixture
def topics() -> dict[str, str]:
    return dict(TOPICS)


@pytest.fixture
def judgments() -> Judgments:
    return Judgments.from_dict({"q1": {"d1": 2, "d4": 0}, "q2": {"d3": 1}, "q3": {"d2": 1}})


@pytest.fixture
def bridge():
    """Skip where a library is not here."""

    def need(module: str, extra: str) -> None:
        require("bridges", there=find_spec(module) is not None, how=f"pip install 'rankwell[{extra}]'")

    return need
