from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from rankwell.collections import read_qrels, read_run
from rankwell.core import RankwellError
from rankwell.evaluation import evaluate
from rankwell.index.manifest import WriterLock
from rankwell.studies import Estimate, differences, read_numbers, remarks, results, run_study, write_report
from rankwell.studies.report.finished import Figure, ResultRow
from rankwell.studies.report.frontier import Recommendation, advice, on_frontier, recommended, serving
from rankwell.studies.report.report import Report, page
from rankwell.studies.run.runner import StudyFolder
from rankwell.studies.steps import chain_of
from small_study import ALONE, NO_PICTURES, STUDY, begun, told


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    folder = begun(tmp_path_factory.mktemp("done"))
    plan, _ = run_study(folder, ALONE, quiet=True)
    write_report(folder, plan)
    return folder


def files_of(folder: StudyFolder) -> dict[str, int]:
    return {str(file): file.stat().st_mtime_ns for file in folder.path.rglob("*") if file.is_file()}


def test_a_second_run_does_nothing(done: StudyFolder) -> None:
    before = files_of(done)
    plan, work = run_study(done, ALONE, quiet=True)
    assert (work.cells, work.finished) == (0, len(plan.cells))
    assert files_of(done) == before


def test_every_number_is_that_of_the_run_file_its_cell_names(done: StudyFolder) -> None:
    numbers = read_numbers(done.path)
    main = numbers["tables"][0]
    assert main["queries"] == 5
    for row in main["rows"]:
        for measure, figure in row["figures"].items():
            record = done.store.find(figure["cell"])
            index = done.store.path(record["parents"][0])
            again = evaluate(
                read_qrels(index / "qrels.tsv"), read_run(done.store.path(record["key"]) / "run.trec"), measure
            )
            assert again.mean(measure) == pytest.approx(figure["value"], abs=1e-9), row["row"]
            assert record["configuration"]["data"]


def test_every_number_of_the_page_leads_to_its_cell(done: StudyFolder) -> None:
    page = (done.path / "report.html").read_text()
    targets = set(re.findall(r'href="#(cell-[0-9a-f]+)"', page))
    places = set(re.findall(r'id="(cell-[0-9a-f]+)"', page))
    assert targets
    assert targets == places
    for row in read_numbers(done.path)["tables"][0]["rows"]:
        for figure in row["figures"].values():
            shown = f'<a href="#cell-{figure["cell"]}">{figure["value"]:.4f}{figure.get("mark", "")}</a>'
            assert shown in page


def test_rm3_changes_the_ranking(done: StudyFolder) -> None:
    rows = {row["row"]: row["figures"]["nDCG@10"]["cell"] for row in read_numbers(done.path)["tables"][0]["rows"]}
    assert done.store.find(rows["RM3"])["run"] != done.store.find(rows["BM25"])["run"]
    assert rows["k1 1.2"] == rows["BM25"]


def test_published_figures_stand_beside_ours(done: StudyFolder) -> None:
    for name in ("report.html", "report.md", "report.tex"):
        text = (done.path / name).read_text()
        assert "0.5000" in text
        assert "It was made up." in text
        assert "nowhere" in text


def test_a_depth_sweep_ends_where_the_whole_reranked_run_stands(done: StudyFolder) -> None:
    table = next(table for table in read_numbers(done.path)["tables"] if table["table"] == "depths")
    last = table["rows"][-1]
    record = done.store.find(last["figures"]["RR@10"]["cell"])
    index = done.store.path(record["parents"][0])
    run = read_run(done.store.path(record["key"]) / "run.trec")
    assert last["row"] == "chance, top 5"
    assert last["figures"]["RR@10"]["value"] == pytest.approx(
        evaluate(read_qrels(index / "qrels.tsv"), run, "RR@10").mean("RR@10")
    )


def test_the_grades_on_top_are_all_documents_there(done: StudyFolder) -> None:
    table = next(table for table in read_numbers(done.path)["tables"] if table["table"] == "grades")
    for row in table["rows"]:
        assert sum(figure["value"] for figure in row["figures"].values()) == 3 * 5


def test_a_budget_takes_fewer_queries_and_documents(tmp_path: Path) -> None:
    folder = begun(tmp_path, budget="small")
    assert told(folder)["tables"][0]["queries"] == 3
    record = folder.store.record(next(iter(folder.plan().cells)))
    assert record["counts"]["documents"] == 12


def test_two_runs_of_a_study_are_the_same_to_the_last_digit(done: StudyFolder, tmp_path: Path) -> None:
    one, other = read_numbers(done.path), told(begun(tmp_path))
    assert one["tables"] == other["tables"]
    assert differences(one, other).rows == ()
    assert remarks(one, other) == []


def test_a_difference_between_two_runs_is_shown_with_its_place(done: StudyFolder, tmp_path: Path) -> None:
    other = begun(
        tmp_path,
        STUDY.replace("bm25(title=0.4, text=0.6)", "bm25(title=0.4) | random(5)").replace("seed = 7", "seed = 8"),
    )
    table = differences(read_numbers(done.path), told(other))
    assert {row[2] for row in table.rows} <= {"weighted", "fused"}
    assert any(row[2] == "weighted" for row in table.rows)
    assert remarks(read_numbers(done.path), told(other)) == ["the seed differs: 7 and 8"]


