from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rankwell.cli import app
from rankwell.core import RankwellError
from small_study import NO_PICTURES, write_collection

runner = CliRunner()


def rankwell(*words: str | Path) -> str:
    done = runner.invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a study and its data."""
    monkeypatch.chdir(tmp_path)
    write_collection(tmp_path / "data")
    Path("mine.toml").write_text(NO_PICTURES)
    return Path("mine.toml")


def test_a_study_is_run_looked_at_and_traced(study: Path) -> None:
    page = rankwell("study", "run", study, "--data", "data", "--jobs", "1").strip()
    assert page == "studies/mine/report.html"
    assert "<h1>Words against chance</h1>" in Path(page).read_text()
    told = rankwell("study", "show", "studies/mine")
    assert "cells are finished" in told
    assert "to do" not in told
    cell = json.loads(Path("studies/mine/results.json").read_text())["tables"][0]["rows"][0]["figures"]["unjudged"][
        "cell"
    ]
    traced = rankwell("study", "show", "studies/mine", "--cell", cell)
    for word in ("run file:", "configuration:", "data:", "seed:          7", "made of:"):
        assert word in traced
    file = next(line.split()[-1] for line in traced.splitlines() if line.startswith("run file:"))
    assert Path(file).is_file()
    assert rankwell("study", "diff", "studies/mine", "studies/mine").startswith("0 figures differ")
    assert rankwell("study", "report", "studies/mine").strip() == page
    done = runner.invoke(app, ["study", "resume", "studies/mine"])
    assert "were finished already" in done.stderr


def test_a_report_that_was_not_written_to_its_end_is_written_again(study: Path) -> None:
    page = Path(rankwell("study", "run", study, "--data", "data", "--jobs", "1").strip())
    numbers = page.with_name("results.json")
    before, made = numbers.read_bytes(), page.stat().st_mtime_ns
    rankwell("study", "resume", "studies/mine")
    assert page.stat().st_mtime_ns == made
    numbers.unlink()  # the last file: a kill came before it
    rankwell("study", "resume", "studies/mine")
    assert json.loads(numbers.read_bytes())["tables"] == json.loads(before)["tables"]
    study.write_text(NO_PICTURES.replace("Words against chance", "Another title"))
    rankwell("study", "run", study, "--data", "data", "--jobs", "1")
    assert "<h1>Another title</h1>" in page.read_text()


def test_a_study_can_be_shown_before_it_is_run(study: Path) -> None:
    told = rankwell("study", "show", study)
    assert "Does BM25 know more than chance?" in told
    assert "fused  fuse(bm25, words)" in told
    assert rankwell("study", "show", study, "--file") == NO_PICTURES


def test_the_list_names_every_shipped_study() -> None:
    told = rankwell("study", "list")
    assert "s2" in told
    assert "cross-encoders" in told


def test_the_schema_is_json_for_editors() -> None:
    assert json.loads(rankwell("study", "schema"))["properties"]["table"]["type"] == "array"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("study", "run", "frontir"), "did you mean frontier?"),
        (("study", "run", "mine.toml", "--budget", "big"), "expected a budget (small)"),
        (("study", "run", "mine.toml", "--data", "nowhere"), "expected a folder with collections"),
        (("study", "run", "mine.toml"), "say where they are with --data FOLDER"),
        (("study", "run", "mine.toml", "--collection", "X=y"), "expected a collection of the study (Diseases)"),
        (("study", "run", "mine.toml", "--latency", "soon"), "a time such as 200ms"),
        (("study", "show", "mine.toml", "--cell", "ab"), "expected the folder of a study that was run"),
        (("study", "resume", "data"), "expected the folder of a study that was run"),
        (("study", "report", "data"), "expected the folder of a study that was run"),
        (("study", "diff", "data", "data"), "expected the results of a study that was run"),
    ],
)
def test_a_mistake_is_one_clear_line(
    words: tuple[str, ...],
    says: str,
    study: Path,  # noqa: ARG001 -- its folder
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("RANKWELL_DATA", raising=False)
    with pytest.raises(RankwellError) as raised:
        rankwell(*words)
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_report_of_a_study_that_is_not_finished_says_how_to_go_on(study: Path) -> None:
    rankwell("study", "run", study, "--data", "data", "--jobs", "1", "--quiet")
    cell = next(Path("studies/mine/cells").glob("*/run.trec")).parent
    (cell / "cell.json").unlink()
    with pytest.raises(RankwellError, match="1 cells to do: rankwell study resume studies/mine"):
        rankwell("study", "report", "studies/mine")


def test_what_takes_long_is_asked_for_first(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankwell.studies.plan.cost.MUCH_SECONDS", 0)
    with pytest.raises(RankwellError, match="say --yes, or take a smaller --budget"):
        rankwell("study", "run", study, "--data", "data", "--jobs", "1")
    assert rankwell("study", "run", study, "--data", "data", "--jobs", "1", "--yes")


def test_help_and_list_need_nothing_heavy() -> None:
    program = (
        "import sys; from typer.testing import CliRunner; from rankwell.cli import app\n"
        "assert CliRunner().invoke(app, ['study', 'list']).exit_code == 0\n"
        "print([n for n in ('torch', 'numba', 'onnxruntime', 'matplotlib', 'pandas') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
