from __future__ import annotations

from pathlib import Path

import pytest
from small_studies import join, make_study
from sqlalchemy import select

from rankwell.core import Judgments, RankwellError, Run
from rankwell.evaluation.evaluation import unjudged_documents
from rankwell.judging import create_study
from rankwell.judging.opening import only_unjudged, pool_of_runs, read_material, sample_queries, strata, stratum_of
from rankwell.judging.schema import PassageRow, PoolRow, QueryRow
from rankwell.judging.study_file import read_study_file

FIRST = Run.from_dict({"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}, "q2": {"d4": 2.0, "d1": 1.0}})
SECOND = Run.from_dict({"q1": {"d9": 3.0, "d3": 2.0, "d1": 1.0}, "q3": {"d2": 1.0}})

STUDY = """
title = "Two rankers"
queries = "queries.tsv"
collection = "corpus.jsonl"
runs = ["first.trec"]
depth = 2
qrels = "qrels.txt"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "queries.tsv").write_text("q1\twhat is a rank\nq2\twhat is a query\n")
    (tmp_path / "corpus.jsonl").write_text(
        "".join(f'{{"_id": "d{n}", "title": "Title {n}", "text": "Text {n}"}}\n' for n in range(1, 6))
    )
    (tmp_path / "first.trec").write_text(
        "q1 Q0 d1 1 3.0 r\nq1 Q0 d2 2 2.0 r\nq1 Q0 d3 3 1.0 r\nq2 Q0 d4 1 2.0 r\nq2 Q0 d1 2 1.0 r\n"
    )
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\nq1 0 d5 1\nq2 0 d4 0\n")
    return tmp_path


def written(folder: Path, text: str) -> Path:
    path = folder / "study.toml"
    path.write_text(text)
    return path


def pool_in(store) -> dict[str, dict[str, tuple[int | None, int | None]]]:
    """Rank and original grade of every passage of the pool."""
    with store.database.read() as session:
        rows = session.execute(
            select(QueryRow.qid, PassageRow.docno, PoolRow.rank, PoolRow.original)
            .join(QueryRow, PoolRow.query_id == QueryRow.id)
            .join(PassageRow, PoolRow.passage_id == PassageRow.id)
        )
        found: dict = {}
        for qid, docno, rank, original in rows:
            found.setdefault(qid, {})[docno] = (rank, original)
        return found


def test_a_study_takes_the_top_of_its_runs(folder: Path, address: str, closing) -> None:
    store = closing(create_study(written(folder, STUDY), address))
    assert store.study.title == "Two rankers"
    assert pool_in(store) == {
        "q1": {"d1": (1, 1), "d2": (2, None)},
        "q2": {"d4": (1, 0), "d1": (2, None)},
    }
    assert store.originals() == Judgments([("q1", "d1", 1), ("q2", "d4", 0)])
    (name,) = join(store)
    store.judging.begin(name)
    task = store.judging.task(name)
    number = task.docno[1:]
    assert dict(task.passage) == {"title": f"Title {number}", "text": f"Text {number}"}


def test_only_what_nobody_has_judged(folder: Path, sqlite_address: str, closing) -> None:
    store = closing(create_study(written(folder, STUDY + "only_unjudged = true\n"), sqlite_address))
    assert pool_in(store) == {"q1": {"d2": (2, None)}, "q2": {"d1": (2, None)}}


def test_known_relevant_passages_can_be_added(folder: Path, sqlite_address: str, closing) -> None:
    store = closing(create_study(written(folder, STUDY + "add_known = true\n"), sqlite_address))
    assert pool_in(store)["q1"] == {"d1": (1, 1), "d2": (2, None), "d5": (None, 1)}


def test_a_pool_can_be_listed(folder: Path, sqlite_address: str, closing) -> None:
    text = 'queries = "queries.tsv"\ncollection = "corpus.jsonl"\n[pool]\nq2 = ["d5", "d1"]\n'
    store = closing(create_study(written(folder, text), sqlite_address))
    assert pool_in(store) == {"q2": {"d5": (1, None), "d1": (2, None)}}
    assert store.study.title == "study", "named after its file"


def test_the_fields_that_assessors_see_can_be_chosen(folder: Path) -> None:
    file = read_study_file(written(folder, STUDY + 'fields = ["text"]\n'))
    assert read_material(file).passages["d1"] == {"text": "Text 1"}


def test_queries_and_collection_may_come_from_elsewhere(folder: Path, sqlite_address: str, closing) -> None:
    text = STUDY.replace('queries = "queries.tsv"\n', "").replace('collection = "corpus.jsonl"\n', "")
    path = written(folder, text)
    with pytest.raises(RankwellError, match="expected queries, found none"):
        create_study(path, sqlite_address)
    with pytest.raises(RankwellError, match="expected a collection with the texts, found none"):
        create_study(path, sqlite_address, queries=str(folder / "queries.tsv"))
    assert not Path(sqlite_address).exists()
    sources = {"queries": str(folder / "queries.tsv"), "collection": str(folder / "corpus.jsonl")}
    assert len(pool_in(closing(create_study(path, sqlite_address, **sources)))) == 2


def test_hostile_texts_are_stored_on_both_databases(folder: Path, address: str, closing) -> None:
    (folder / "corpus.jsonl").write_text('{"_id": "d1", "text": "<b>\\u0000 \U0001f600 \u202e"}\n')
    text = 'queries = "queries.tsv"\ncollection = "corpus.jsonl"\n[pool]\nq1 = ["d1"]\n'
    store = closing(create_study(written(folder, text), address))
    with store.database.read() as session:
        (passage,) = session.scalars(select(PassageRow)).all()
        assert passage.fields["text"].startswith("<b>\ufffd ")
        assert "\U0001f600 \u202e" in passage.fields["text"]


def test_a_database_holds_one_study(folder: Path, address: str) -> None:
    path = written(folder, STUDY)
    create_study(path, address).close()
    with pytest.raises(RankwellError, match="expected a database without a study, found one: Two rankers"):
        create_study(path, address)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colection = 'x'", "study.toml: colection: expected one of "),
        ("depth = 'deep'", 'study.toml: depth: expected a whole number, found "deep"'),
        ("depth = true", "study.toml: depth: expected a whole number, found True"),
        ("runs = 'one.trec'", "study.toml: runs: expected a list of texts"),
        ("exploration = 2", "exploration: expected a probability from 0 to 1, found 2"),
        ("assessors_per_query = 0", "assessors_per_query: expected a number, at least 1, found 0"),
        ("scale = 6", "scale: expected a number of points (2, 3, 4, 5, 7, 11), or a table"),
        ("[[scale]]\ngrade = 1\nname = 'only one'", "scale: expected 2 to 11 different grades"),
        ("[[scale]]\ngrade = 1\n", "scale: expected grade, name and description"),
        ("[pool]\nq1 = 'd1'", "study.toml: pool: q1: expected a list of texts"),
        ("[sample]\nhigh = 3", "sample: expected runs and qrels to draw it by"),
        ("guidelines_file = 'none.md'", "none.md: cannot be read: No such file"),
        ("guidelines = 'a'\nguidelines_file = 'b'", "expected guidelines or guidelines_file, found both"),
        ("title = ", "study.toml: expected a TOML file, found: "),
        ("title = ' '", "title: expected a title"),
    ],
)
def test_a_mistake_in_a_study_file_is_told_with_its_name(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "study.toml"
    path.write_text(text)
    with pytest.raises(RankwellError) as told:
        read_study_file(path)
    assert message in str(told.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (STUDY.replace("runs", "#"), "expected runs, or a table [pool], found neither"),
        (STUDY.replace("qrels", "#") + "only_unjudged = true\n", "expected qrels that say what is judged"),
        (STUDY + "[pool]\nq1 = ['d77']\n", "corpus.jsonl: expected the 1 passages of the pool, found no d77"),
        (STUDY + "[pool]\nq77 = ['d1']\n", "queries.tsv: expected the queries of the pool, found no q77"),
        (STUDY + "fields = ['body']\n", "expected texts in body, found none"),
        (STUDY + "query_field = 'x'\n", "expected a text named 'x'"),
        (STUDY + "[sample]\nhigh = 9\n", "study.toml: sample: high: expected 0 to 1, the queries of that stratum"),
        (STUDY + "[sample]\nhihg = 1\n", "expected strata named high, medium, low, outside"),
        (STUDY + "[pool]\nq1 = []\n", "expected passages to judge"),
    ],
)
def test_a_study_that_cannot_be_is_told_why(folder: Path, text: str, message: str) -> None:
    with pytest.raises(RankwellError) as told:
        read_material(read_study_file(written(folder, text)))
    assert message in str(told.value)


def test_a_scale_and_texts_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text("# Read\n")
    path = written(
        tmp_path,
        "guidelines_file = 'guide.md'\nconsent = 'Yes?'\n"
        "[[scale]]\ngrade = 1\nname = 'good'\n[[scale]]\ngrade = -1\nname = 'bad'\ndescription = 'No.'\n",
    )
    study = read_study_file(path).study
    assert (study.guidelines, study.consent, study.grades) == ("# Read\n", "Yes?", (-1, 1))
    assert study.scale[0] == (-1, "bad", "No.")


@pytest.mark.parametrize("points", [2, 3, 4, 5, 7, 11])
def test_scales_of_the_field_are_there_by_their_number_of_points(tmp_path: Path, points: int) -> None:
    assert len(read_study_file(written(tmp_path, f"scale = {points}")).study.scale) == points


def test_a_pool_is_the_union_of_runs_best_ranked_first() -> None:
    assert pool_of_runs([FIRST, SECOND], 2) == {
        "q1": {"d1": 1, "d9": 1, "d2": 2, "d3": 2},
        "q2": {"d4": 1, "d1": 2},
        "q3": {"d2": 1},
    }
    assert list(pool_of_runs([FIRST, SECOND], 2)["q1"]) == ["d1", "d9", "d2", "d3"]


def test_the_unjudged_pool_is_that_of_a_comparison() -> None:
    judgments = Judgments([("q1", "d1", 1), ("q2", "d7", 0)])
    ours = only_unjudged(pool_of_runs([FIRST, SECOND], 3), judgments)
    theirs = unjudged_documents(judgments, [FIRST, SECOND], 3)
    assert {qid: tuple(docnos) for qid, docnos in ours.items()} == theirs


@pytest.mark.parametrize(
    ("rank", "stratum"),
    [
        *((1, "high"), (20, "high"), (21, "medium"), (80, "medium")),
        *((81, "low"), (100, "low"), (101, "outside"), (None, "outside")),
    ],
)
def test_a_querys_stratum_is_that_of_its_rank(rank: int | None, stratum: str) -> None:
    assert stratum_of(rank) == stratum


def test_the_best_ranked_relevant_passage_makes_the_stratum() -> None:
    run = Run.from_dict({"a": {f"d{n}": float(-n) for n in range(1, 150)}, "b": {"d1": 1.0}})
    judgments = Judgments(
        [("a", "d120", 1), ("a", "d30", 2), ("a", "d1", 0), ("b", "d9", 1), ("c", "d1", 1), ("d", "d1", 0)]
    )
    assert strata(run, judgments) == {"a": "medium", "b": "outside", "c": "outside"}


def test_a_sample_has_so_many_of_each_stratum_and_can_be_drawn_again() -> None:
    by_query = {f"q{n}": "high" if n < 2329 else "medium" for n in range(2329 + 897)}
    drawn = sample_queries(by_query, {"high": 540, "medium": 60}, seed=5)
    assert len(set(drawn)) == 600
    assert sum(by_query[qid] == "high" for qid in drawn) == 540
    assert drawn == sample_queries(by_query, {"high": 540, "medium": 60}, seed=5)
    assert drawn != sample_queries(by_query, {"high": 540, "medium": 60}, seed=6)


def test_a_sampled_study_knows_its_strata(folder: Path, sqlite_address: str, closing) -> None:
    store = closing(create_study(written(folder, STUDY + "[sample]\nhigh = 1\nseed = 3\n"), sqlite_address))
    (query,) = store.progress().queries
    assert (query.qid, query.stratum) == ("q1", "high")


def test_a_study_survives_being_stored(sqlite_address: str, closing) -> None:
    settings = {"exploration": 0.25, "mark_terms": True, "keep_grades": False, "set_size": 2}
    store = closing(make_study(sqlite_address, **settings))
    assert {name: getattr(store.study, name) for name in settings} == settings
