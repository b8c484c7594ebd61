"""The reference has every public name, is made from the source, and every example in it runs."""

from __future__ import annotations

import ast
import doctest
import importlib.util
import inspect
from pathlib import Path

import pytest

import rankwell
from needs import require
from rankwell import BM25, RM3, Index, read_qrels, read_queries

ROOT = Path(__file__).parents[1]
# Examples that train or serve, and those of models that nobody has: they are compiled only.
NOT_RUN = {"TrainingResult", "adapt", "distil", "finetune", "serve", "train"}
WITH_MODELS = {"Dense", "embed", "reranker"}


def examples(name: str) -> list[doctest.Example]:
    return doctest.DocTestParser().get_examples(inspect.getdoc(getattr(rankwell, name)) or "")


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What the examples use."""
    monkeypatch.chdir(tmp_path)
    Path("papers.csv").write_text(
        "id,title,abstract,year\n"
        "p1,Masks and droplets,Masks stop large droplets.,2020\n"
        "p2,Hand washing,Soap destroys the envelope of the virus.,2021\n"
        "p3,Opening windows,Fresh air carries droplets away.,2022\n"
    )
    Path("queries.tsv").write_text("q1\tdo masks stop droplets\nq2\tsoap and the virus\nq3\tfresh air\n")
    Path("qrels.txt").write_text("q1 0 p1 2\nq1 0 p3 1\nq2 0 p2 2\nq3 0 p3 1\nq3 0 p1 0\n")
    index, queries = Index.build("papers", "papers.csv"), read_queries("queries.tsv")
    run, other = BM25(index)(queries), RM3(BM25(index), fb_docs=1)(queries)
    rankwell.write_run("bm25.trec", run)
    public = {name: getattr(rankwell, name) for name in rankwell.__all__}
    own = {"index": index, "queries": queries, "judgments": read_qrels("qrels.txt"), "run": run, "other": other}
    return {**public, **own}


@pytest.mark.parametrize("name", rankwell.HOMES)
def test_every_public_name_has_an_example_that_runs(
    name: str, names: dict[str, object], request: pytest.FixtureRequest
) -> None:
    found = examples(name)
    assert found, f"{name} has no example"
    if name in NOT_RUN:
        for example in found:
            ast.parse(example.source)
        return
    if name in WITH_MODELS:
        require("models", there=True, how="make setup")
        request.getfixturevalue("use_models")
    for example in found:
        try:
            value = eval(compile(example.source, name, "eval"), names)  # noqa: S307 -- our own documentation
        except SyntaxError:
            exec(compile(example.source, name, "exec"), names)  # noqa: S102
            continue
        if example.want:
            assert value == ast.literal_eval(example.want)


def test_the_reference_is_that_of_the_source() -> None:
    spec = importlib.util.spec_from_file_location("reference", ROOT / "website" / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (ROOT / "docs" / "reference.md").read_text(encoding="utf-8") == module.page(), "python website/reference.py"


def test_the_reference_has_every_public_name() -> None:
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert [name for name in rankwell.HOMES if f"\n### {name}\n" not in page] == []
