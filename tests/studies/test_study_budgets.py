"""Named versions of a study, and what they cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands import rankwell
from rankwell.studies import CellStore, CollectionFinder, costs, shipped_studies
from rankwell.studies.file.errors import StudyError
from rankwell.studies.file.reading import parse_study
from small_study import STUDY, write_collection

VERSIONS = STUDY.replace(
    "[[collection]]",
    """[budget.paper]
about = "everything"
sources = { Diseases = "irds:beir/scifact/test" }

[[collection]]""",
    1,
)


def test_a_budget_has_sources_of_its_own() -> None:
    study = parse_study(VERSIONS)
    assert study.within("paper").study.collection[0].source == "irds:beir/scifact/test"
    assert study.within("small").study.collection[0].source == "diseases"
    with pytest.raises(StudyError, match="did you mean Diseases"):
        parse_study(VERSIONS.replace("{ Diseases =", "{ Disease ="))


def test_costs_are_told_for_each_budget_and_nothing_is_fetched(tmp_path: Path) -> None:
    finder = CollectionFinder(write_collection(tmp_path), tmp_path / "facts.json")
    found = {one.budget: one for one in costs(parse_study(VERSIONS), finder, CellStore(tmp_path / "cells"), 1)}
    assert list(found) == ["paper", "small", "none"]
    assert found["paper"].why == "must be fetched to be counted (--fetch): Diseases"
    assert found["paper"].estimate is None
    small, whole = found["small"].estimate, found["none"].estimate
    assert small is not None
    assert whole is not None
    assert small.cells == whole.cells > 0
    assert not (tmp_path / "cells").exists()


def test_the_command_tells_what_each_version_takes(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(VERSIONS)
    done = rankwell("study", "cost", str(tmp_path / "mine.toml"), "--data", str(write_collection(tmp_path)))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines if line.startswith(("paper", "small", "none"))] == [
        "paper",
        "small",
        "none",
    ]
    assert "everything" in done.stdout
    assert "note: paper: must be fetched to be counted (--fetch): Diseases" in done.stderr


@pytest.mark.parametrize("name", ["s0", "s1", "s2", "s3", "s4"])
def test_each_shipped_study_has_a_night_and_its_paper(name: str) -> None:
    study = shipped_studies()[name]
    for budget in ("night", "paper"):
        assert study.study.budget[budget].about
        study.within(budget).varying({})  # raises where a row or a recipe does not fit the budget's values
    starts = [
        recipe.settings["start"] for recipe in study.within("paper").models().values() if "start" in recipe.settings
    ]
    assert "minilm-l6" not in starts  # one variable of the study decides


def test_the_starting_model_is_one_variable() -> None:
    for name in ("s0", "s4"):
        study = shipped_studies()[name].varying({"start": ("my-model",)})
        starts = {
            recipe.settings["start"]
            for model, recipe in study.models().items()
            if "start" in recipe.settings and not model.endswith(", trained")
        }
        assert starts == {"my-model"}
