"""The front door: `from rankwell import ...` has every public name, loads nothing before it is needed, and is typed."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest

import rankwell
from needs import require
from rankwell import (
    BM25,
    CrossEncoder,
    Dense,
    Document,
    Hybrid,
    Index,
    IndexWriter,
    Judgments,
    Queries,
    Query,
    RankwellError,
    Run,
    TfIdf,
    compare,
    evaluate,
    fuse,
    make_pairs,
    read_queries,
    read_run,
    stage,
    sweep,
    train,
    tune,
    write_run,
)
from test_architecture import HEAVY

PAPERS = [
    {"id": "p1", "title": "Masks and droplets", "abstract": "Masks stop large droplets.", "year": 2020},
    {"id": "p2", "title": "Hand washing", "abstract": "Soap destroys the envelope of the virus.", "year": 2021},
    {"id": "p3", "title": "Opening windows", "abstract": "Fresh air carries droplets away.", "year": 2022},
]
JUDGED = {"q1": {"p1": 2, "p3": 1}, "q2": {"p2": 1}}
TEXTS = {"q1": "do masks stop droplets", "q2": "what does soap do to a virus"}


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return Index.build(tmp_path / "papers", PAPERS)


def test_every_name_can_be_imported_and_only_those_are_listed() -> None:
    assert dir(rankwell) == sorted(rankwell.__all__)
    for name in rankwell.__all__:
        assert getattr(rankwell, name) is not None


def test_editors_and_mypy_know_every_name() -> None:
    stub = ast.parse((Path(rankwell.__file__).parent / "__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom) and node.module != "typing"]
    imported = {alias.asname or alias.name: (node.module, alias.name) for node in imports for alias in node.names}
    renamed = {node.targets[0].id: node.value.id for node in stub.body if isinstance(node, ast.Assign)}
    typed = {**imported, **{name: imported.pop(old) for name, old in renamed.items()}}
    typed = {name: home for name, home in typed.items() if name not in renamed.values()}
    homes = {}
    for name, home in rankwell.HOMES.items():
        module, colon, attribute = home.partition(":")
        homes[name] = tuple(module.rsplit(".", 1)) if colon and not attribute else (module, attribute or name)
    assert typed == homes


def test_nothing_is_loaded_before_a_name_is_asked_for() -> None:
    heavy = ("numpy", *HEAVY)
    program = f"import rankwell, sys; print([n for n in {heavy!r} if n in sys.modules], 'rankwell.core' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] False"


@pytest.mark.parametrize(
    "names", ["Index, BM25, evaluate, compare", "read_run, Run, tune, fuse", "CrossEncoder, Hybrid"]
)
def test_names_load_neither_torch_nor_pandas_nor_matplotlib(names: str) -> None:
    heavy = ("torch", "pandas", "matplotlib", "transformers", "sklearn")
    program = f"from rankwell import {names}; import sys; print([n for n in {heavy!r} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_wrong_name_gets_the_right_one() -> None:
    with pytest.raises(AttributeError, match="did you mean BM25"):
        _ = rankwell.bm25
    with pytest.raises(AttributeError, match="did you mean CrossEncoder"):
        _ = rankwell.Crossencoder


def as_frame() -> pd.DataFrame:
    return pd.DataFrame(PAPERS)


def as_file(folder: Path) -> Path:
    as_frame().to_csv(folder / "papers.csv", index=False)
    return folder / "papers.csv"


def as_dataset() -> object:
    require("datasets", there=find_spec("datasets") is not None, how="pip install datasets")
    import datasets

    return datasets.Dataset.from_list(PAPERS)


@pytest.mark.parametrize("kind", ["path", "text", "frame", "indexed frame", "dicts", "iterator", "by id", "documents"])
def test_an_index_is_built_from_anything(tmp_path: Path, kind: str) -> None:
    given = {
        "path": lambda: as_file(tmp_path),
        "text": lambda: str(as_file(tmp_path)),
        "frame": as_frame,
        "indexed frame": lambda: as_frame().set_index("id"),
        "dicts": lambda: PAPERS,
        "iterator": lambda: iter(PAPERS),
        "by id": lambda: {row["id"]: {k: v for k, v in row.items() if k != "id"} for row in PAPERS},
        "documents": lambda: [
            Document(row["id"], {"title": row["title"], "abstract": row["abstract"]}, {"year": row["year"]})
            for row in PAPERS
        ],
    }[kind]()
    index = Index.build(tmp_path / "papers", given)
    assert sorted(index.documents) == ["p1", "p2", "p3"]
    assert index.documents["p2"].metadata == {"year": 2021}
    assert list(BM25(index, filter="year>=2021")("droplets")["1"].docnos) == ["p3"]


def test_an_index_is_built_from_a_hugging_face_dataset(tmp_path: Path) -> None:
    dataset = as_dataset()
    assert sorted(Index.build(tmp_path / "papers", dataset).documents) == ["p1", "p2", "p3"]
    with pytest.raises(RankwellError, match=r"choose one, such as dataset\['train'\]"):
        Index.build(tmp_path / "other", {"train": dataset, "test": dataset})


def test_documents_are_added_and_deleted_later(index: Index) -> None:
    more = index.add([{"id": "p4", "title": "Vaccines", "abstract": "A vaccine prevents.", "year": 2023}])
    assert (len(index), len(more)) == (3, 4)
    assert len(more.delete("p1", "p4")) == 2
    with pytest.raises(RankwellError, match="p9"):
        more.delete("p2", "p9")


def test_gaps_of_a_frame_are_no_values(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "id": ["a", "b"],
            "text": ["fever and cough", None],
            "year": [2020, None],
            "seen": pd.to_datetime(["2020-01-02", None]),
        }
    )
    index = Index.build(tmp_path / "papers", frame)
    assert index.documents["a"].metadata == {"year": 2020, "seen": "2020-01-02"}
    assert (index.documents["b"].fields, index.documents["b"].metadata) == ({}, {})


def test_a_function_is_a_stage(index: Index) -> None:
    @stage
    def newest_first(run: Run) -> list[int]:
        return [run.documents[docno].metadata["year"] for docno in run.docnos]

    def oldest_first(run: Run) -> Run:
        return run.with_scores([-run.documents[docno].metadata["year"] for docno in run.docnos])

    assert list((BM25(index) >> newest_first)("droplets")["1"].docnos) == ["p3", "p1"]
    pipeline = BM25(index) >> oldest_first >> (lambda run: run.top(1))
    assert list(pipeline("droplets")["1"].docnos) == ["p1"]
    assert newest_first.fingerprint() != stage(oldest_first).fingerprint()
    assert stage(lambda run: run.top(1)).fingerprint() != stage(lambda run: run.top(2)).fingerprint()


def halved(run: Run) -> Run:
    return run.with_scores(run.scores / 2)


def test_a_frame_of_topics_is_read_by_its_columns(index: Index) -> None:
    topics = pd.DataFrame({"qid": ["7", "8"], "query": ["masks", "soap"]})
    assert BM25(index)(topics).qids == ("7", "8")
    theirs = pd.DataFrame({"query_id": [7], "text": ["masks"]})
    assert list(BM25(index)(theirs)["7"].docnos) == ["p1"]
    ranked = pd.DataFrame({"qid": ["7"], "docno": ["p2"], "score": [1.0], "query": ["masks"]})
    assert list(stage(halved)(ranked)["7"].docnos) == ["p2"]


MISUSE = {
    "documents first": (
        lambda _: Index.build(PAPERS, "other"),
        'the folder comes first, Index.build("other", ...)',
    ),
    "a file first": (lambda index: Index.build(str(as_file(index.path.parent)), "x"), "the folder comes first"),
    "an index is there": (lambda index: Index.build(index.path, PAPERS), "open it with Index.open("),
    "one dict": (lambda _: Index.build("new", PAPERS[0]), "put it into a list, [{...}]"),
    "one document": (lambda _: Index.build("new", Document("d", {})), "put it into a list, [document]"),
    "texts without ids": (lambda _: Index.build("new", ["a text"]), "give texts by id, {'d1': 'a text'}"),
    "a number": (lambda _: Index.build("new", 7), "expected a path, a data frame, or documents"),
    "no documents": (lambda _: Index.build("new", []), "expected documents, found none"),
    "a dict for a document": (lambda index: IndexWriter(index.path).add(PAPERS[0]), "expected a Document, found dict"),
    "a frame for an index": (lambda _: BM25(as_frame()), "make one with Index.build(folder, documents)"),
    "queries for an index": (lambda _: Dense(Queries.of("fever")), "expected an index, or its folder"),
    "a path for queries": (lambda index: BM25(index)(Path("queries.tsv")), "read_queries('queries.tsv')"),
    "judgments for queries": (lambda index: BM25(index)(Judgments()), "have no query texts"),
    "numbers for queries": (lambda index: BM25(index)([1, 2]), "expected texts, or texts by id"),
    "a number for a query": (lambda index: BM25(index)(7), "expected a query, queries by id, or a run"),
    "a class for a stage": (lambda index: BM25(index) >> CrossEncoder, "make one, CrossEncoder(...)"),
    "a text for a stage": (lambda index: BM25(index) >> "bert", "expected a stage, or a function that takes a run"),
    "an index for a model": (CrossEncoder, "CrossEncoder(model, index=index)"),
    "one ranker": (lambda index: Hybrid(BM25(index)), "Hybrid((first, second))"),
    "a list of runs": (lambda _: fuse([Run.from_dict({})]), "fuse(first, second)"),
    "swapped": (lambda index: compare({"a": BM25(index)(TEXTS)}, Judgments()), "swap the two, (judgments, runs)"),
    "swapped, one run": (lambda index: evaluate(BM25(index)(TEXTS), JUDGED), "swap the two, (judgments, runs)"),
    "one run": (lambda index: compare(JUDGED, BM25(index)(TEXTS)), "name them, {'BM25': run"),
    "runs without names": (lambda index: compare(JUDGED, [BM25(index)(TEXTS)]), "name them, {'BM25': run"),
    "a path for judgments": (lambda index: evaluate("qrels.txt", BM25(index)(TEXTS)), "read_qrels('qrels.txt')"),
    "a path for a run": (lambda _: evaluate(JUDGED, "bm25.trec"), "read_run('bm25.trec')"),
    "a number for a path": (lambda _: Index.open(7), "index: expected a path, found int 7"),
    "an index for a file": (read_queries, "queries: expected a path, found Index"),
    "a frame to write to": (lambda index: write_run(BM25(index)(TEXTS), "run.trec"), "run: expected a path, found Run"),
    "halves of grades": (
        lambda index: evaluate({"q": {"d": 0.5}}, BM25(index)(TEXTS)),
        "expected whole numbers as grades",
    ),
    "nothing to train on": (lambda index: make_pairs("pairs", index), "queries: expected queries, or a collection"),
    "an unknown setting": (
        lambda _: train.cross_encoder("pairs", "run", model="minilm-l6", epoch=2),
        'setting: expected epochs, found "epoch"',
    ),
    "a text for a number": (lambda index: BM25(index, k1="0.9"), "k1: expected a number, found the text '0.9'"),
    "an index for rankers": (Hybrid, "found Index: give rankers, Hybrid((BM25(index), Dense(index)))"),
    "queries for a re-ranker": (lambda _: CrossEncoder("model")("masks"), "BM25(index) >> CrossEncoder(...)"),
    "an unknown test": (lambda index: compare(JUDGED, {"a": BM25(index)(TEXTS)}, test="z"), "test: expected t or"),
    "one run to sweep": (lambda index: sweep(JUDGED, BM25(index)(TEXTS), BM25(index)(TEXTS), "AP"), "found one run"),
    "queries for judgments": (
        lambda index: tune(BM25(index), {"k1": [1]}, JUDGED, Queries.of(TEXTS)),
        "read_qrels(file)",
    ),
    "a frame for a file": (lambda _: read_run(as_frame()), "run: expected a path, found DataFrame"),
    "an odd result": (lambda index: stage(lambda _: "better")(BM25(index)(TEXTS)), "return run.with_scores(...)"),
}


@pytest.mark.parametrize("case", MISUSE)
def test_misuse_gets_one_line_that_says_what_to_do(
    index: Index, case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wrong, way_out = MISUSE[case]
    with pytest.raises(RankwellError) as error:
        wrong(index)
    assert way_out in str(error.value)
    assert "\n" not in str(error.value)


def test_folders_may_be_paths_or_texts(index: Index, tmp_path: Path) -> None:
    assert BM25(index.path)("masks") == BM25(str(index.path))("masks") == BM25(index)("masks")
    assert list(TfIdf(index.path)("masks")["1"].docnos) == ["p1"]
    assert CrossEncoder(tmp_path / "model").model == str(tmp_path / "model")


def test_one_query_and_several_are_queries(index: Index) -> None:
    ranker, query = BM25(index), Query("7", {"query": "masks"})
    assert ranker(query) == ranker([query]) == ranker(Queries([query])) == ranker({"7": "masks"})


def test_dicts_and_frames_are_judgments_and_runs(index: Index) -> None:
    run, judged = BM25(index)(TEXTS), Judgments.from_dict(JUDGED)
    expected = evaluate(judged, run).mean("nDCG@10")
    for judgments in (JUDGED, judged.to_frame()):
        for ranked in (run, run.to_dict(), run.to_frame()):
            assert evaluate(judgments, ranked).mean("nDCG@10") == expected
    assert compare(JUDGED, {"a": run.to_dict(), "b": run.to_frame()}).baseline == "a"


def test_tuning_takes_a_frame_of_topics(index: Index) -> None:
    topics = pd.DataFrame({"qid": list(TEXTS), "query": list(TEXTS.values())})
    tuned = tune(BM25(index), {"b": [0.3, 0.7]}, topics, JUDGED, folds=2)
    assert set(tuned.best.setting) == {"b"}
