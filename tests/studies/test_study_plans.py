from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from rankwell.core import RankwellError
from rankwell.studies.file.errors import StudyError
from rankwell.studies.file.reading import parse_study
from rankwell.studies.plan.cells import CellStore, write_json
from rankwell.studies.plan.collections import CollectionFinder, choose, smallest
from rankwell.studies.plan.plan import Plan, make_plan
from rankwell.studies.steps import chain_of, written
from small_study import STUDY, begun, write_collection

TEN_RERANKERS = """
title = "Ten"
[vary]
seed = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
depth = [3, 5]
[[collection]]
name = "Diseases"
source = "diseases"
[[table]]
name = "main"
title = "Ten orders of the same run"
measures = ["nDCG@10"]
[table.rows]
"BM25" = "bm25"
"$seed" = "bm25 | top 5 | random($seed)"
"to $depth" = "bm25 | top $depth | random(0)"
"again" = "bm25(k1=1.2) | top 5 | random(seed=0)"
"""


def planned(text: str, tmp_path: Path, budget: str | None = None, documents: int = 24) -> Plan:
    shelf = CollectionFinder(write_collection(tmp_path, documents), tmp_path / "memory.json")
    return make_plan(parse_study(text).within(budget), shelf)


def test_bm25_is_run_once_for_ten_rerankers(tmp_path: Path) -> None:
    plan = planned(TEN_RERANKERS, tmp_path)
    kinds = Counter(getattr(getattr(cell.job, "step", None), "kind", cell.job.kind) for cell in plan.cells.values())
    # Twice the same line in other words is the same cell, another depth is another.
    assert kinds == {"index": 1, "bm25": 1, "random": 11}
    assert len(plan.rows) == 14


def test_a_cell_stands_behind_those_that_it_needs(tmp_path: Path) -> None:
    seen: set[str] = set()
    for key, cell in planned(STUDY, tmp_path).cells.items():
        assert set(cell.parents) <= seen
        seen.add(key)


def test_the_same_study_has_the_same_cells_and_another_has_others(tmp_path: Path) -> None:
    first = planned(STUDY, tmp_path / "a")
    assert first.cells.keys() == planned(STUDY, tmp_path / "b").cells.keys()  # where the data lie does not matter
    changed = planned(STUDY.replace("bm25(k1=$k1)", "bm25(k1=$k1, b=0.3)"), tmp_path / "a")
    assert len(first.cells.keys() - changed.cells.keys()) == 1  # k1 = 1.2 alone was the plain bm25, which stays
    smaller = planned(STUDY, tmp_path / "a", "small")
    assert not first.cells.keys() & smaller.cells.keys()
    assert not first.cells.keys() & planned(STUDY, tmp_path / "a", documents=25).cells.keys()


def test_rm3_searches_again_as_the_bm25_of_its_line(tmp_path: Path) -> None:
    text = TEN_RERANKERS.replace(
        '"again" = "bm25(k1=1.2) | top 5 | random(seed=0)"', '"a" = "bm25 | rm3"\n"b" = "bm25(b=0.2) | rm3"'
    )
    plan = planned(text, tmp_path)
    assert len({row.run.key for row in plan.rows if row.row.name in ("a", "b")}) == 2


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("bm25(titel=1)", "did you mean title?"),
        ("bm25(query=question)", "expected a wording of the queries of Diseases (text), found question"),
        ("dense(no-such-model)", "expected a folder with a model"),
        ("bm25 | top 3 | cross-encoder(ms-marco-minilm-l12)", "not fetched yet"),
        ("run('runs/no.trec')", "expected a stored run"),
    ],
)
def test_what_is_not_here_is_said_before_anything_runs(line: str, says: str, tmp_path: Path) -> None:
    text = TEN_RERANKERS.replace('"BM25" = "bm25"', f'"BM25" = "{line}"')
    with pytest.raises(StudyError) as raised:
        planned(text, tmp_path)
    assert says in str(raised.value)
    assert raised.value.line == 14


def test_optional_rows_are_left_out_with_the_reason(tmp_path: Path) -> None:
    text = TEN_RERANKERS.replace('"BM25" = "bm25"', '"BM25" = "bm25"\n"body" = "bm25(body=1)"')
    plan = planned(text.replace("[table.rows]", 'optional = ["body"]\n[table.rows]'), tmp_path)
    assert [(left.row, left.collection) for left in plan.left_out] == [("body", "Diseases")]
    assert "found body" in plan.left_out[0].why


