from __future__ import annotations

from pathlib import Path

import pytest
from screening_projects import references
from typer.testing import CliRunner

from rankwell.apps.screening.application import is_loopback
from rankwell.cli import app
from rankwell.collections.tagged import write_ris
from rankwell.core import ParameterError, RankwellError
from rankwell.reviews.screening.store import open_project


def screen(*words: str | Path) -> str:
    """What the command says; a mistake of its user is raised, and told in one line by the program around it."""
    command = ["review", "screen", *map(str, words), "--no-serve", "--quiet"]
    return CliRunner().invoke(app, command, catch_exceptions=False).output


def test_files_are_imported_and_what_was_read_is_told(tmp_path: Path) -> None:
    write_ris(tmp_path / "a.ris", references(4))
    write_ris(tmp_path / "b.ris", references(2))
    said = screen(tmp_path / "p.db", "--import", tmp_path / "a.ris", "--import", tmp_path / "b.ris", "--title", "T")
    assert "a.ris: 4 records, 0 duplicates set aside, 0 to look at" in said
    assert "b.ris: 2 records, 2 duplicates set aside, 0 to look at" in said
    screen(tmp_path / "p.db", "--reviewer", "Ben")  # a colleague joins later
    with open_project(tmp_path / "p.db") as project:
        assert project.settings.title == "T"
        assert [reviewer.name for reviewer in project.reviewers()] == ["Reviewer", "Ben"]
        assert project.records.count() == 6


def test_mistakes_are_told_by_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(RankwellError, match=r"nowhere\.ris: no such file"):
        screen(tmp_path / "p.db", "--import", tmp_path / "nowhere.ris")
    with pytest.raises(RankwellError, match="minilm-l6: not fetched yet: rankwell models add minilm-l6"):
        screen(tmp_path / "p.db", "--bert", "minilm-l6")


def test_a_third_reviewer_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match='--reviewer: expected at most 2 reviewers, found "A, B, C"'):
        screen(tmp_path / "p.db", *(word for name in "ABC" for word in ("--reviewer", name)))
    assert not (tmp_path / "p.db").exists()
    screen(tmp_path / "p.db", "--reviewer", "A", "--reviewer", "B")
    with pytest.raises(ParameterError, match='--reviewer: expected at most 2 reviewers, found "A, B, C"'):
        screen(tmp_path / "p.db", "--reviewer", "C")
    with open_project(tmp_path / "p.db") as project:
        assert [reviewer.name for reviewer in project.reviewers()] == ["A", "B"]


@pytest.mark.parametrize(
    ("host", "here"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("example.org", False)],  # noqa: S104
)
def test_who_is_reached_from_elsewhere_is_warned(host: str, *, here: bool) -> None:
    assert is_loopback(host) is here
