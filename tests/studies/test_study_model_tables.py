"""Tables about models: curves over the steps of training, scores, averages over collections, queries a minute."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rankwell.evaluation.run_analysis import auc
from rankwell.studies import results, run_study
from rankwell.studies.file.errors import StudyError
from rankwell.studies.file.reading import parse_study
from rankwell.studies.report.finished import Figure
from rankwell.studies.report.model_tables import followed
from rankwell.studies.report.tables import with_average
from small_study import ALONE, begun, told, write_collection
from tiny_models import needs_torch, tiny_bert

SEVERAL = """
title = "Several"
[[collection]]
name = "One"
source = "diseases"
[[collection]]
name = "Two"
source = "diseases"
[[collection]]
name = "Three"
source = "diseases"
[[table]]
name = "main"
title = "All"
columns = "collections"
average = ["One", "Two"]
measures = ["nDCG@10"]
rows = { BM25 = "bm25", chance = "bm25 | random" }
published = { BM25 = { One = 0.5, average = 0.6 } }
[[table]]
name = "scores"
title = "Scores"
kind = "scores"
collections = ["One"]
rows = { BM25 = "bm25" }
[[table]]
name = "speed"
title = "Speed"
measures = ["nDCG@10"]
collections = ["One"]
speed = true
rows = { BM25 = "bm25" }
"""
LEARNT = """
title = "Learnt"
[models]
"ranker" = "labelled(negatives='hard:1', depth=5) | fine-tune('MODEL', epochs=2, max_tokens=32, log_every=1)"
"words" = "labelled(negatives='hard:1', depth=5) | linear(fewest=1)"
[[collection]]
name = "Diseases"
source = "diseases"
held_back = 0.4
[[table]]
name = "curves"
title = "Losses"
kind = "curves"
published = { ranker = { loss = 0.5 } }
[table.rows]
"ranker" = "bm25 | cross-encoder(ranker, depth=3)"
"words" = "bm25 | cross-encoder(words, depth=3)"
"""


def test_an_average_is_over_the_named_collections(tmp_path: Path) -> None:
    tables = {table["table"]: table for table in told(begun(tmp_path, SEVERAL))["tables"]}
    assert tables["main"]["columns"] == ["One", "Two", "Three", "average"]
    figures = tables["main"]["rows"][0]["figures"]
    assert figures["average"]["value"] == (figures["One"]["value"] + figures["Two"]["value"]) / 2
    assert figures["average"]["published"] == 0.6
    assert "average: the mean over One, Two, each counted once" in tables["main"]["notes"]
    bm25 = tables["speed"]["rows"][0]["figures"]
    assert bm25["queries/min"]["value"] == pytest.approx(5 * 60 / bm25["seconds"]["value"])


def test_a_row_that_lacks_a_collection_has_no_average() -> None:
    figures = {"One": Figure(0.2), "Two": Figure(0.4)}
    assert with_average(figures, ["One", "Two"], {})["average"].value == pytest.approx(0.3)
    assert with_average(figures, ["One", "Three"], {}) == figures


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (
            'columns = "collections"',
            'columns = "measures"',
            'expected columns = "collections" in a table with an average',
        ),
        ('average = ["One", "Two"]', 'average = ["One", "Twoo"]', "did you mean Two?"),
    ],
)
def test_a_mistake_in_an_average_is_told(before: str, after: str, says: str) -> None:
    with pytest.raises(StudyError, match=says):
        parse_study(SEVERAL.replace(before, after))


def test_scores_of_relevant_and_other_documents_have_a_table_and_a_picture(tmp_path: Path) -> None:
    folder = begun(tmp_path, SEVERAL)
    plan, _ = run_study(folder, ALONE, quiet=True)
    (table,) = [table for table in results(plan, folder.store) if table.name == "scores"]
    figures = table.rows[0].figures
    row = next(row for row in plan.rows if row.table == "scores")
    run, judgments = row.run.read(folder.store), write_judgments(tmp_path)
    scored = [
        (judgments[qid][docno], score)
        for qid, ranking in run.rankings()
        for docno, score in ranking
        if docno in judgments[qid]
    ]
    relevant = np.array([grade > 0 for grade, _ in scored])
    scores = np.array([score for _, score in scored])
    assert figures["mean, relevant"].value == pytest.approx(float(scores[relevant].mean()))
    assert figures["AUC of returned"].value == pytest.approx(auc(relevant, scores))
    assert len(table.drawings) == 1


def write_judgments(folder: Path) -> dict[str, dict[str, int]]:
    from rankwell.collections import read_qrels

    return read_qrels(write_collection(folder / "data") / "diseases" / "qrels" / "test.tsv").to_dict()


def test_points_of_a_training_are_gathered_by_name() -> None:
    metrics = [
        {"step": 0, "validation": {"AP": 0.1, "loss": 0.9}},
        {"step": 5, "loss": 0.5},
        {"step": 10, "loss": 0.25, "lr": 0.1},
        {"step": 10, "validation": {"AP": 0.3, "loss": None}},
    ]
    assert followed(metrics) == {
        "AP": [(0.0, 0.1), (10.0, 0.3)],
        "validation loss": [(0.0, 0.9)],
        "loss": [(5.0, 0.5), (10.0, 0.25)],
    }


@pytest.mark.slow
def test_the_losses_of_a_training_are_kept_and_drawn(tmp_path: Path) -> None:
    needs_torch()
    folder = begun(tmp_path, LEARNT.replace("MODEL", str(tiny_bert(tmp_path / "bert"))))
    plan, _ = run_study(folder, ALONE, quiet=True)
    (table,) = results(plan, folder.store)
    assert [row.name for row in table.rows] == ["ranker"]
    loss = table.rows[0].figures["loss"]
    assert loss.published == 0.5
    assert loss.value > 0
    assert table.rows[0].figures["steps"].value >= 1
    assert [drawing.keywords["title"] for drawing in table.drawings] == ["loss while training"]
    assert any(note.startswith("words: nothing was written down") for note in table.notes)