def test_the_real_collection_is_taken_where_it_is_here_and_a_stand_in_where_it_is_not(tmp_path: Path) -> None:
    text = """
title = "x"
[[collection]]
name = "Real"
source = "real"
[[collection]]
name = "Second"
source = "second"
[[collection]]
name = "Like real"
source = "diseases"
instead_of = "Real"
[[collection]]
name = "Last"
source = "rankwell:python"
instead_of = "any"
[[table]]
name = "t"
title = "t"
measures = ["P@1"]
rows = { a = "bm25" }
"""
    study = parse_study(text).study

    def taken(folder: Path | None) -> list[tuple[str, tuple[str, ...]]]:
        return [(entry.name, stands) for entry, _, stands in choose(study, CollectionFinder(folder, tmp_path / "m"))[0]]

    write_collection(tmp_path / "data")
    assert taken(tmp_path / "data") == [("Like real", ("Real",))]
    assert taken(None) == [("Last", ("Real", "Second"))]
    (tmp_path / "data" / "diseases").rename(tmp_path / "data" / "real")
    assert taken(tmp_path / "data") == [("Real", ("Real",))]
    given = CollectionFinder(None, tmp_path / "m", {"Second": str(tmp_path / "data" / "real")})
    assert [entry.name for entry, _, _ in choose(study, given)[0]] == ["Second"]
    with pytest.raises(RankwellError, match="--collection Real: expected a folder or file"):
        choose(study, CollectionFinder(None, tmp_path / "m", {"Real": "nowhere"}))


def test_what_is_drawn_depends_on_the_seed_and_not_on_the_order() -> None:
    names = [f"d{number}" for number in range(50)]
    assert smallest(names, 10, 1) == smallest(names[::-1], 10, 1)
    assert smallest(names, 10, 1) != smallest(names, 10, 2)
    assert smallest(names, 10, 1) < smallest(names, 20, 1)


def test_facts_of_a_collection_are_read_once_and_again_when_its_files_change(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    before = folder.plan().collections[0].facts
    memory = (folder.path / "data.json").read_bytes()
    assert folder.plan().collections[0].facts == before
    assert (folder.path / "data.json").read_bytes() == memory
    (folder.path / "data.json").write_text("{")  # a damaged memory is no memory
    assert folder.plan().collections[0].facts == before
    write_collection(tmp_path / "data", documents=30)
    assert folder.plan().collections[0].facts.documents == 30


def test_a_chain_is_written_as_a_line_that_means_the_same() -> None:
    lines = [
        "bm25(title=0.25, abstract=0.6) | top 10 | rm3(terms=5)",
        'bm25 | top 10 | cross-encoder(m, document="{title} {abstract}")',
        "fuse(bm25 | top 5, dense(m, layer=3, pooling=max), method=sum)",
        "bm25 | interpolate(0.3, cross-encoder(m))",
    ]
    for line in lines:
        assert chain_of(written(chain_of(line))) == chain_of(line)


def test_cells_keep_their_names_so_that_a_finished_study_is_not_computed_anew(tmp_path: Path) -> None:
    names = {cell.title: cell.short for cell in planned(STUDY, tmp_path).cells.values()}
    assert names == {
        "Diseases: index": "96dce7da91efc817db35",
        "Diseases: bm25": "fae8403aa28d553352f3",
        "Diseases: bm25(title=0.4, text=0.6)": "6ce93c7800646dc18590",
        "Diseases: bm25(k1=0.5)": "e36a36b40d9ee0e2e9ce",
        "Diseases: bm25 | rm3": "65639356fe8d00967edd",
        "Diseases: bm25 | random": "47cec3413224da03f5a7",
        "Diseases: bm25 | top 5 | random(3)": "10c062ac3dfed36ca1d4",
        "Diseases: fuse(bm25, bm25(title=0.4, text=0.6))": "a2690634c63e4fe683e5",
    }


def test_a_cell_that_was_cut_off_before_it_took_its_place_is_no_finished_one(tmp_path: Path) -> None:
    store = CellStore(tmp_path)
    for name in ("a" * 20, "b" * 20 + ".part"):
        (tmp_path / name).mkdir()
        write_json(tmp_path / name / "cell.json", {"key": name})
    assert [record["key"] for record in store.records()] == ["a" * 20]
