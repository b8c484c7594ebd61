from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ir_datasets
import pytest
from collection_strategies import COLUMN_IDS, LINE_BREAKS, ONE_LINE, documents, judgments, plain, queries
from hypothesis import given, settings

from rankwell.collections import open_collection, write_documents, write_qrels, write_queries
from rankwell.core import Document, Judgments, Queries, RankwellError

NAME = "rankwell-test/local"


@pytest.fixture(autouse=True)
def catalogue(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A catalogue that holds nothing but what a test puts in."""
    known: dict[str, Any] = {}
    monkeypatch.setattr(ir_datasets, "load", known.__getitem__)
    return known


def local(folder: Path, found: list[Document], asked: Queries, graded: Judgments) -> Any:
    """A dataset made of files, as ir_datasets offers it to its users."""
    write_documents(folder / "docs.tsv", found, "msmarco-passage")
    write_queries(folder / "queries.tsv", asked, "tsv")
    write_qrels(folder / "x.qrels", graded, "trec")
    return ir_datasets.create_dataset(
        docs_tsv=str(folder / "docs.tsv"), queries_tsv=str(folder / "queries.tsv"), qrels_trec=str(folder / "x.qrels")
    )


# ir_datasets splits lines at \r as well, drops white space around them, and reads tables without any quoting.
TEXTS = ONE_LINE.map(str.strip).filter(bool)
IDS = COLUMN_IDS.filter(lambda text: text.split() == [text] and not set(LINE_BREAKS) & set(text))


@settings(max_examples=20, deadline=None)
@given(
    documents(TEXTS, ("text",), ids=IDS, at_least=1).filter(lambda found: all(d.fields for d in found)),
    queries(TEXTS, ids=IDS),
    judgments(IDS),
)
def test_documents_queries_and_judgments_come_through(found: list[Document], asked: Queries, graded: Judgments) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        dataset = local(Path(folder), found, asked, graded)
        patch.setattr(ir_datasets, "load", {NAME: dataset}.__getitem__)
        collection = open_collection(f"irds:{NAME}")
        assert plain(list(collection.documents())) == plain(found)
        assert collection.queries() == asked
        assert collection.judgments() == graded
        assert collection.format == "irds"


def test_a_name_that_the_catalogue_does_not_have_is_told() -> None:
    with pytest.raises(RankwellError, match="irds:beir/sifact: expected an id of the ir_datasets catalogue"):
        list(open_collection("irds:beir/sifact").documents())


def test_a_dataset_without_judgments_is_told(catalogue: dict[str, Any], tmp_path: Path) -> None:
    write_documents(tmp_path / "docs.tsv", [Document("1", {"text": "x"})], "msmarco-passage")
    catalogue[NAME] = ir_datasets.create_dataset(docs_tsv=str(tmp_path / "docs.tsv"))
    with pytest.raises(RankwellError, match=f"irds:{NAME}: expected a dataset with qrels, found one without"):
        open_collection(f"irds:{NAME}").judgments()


def test_what_cannot_be_fetched_is_one_clear_line(catalogue: dict[str, Any], tmp_path: Path) -> None:
    catalogue[NAME] = ir_datasets.create_dataset(docs_tsv=str(tmp_path / "gone.tsv"))
    with pytest.raises(RankwellError, match=f"irds:{NAME}: its docs could not be read: "):
        list(open_collection(f"irds:{NAME}").documents())
