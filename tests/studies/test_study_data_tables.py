"""Tables that say something of the data, and tables over parts of the queries or several label sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import ttest_rel

from rankwell.collections import read_qrels, read_run
from rankwell.core import RankwellError
from rankwell.evaluation import evaluate
from rankwell.studies import results, run_study
from rankwell.studies.file.errors import StudyError
from rankwell.studies.file.reading import parse_study
from rankwell.studies.report.finished import Figure, FinishedStudy, ResultRow, ResultTable
from rankwell.studies.report.report import Report, report_table
from rankwell.studies.run.runner import StudyFolder
from small_study import ALONE, begun, told, write_collection

HEAD = """
title = "Data"
seed = 7
correction = "none"

[[collection]]
name = "Old"
source = "diseases"
labels = "sparse"

[[collection]]
name = "New"
source = "diseases"
labels = "liberal"
grades = "grades.tsv"
assessors = 2

[[collection]]
name = "Graded"
source = "diseases"
labels = "graded"
grades = "grades.tsv"
assessors = 2
"""
LABELS = """
[[table]]
name = "people"
title = "People"
kind = "assessors"
collections = ["Graded"]
published = { assessors = { value = 37 } }

[[table]]
name = "labels"
title = "Labels"
kind = "labels"
published = { New = { relevant = 9 } }