def test_a_study_says_its_cost_first_and_runs_nothing_where_the_answer_is_no(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    asked: list[Estimate] = []

    def no(work: Estimate) -> bool:
        asked.append(work)
        return False

    with pytest.raises(RankwellError, match="nothing was run"):
        run_study(folder, ALONE, ask=no, quiet=True)
    assert asked[0].cells == len(folder.plan().cells)
    assert not list(folder.store.records())


def test_two_processes_do_not_run_a_study_at_the_same_time(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    lock = WriterLock(folder.path)
    with pytest.raises(RankwellError, match="another writer"):
        run_study(folder, ALONE, quiet=True)
    lock.release()


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "thesis.tex").write_text("my work")
    with pytest.raises(RankwellError, match="found something else in it"):
        begun(tmp_path)


def test_what_a_kill_left_behind_is_removed_and_done_again(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    key = next(iter(folder.plan().cells))
    part = folder.store.path(key).with_name(folder.store.path(key).name + ".part")
    part.mkdir(parents=True)
    (part / "index").write_text("half")
    folder.store.path(key).mkdir()  # a folder without a record is not finished
    run_study(folder, ALONE, quiet=True)
    assert folder.store.finished(key)
    assert not part.exists()


def test_a_damaged_record_is_said_so(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    plan, _ = run_study(folder, ALONE, quiet=True)
    (folder.store.path(next(iter(plan.cells))) / "cell.json").write_text("{")
    with pytest.raises(RankwellError, match="expected the record of a finished cell"):
        write_report(folder, plan)


def test_hostile_names_are_text_on_the_page(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>"
    folder = begun(tmp_path, STUDY.replace("weighted", f"'{hostile}'").replace("Words against chance", hostile))
    plan, _ = run_study(folder, ALONE, quiet=True)
    shown = page(Report(folder, plan, results(plan, folder.store), {})).html()
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown


def test_two_collections_of_the_same_data_share_their_cells_and_have_a_table_each(tmp_path: Path) -> None:
    again = '[[collection]]\nname = "Again"\nsource = "diseases"\n\n[budget.small]'
    folder = begun(tmp_path, STUDY.replace("[budget.small]", again))
    plan, _ = run_study(folder, ALONE, quiet=True)
    report = Report(folder, plan, results(plan, folder.store), {})
    assert plan.cells.keys() == begun(tmp_path / "once").plan().cells.keys()
    assert [row[0] for row in report.data_table().rows] == ["Diseases", "Again"]
    assert [table.collection for table in report.tables[:2]] == ["Diseases", "Again"]


def test_a_query_that_finds_nothing_counts_as_nothing_found(tmp_path: Path) -> None:
    row = 'BM25 = "bm25", none = "bm25(match=\'expr:nowhere\')"'
    folder = begun(tmp_path, NO_PICTURES.replace('BM25 = "bm25"', row))
    rows = {row["row"]: row["figures"] for row in told(folder)["tables"][0]["rows"]}
    assert all(figure["value"] == 0 for figure in rows["none"].values())
    assert rows["BM25"]["unjudged"]["value"] > 0


def test_the_frontier_holds_what_nothing_beats_in_both() -> None:
    points = {"slow": (0.5, 100.0), "best": (0.9, 80.0), "quick": (0.3, 1.0), "dull": (0.3, 2.0), "same": (0.9, 90.0)}
    assert on_frontier(points) == ["quick", "best"]


def test_the_best_line_within_a_time_is_recommended_with_its_options() -> None:
    def row(name: str, quality: float, p95: float) -> ResultRow:
        return ResultRow(name, "", {"nDCG@10": Figure(quality), "p95 ms": Figure(p95)})

    rows = [row("bm25", 0.4, 2), row("l12", 0.7, 900), row("l12 top 10", 0.6, 90)]
    chains = {
        "bm25": chain_of("bm25"),
        "l12": chain_of("bm25 | top 100 | cross-encoder(l12)"),
        "l12 top 10": chain_of("bm25(title=0.3, k1=0.9) | top 10 | cross-encoder(l12, passages=150:50)"),
    }
    found = recommended(rows, chains, "nDCG@10", 200)
    assert found is not None
    assert found.row == "l12 top 10"
    assert found.search == (
        "rankwell search INDEX WORDS --weights title=0.3 --k1 0.9 --rerank l12 --depth 10 --passages 150:50"
    )
    assert found.serve == "rankwell serve INDEX --rerank l12"
    assert found.request == "/api/search?q=WORDS&weights=title%3D0.3&k1=0.9&depth=10&passages=150%3A50"
    assert found.serve in advice(found, "nDCG@10", 200)
    assert recommended(rows, chains, "nDCG@10", 1) is None
    assert "Nothing here" in advice(None, "nDCG@10", 1)
    assert serving(chain_of("bm25 | rm3")) == [("rm3", True)]
    hybrid = Recommendation("both", 0.6, 9.0, chain_of("fuse(bm25, dense(my-model))"), "my index")
    assert hybrid.search.startswith("rankwell search 'my index' WORDS --hybrid --vectors study-")
    assert hybrid.before == "rankwell encode INDEX --model my-model"
    trained = replace(hybrid, models={"my-model": "study/cells/0123/model"})
    assert trained.before == "rankwell encode INDEX --model study/cells/0123/model"
    assert trained.search != hybrid.search  # other vectors, of the trained model


def test_the_numbers_are_json_for_programs(done: StudyFolder) -> None:
    found = json.loads((done.path / "results.json").read_text())
    assert found["seed"] == 7
    assert found["versions"]["rankwell"]
    assert set(found["data"]) == {"Diseases"}
