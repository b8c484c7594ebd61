"""A re-ranker that changes nothing scores exactly what the run before it scores, in every study."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rankwell.core import Document, Judgments, Queries, Query, Run
from rankwell.evaluation import evaluate
from rankwell.index import Index, IndexWriter
from rankwell.models.reranking.reranker import NullReranker
from rankwell.studies import shipped_studies
from rankwell.studies.file.reading import ExperimentFile, parse_study
from rankwell.studies.file.study import COMPARISON, FRONTIER, TableEntry, measure_on
from rankwell.studies.steps import Chain, StepContext, chain_of, stage_of, written
from rankwell.studies.steps.kinds import CUT, VECTORS, control_of
from small_study import begun, told
from tiny_models import needs_torch

FIELDS = ("title", "abstract", "body", "text")
SHALLOW = """
title = "A shallow re-ranker"
[[collection]]
name = "Diseases"
source = "diseases"
about = "Made up."
[[table]]
name = "main"
title = "Shallow"
measures = ["nDCG@10", "RR@1", "AP"]
[table.rows]
"BM25" = "bm25"
"cut" = "bm25 | top 2 | null"
"kept" = "bm25 | null(2)"
"""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> StepContext:
    folder = tmp_path_factory.mktemp("tiny") / "index"
    with IndexWriter(folder) as writer:
        for number in range(60):
            text = " ".join(f"word{number % step} fever" for step in (2, 3, 5, 7))
            writer.add(Document(f"d{number}", {name: f"{text} {name}" for name in FIELDS}))
    judged = [(f"q{n}", f"d{m}", 1 + m % 3) for n in range(3) for m in range(n, 60, 4)]
    return StepContext(Index.open(folder), Judgments(judged))


def reranking_rows(file: ExperimentFile) -> list[tuple[TableEntry, Chain]]:
    rows = []
    for table in file.study.table:
        if table.kind in (COMPARISON, FRONTIER):
            chains = [file.chain(table, row) for row in file.rows(table)]
            rows += [(table, control) for chain in chains if (control := control_of(chain))]
    return rows


@pytest.mark.parametrize("name", ["s0", "s1", "s2", "s3", "s4", "frontier", "students"])
@pytest.mark.parametrize("budget", [None, "small"])
def test_a_reranker_that_changes_nothing_scores_its_baseline_in_every_shipped_study(
    name: str, budget: str | None, tiny: StepContext
) -> None:
    texts = [f"word{n} fever word1" for n in range(3)]
    queries = Queries([Query(f"q{n}", {"text": text, "question": text}) for n, text in enumerate(texts)])
    rows = reranking_rows(shipped_studies()[name].within(budget))
    assert rows
    for table, control in rows:
        words = chain_of("bm25")  # for a first stage that needs a model
        chain = (*words, *control[1:]) if control[0].kind == VECTORS else control
        first = tuple(step for step in chain[:-1] if step.kind != CUT)
        runs = {"first": stage_of(first, tiny)(queries), "control": stage_of(chain, tiny)(queries)}
        measured = evaluate(tiny.judgments, runs, [measure_on(measure, 60) for measure in table.measures])
        for measure in measured["first"].measures:
            if measure.name != "AUC":
                assert measured["control"].per_query(measure) == measured["first"].per_query(measure), written(chain)


def test_no_shipped_study_cuts_before_it_reranks() -> None:
    for file in shipped_studies().values():
        assert file.warnings() == []
        assert all(file.within(budget).warnings() == [] for budget in file.study.budget)


def test_the_beir_study_takes_the_stored_rm3_run_and_all_judgments_of_the_pool() -> None:
    file = shipped_studies()["s2"]
    pool = next(entry for entry in file.study.collection if entry.name == "DL19 pool")
    table = next(table for table in file.study.table if table.name == "quality")
    row = next(row for row in file.rows(table) if row.name == "BM25 + RM3")
    assert written(file.chain(table, row, pool)) == 'run("runs/BM25_RM3.trec")'
    assert written(file.chain(table, row)) == "bm25 | rm3"
    assert pool.split == "full"


def test_the_null_reranker_keeps_order_and_tail() -> None:
    run = Run.from_dict({"q": {"a": 3.0, "b": 2.0, "c": 2.0, "d": -1.0}})
    for k in (1, 2, 4, 100):
        assert NullReranker(k)(run)["q"].docnos.tolist() == run["q"].docnos.tolist()


def test_a_cut_before_reranking_is_flagged_where_a_measure_looks_deeper() -> None:
    (said,) = parse_study(SHALLOW).warnings()
    assert said.startswith("Shallow: cut: top 2 throws away")
    assert "nDCG@10, AP look deeper" in said
    assert "RR@1" not in said
    assert parse_study(SHALLOW.replace('"nDCG@10", "RR@1", "AP"', '"RR@1", "P@2"')).warnings() == []


def test_the_report_flags_the_cut_and_carries_the_collections_caveat(tmp_path: Path) -> None:
    (main,) = told(begun(tmp_path, SHALLOW))["tables"]
    assert any("top 2 throws away" in note for note in main["notes"])
    assert "Diseases: Made up." in main["notes"]
    values = {row["row"]: row["figures"] for row in main["rows"]}
    assert values["kept"]["AP"]["value"] == values["BM25"]["AP"]["value"]
    assert values["cut"]["AP"]["value"] < values["BM25"]["AP"]["value"]


def test_a_comparison_with_a_model_gets_a_control_that_is_not_counted(tmp_path: Path) -> None:
    needs_torch()
    text = SHALLOW.replace("about =", "held_back = 0.4\nabout =").replace(
        '"cut" = "bm25 | top 2 | null"\n"kept" = "bm25 | null(2)"', ROWS
    )
    (main,) = told(begun(tmp_path, text + MODEL))["tables"]
    rows = {row["row"]: row for row in main["rows"]}
    assert list(rows) == ["BM25", "words", "deeper", "nothing of it", "control: re-ranks nothing"]
    control = rows["control: re-ranks nothing"]
    assert control["line"] == "bm25 | null(2)"
    assert rows["nothing of it"]["figures"]["AP"]["value"] == rows["BM25"]["figures"]["AP"]["value"]  # its tail stays
    for measure, figure in control["figures"].items():
        assert figure["value"] == rows["BM25"]["figures"][measure]["value"]
        assert figure["p"] == 1


ROWS = """"words" = "bm25 | cross-encoder(words, depth=2)"
"deeper" = "bm25 | cross-encoder(words, depth=3)"
"nothing of it" = "bm25 | interpolate(cross-encoder(words, depth=2), 0)"
"""
MODEL = """
[models]
words = "labelled(negatives='judged:all') | linear(fewest=1, longest=1)"
"""


def test_a_query_that_is_a_document_does_not_find_itself(tmp_path: Path) -> None:
    folder = tmp_path / "diseases"
    (folder / "qrels").mkdir(parents=True)
    texts = [f"argument {number} on fever and rain number{number % 3}" for number in range(9)]
    documents = [json.dumps({"_id": f"a{number}", "title": "", "text": text}) for number, text in enumerate(texts)]
    (folder / "corpus.jsonl").write_text("\n".join(documents))
    (folder / "queries.jsonl").write_text("\n".join(json.dumps(json.loads(line)) for line in documents[:3]))
    judged = "\n".join(f"a{number}\ta{number + more}\t1" for number in range(3) for more in (3, 6) if number + more < 9)
    (folder / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}")
    text = SHALLOW[: SHALLOW.index('"cut"')]
    values = {}
    for own in ("auto", "keep"):
        text = text.replace('about = "Made up."', f'own = "{own}"').replace('own = "auto"', f'own = "{own}"')
        (main,) = told(begun(tmp_path / own, text, data=tmp_path))["tables"]
        values[own] = main["rows"][0]["figures"]["RR@1"]["value"]
        assert any("own id are left out" in note for note in main["notes"]) == (own == "auto")
    assert values == {"auto": 1.0, "keep": 0.0}