[[table]]
name = "tests"
title = "Old and new"
kind = "label-tests"
collections = ["Old", "New"]
measures = ["P@5", "MFR@5"]
rows = { BM25 = "bm25", chance = "bm25 | random(2)" }
published = { "BM25: New" = { "P@5" = 0.9 } }
"""
PARTS = """
title = "Parts"
seed = 7
[[collection]]
name = "Diseases"
source = "diseases"
SPLIT
[[table]]
name = "rankers"
title = "Rankers"
measures = ["nDCG@10"]
part = "validation"
rows = { chance = "bm25 | random(2)", BM25 = "bm25", worst = "bm25(match='expr:nowhere')" }
[[table]]
name = "test"
title = "The chosen one"
kind = "chosen"
of = "rankers"
part = "test"
published = { chosen = { "nDCG@10" = 0.51 } }
"""


def with_grades(folder: Path) -> Path:
    """The diseases, with grades of two people for all documents of four of the five queries."""
    place = write_collection(folder)
    rows = ["qid\tdocno\tassessor\tgrade\tenglish"]
    for query in range(4):
        for document in range(10):
            near = document % 8 == query
            grades = (2 if near else document % 3 == 0, 1 if near else 0)
            rows += [
                f"q{query}\td{document}\tp{person}\t{int(grade)}\t{7 + person}" for person, grade in enumerate(grades)
            ]
    (place / "diseases" / "grades.tsv").write_text("\n".join(rows))
    return place


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    folder = tmp_path_factory.mktemp("labelled")
    found = begun(folder, HEAD + LABELS, data=with_grades(folder / "data"))
    run_study(found, ALONE, quiet=True)
    return found


def tables_of(folder: StudyFolder) -> dict[str, ResultTable]:
    return {table.name: table for table in results(folder.plan(), folder.store)}


def test_people_are_counted_and_their_agreement_measured(labelled: StudyFolder) -> None:
    table = tables_of(labelled)["people"]
    values = {row.name: row.figures["value"] for row in table.rows}
    assert (values["assessors"].value, values["assessors"].published) == (2, 37)
    assert (values["queries assessed"].value, values["queries kept"].value, values["answers"].value) == (4, 4, 80)
    assert values["assessors per query"].value == 2
    assert values["queries per assessor"].value == 4
    assert 0 < values["Krippendorff's alpha, ordinal: grades"].value < 1
    titles = {drawing.keywords["title"] for drawing in table.drawings}
    assert titles >= {"Queries per assessor", "English levels of the assessors", "Grades that were given"}
    assert all(labelled.store.find(figure.cell or "")["kind"] == "assessors" for figure in values.values())


def test_label_sets_stand_beside_one_another_with_what_they_call_relevant(labelled: StudyFolder) -> None:
    table = tables_of(labelled)["labels"]
    found = {row.name: {name: figure.value for name, figure in row.figures.items()} for row in table.rows}
    assert found["Old"] == {
        "queries": 5, "judged": 5, "relevant": 5, "relevant per query": 1, "fewest": 1, "most": 1,
    }  # fmt: skip
    index = labelled.store.path(next(d.index for d in labelled.plan().described if d.collection.name == "New"))
    judged = read_qrels(index / "qrels.tsv")
    counts = [sum(grade > 0 for grade in of.values()) for of in judged.values()]
    assert (found["New"]["queries"], found["New"]["relevant"], found["New"]["most"]) == (4, sum(counts), max(counts))
    assert next(row for row in table.rows if row.name == "New").figures["relevant"].published == 9


def test_new_labels_are_tested_against_old_ones_query_by_query(labelled: StudyFolder) -> None:
    table = tables_of(labelled)["tests"]
    assert table.queries == 4  # those that all label sets have
    assert [row.name for row in table.rows] == ["BM25: Old", "BM25: New", "chance: Old", "chance: New"]
    plan = labelled.plan()
    values: dict[str, list[float]] = {}
    for row in plan.rows:
        if row.row.name == "BM25":
            folder = labelled.store.path(plan.cells[row.run.key].parents[0])
            labels = read_qrels(folder / "qrels.tsv").only([f"q{n}" for n in range(4)])
            per_query = evaluate(labels, read_run(labelled.store.path(row.run.key) / "run.trec"), "P@5").per_query(
                "P@5"
            )
            values[row.collection.name] = [per_query[f"q{n}"] for n in range(4)]
    figure = table.rows[1].figures["P@5"]
    assert figure.value == pytest.approx(sum(values["New"]) / 4)
    assert figure.difference == pytest.approx((sum(values["New"]) - sum(values["Old"])) / 4)
    assert figure.p == pytest.approx(ttest_rel(values["New"], values["Old"]).pvalue)
    assert figure.published == 0.9
    assert table.rows[0].figures["P@5"].p is None


def test_a_table_of_people_is_left_out_where_nobody_knows_single_grades(tmp_path: Path) -> None:
    text = HEAD.replace('grades = "grades.tsv"\n', "") + LABELS
    folder = begun(tmp_path, text)
    plan, _ = run_study(folder, ALONE, quiet=True)
    found = Report(folder, plan, results(plan, folder.store), {})
    assert "people" not in {table.name for table in found.tables}
    assert any(
        'no table "People": expected grades of single people for Graded' in text for text in found.introduction()
    )


def parts(tmp_path: Path, split: str = "") -> tuple[StudyFolder, dict[str, Any]]:
    data = write_collection(tmp_path / "data")
    lines = (data / "diseases" / "qrels" / "test.tsv").read_text().splitlines()
    for name, queries in (("validation", ("q0", "q1", "q2")), ("final", ("q3", "q4"))):
        kept = [line for line in lines[1:] if line.startswith(queries)]
        (data / "diseases" / "qrels" / f"{name}.tsv").write_text("\n".join([lines[0], *kept]))
    folder = begun(tmp_path, PARTS.replace("SPLIT", split), data=data)
    return folder, {table["table"]: table for table in told(folder)["tables"]}


def test_the_best_row_is_chosen_on_some_queries_and_measured_on_the_others(tmp_path: Path) -> None:
    folder, tables = parts(tmp_path)
    assert (tables["rankers"]["queries"], tables["test"]["queries"]) == (3, 2)
    assert [row["row"] for row in tables["test"]["rows"]] == ["chance", "BM25"]
    assert tables["test"]["notes"][0].startswith("BM25 was chosen by nDCG@10")
    chosen = tables["test"]["rows"][1]["figures"]["nDCG@10"]
    assert chosen["published"] == 0.51
    measured = FinishedStudy(folder.plan(), folder.store)
    row = folder.plan().rows[0]
    halves = [set(measured.judgments(row, part)) for part in ("validation", "test")]
    assert halves[0] | halves[1] == set(measured.judgments(row))
    assert not halves[0] & halves[1]
    run = read_run(folder.store.path(folder.store.find(chosen["cell"])["key"]) / "run.trec")
    again = evaluate(measured.judgments(row, "test"), run, "nDCG@10").mean("nDCG@10")
    assert chosen["value"] == pytest.approx(again)


def test_a_collection_with_splits_says_itself_which_queries_are_for_the_test(tmp_path: Path) -> None:
    folder, tables = parts(tmp_path, 'split = "validation+final"')
    assert (tables["rankers"]["queries"], tables["test"]["queries"]) == (3, 2)
    row = folder.plan().rows[0]
    assert set(FinishedStudy(folder.plan(), folder.store).judgments(row, "test")) == {"q3", "q4"}


def test_pairs_are_described_with_those_to_train_on(tmp_path: Path) -> None:
    text = PARTS[: PARTS.index("[[table]]")].replace("SPLIT", "held_back = 0.4")
    text += '[[table]]\nname="data"\ntitle="Pairs"\nkind="pairs"\npublished = { pairs = { count = 94823 } }'
    table = told(begun(tmp_path, text))["tables"][0]
    rows = {row["row"]: {name: figure["value"] for name, figure in row["figures"].items()} for row in table["rows"]}
    lines = (tmp_path / "data" / "diseases" / "qrels" / "test.tsv").read_text().splitlines()[1:]
    relevant = sum(not line.endswith("\t0") for line in lines)
    assert (rows["queries"]["count"], rows["pairs"]["count"], rows["relevant"]["count"]) == (5, len(lines), relevant)
    assert rows["relevant"]["% of pairs"] == pytest.approx(100 * relevant / len(lines))
    assert (rows["words in the query"]["mean"], rows["words in the title"]["mean"]) == (2, 2)
    assert table["rows"][2]["figures"]["count"]["published"] == 94823


def test_a_search_engine_may_find_what_the_collection_lacks(tmp_path: Path) -> None:
    data = write_collection(tmp_path / "data")
    rows = [
        f"q{query} Q0 {docno} {rank} {9 - rank} x" for query in range(5) for rank, docno in enumerate(("new", "d0"), 1)
    ]
    (data / "diseases" / "found.trec").write_text("\n".join(rows))
    text = PARTS[: PARTS.index("[[table]]")].replace("SPLIT", "") + (
        '[[table]]\nname="t"\ntitle="T"\nmeasures=["RR@10"]\nrows={ PubMed = "system(found.trec)" }'
    )
    found = told(begun(tmp_path, text, data=data))["tables"][0]["rows"][0]["figures"]["RR@10"]["value"]
    assert found == pytest.approx(0.1)  # d0 is relevant to one of five queries, and stands second
    refused = begun(tmp_path / "run", text.replace("system(", "run("), data=data)
    with pytest.raises(RankwellError, match="expected documents of the collection, found new"):
        run_study(refused, ALONE, quiet=True)


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ('of = "rankers"\n', "", 'expected a key "of"'),
        ('of = "rankers"', 'of = "ranker"', "did you mean rankers?"),
        (
            'kind = "chosen"',
            'kind = "pairs"\nrows = { a = "bm25" }',
            "expected no rows, because the table is of the kind pairs",
        ),
        ('part = "test"', 'part = "tests"', "did you mean test?"),
    ],
)
def test_a_table_that_makes_no_sense_is_told(before: str, after: str, says: str) -> None:
    assert before in PARTS
    with pytest.raises(StudyError) as raised:
        parse_study(PARTS.replace("SPLIT", "").replace(before, after, 1))
    assert says in raised.value.message


def test_variables_take_the_values_that_the_user_wishes() -> None:
    text = PARTS.replace("SPLIT", "").replace("BM25 =", '"k1 $k1" =').replace('"bm25", worst', '"bm25(k1=$k1)", worst')
    file = parse_study(text.replace("seed = 7", "seed = 7\n[vary]\nk1 = [0.5, 1.2]"))
    wished = file.varying({"k1": ["0.9"]})
    assert [row.name for row in wished.rows(wished.study.table[0])] == ["chance", "k1 0.9", "worst"]
    assert wished.fingerprint() != file.fingerprint()
    assert file.varying({}).fingerprint() == file.fingerprint()
    with pytest.raises(StudyError, match="expected a variable of"):
        file.varying({"k2": ["1"]})
    with pytest.raises(StudyError, match="expected a number"):
        file.varying({"k1": ["much"]})


def test_every_number_of_a_column_has_its_own_digits() -> None:
    rows = (
        ResultRow("count", "", {"value": Figure(12488, digits=0, published=37)}),
        ResultRow("share", "", {"value": Figure(0.25)}),
    )
    table, _ = report_table(ResultTable("t", "T", "C", 1, columns=("value",), rows=rows))
    text = table.render("md")
    assert "12,488 |" in text
    assert "37 |" in text
    assert "0.2500" in text
    assert json.loads(table.render("json"))[0]["value"] == 12488
