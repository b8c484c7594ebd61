"""Synonyms of a file are found as well, in every way to match, and the word itself wins."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from rankwell import Document
from rankwell.cli import app
from rankwell.core import FormatError
from rankwell.index import IndexWriter
from rankwell.retrieve.synonyms import Synonyms, read_synonyms

LINES = """
# what physicians say
fever, Pyrexia, high temperature
heart attack => myocardial infarction
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "synonyms.txt"
    path.write_text(LINES)
    return path


def test_a_file_has_both_directions_or_one(file: Path) -> None:
    known = read_synonyms(file)
    assert known.expand("FEVER?", "or") == (
        "or",
        (("pyrexia", 0.5), ("high temperature", 0.5)),
        "FEVER? pyrexia high temperature",
    )
    assert known.expand("a high temperature", "or").variants == (("fever", 0.5), ("pyrexia", 0.5))
    assert known.expand("heart attack", "or").variants == (("myocardial infarction", 0.5),)
    assert known.expand("myocardial infarction", "or").variants == ()
    assert known.expand("heart", "and") == ("and", (), "heart")


def test_all_words_means_a_word_or_one_of_its_synonyms(file: Path) -> None:
    asked = read_synonyms(file).expand("fever in children", "and")
    assert asked.match == "expr:(fever OR pyrexia OR (high AND temperature)) AND in AND children"
    assert read_synonyms(file).expand("fever", "expr").match == "expr"


@pytest.mark.parametrize("line", ["fever", "fever,", "=> fever", "fever =>", "fever, !, pyrexia"])
def test_a_line_that_says_nothing_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "synonyms.txt").write_text(f"a, b\n{line}\n")
    with pytest.raises(FormatError, match=r"synonyms\.txt:2: expected words with commas"):
        read_synonyms(tmp_path / "synonyms.txt")


def test_the_longest_phrase_counts() -> None:
    known = Synonyms({("new",): (("fresh",),), ("new", "york"): (("big", "apple"),)})
    assert known.expand("new york", "or").variants == (("big apple", 0.5),)
    assert known.expand("new shoes", "or").variants == (("fresh", 0.5),)


def test_the_command_finds_synonyms(tmp_path: Path, file: Path) -> None:
    with IndexWriter(tmp_path / "index") as writer:
        for docno, text in (("own", "fever in children"), ("other", "pyrexia in children"), ("no", "old children")):
            writer.add(Document(docno, {"text": text}))
    for match, ids in (("or", ["own", "other", "no"]), ("and", ["own", "other"])):
        words = ["search", str(tmp_path / "index"), "fever children", "--synonyms", str(file), "--match", match]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        assert [line.split()[1] for line in done.output.splitlines() if line[:4].strip().endswith(".")] == ids
