from __future__ import annotations

import pytest

from rankwell.core import FormatError, MissingExtraError, ParameterError, RankwellError
from rankwell.core.errors import LONGEST_FINDING, Phrase, shown


def test_a_format_error_says_where_what_and_what_instead() -> None:
    error = FormatError("runs/bm25.trec", 1204, expected="6 columns", found="301 Q0 d")
    assert str(error) == 'runs/bm25.trec:1204: expected 6 columns, found "301 Q0 d"'


def test_a_format_error_without_a_line_names_the_file() -> None:
    assert str(FormatError("f.xml", None, expected="XML", found=Phrase("none"))) == "f.xml: expected XML, found none"


def test_a_parameter_error_names_the_parameter() -> None:
    error = ParameterError("alpha", expected="a number from 0 to 1", found=1.5)
    assert str(error) == "alpha: expected a number from 0 to 1, found 1.5"


def test_a_missing_extra_says_what_to_install() -> None:
    assert "pip install 'rankwell[parquet]'" in str(MissingExtraError("Parquet", extra="parquet"))


@pytest.mark.parametrize("kind", [FormatError, ParameterError, MissingExtraError])
def test_every_error_is_one_that_commands_show_in_one_line(kind: type[Exception]) -> None:
    assert issubclass(kind, RankwellError)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain", '"plain"'),
        ("tab\there\nand \x1b[31mred\x00", '"tab\\there\\nand \\x1b[31mred\\x00"'),
        ("naïve \u202e", '"naïve \\u202e"'),
        (b"caf\xc3\xa9", '"café"'),
        (b"\xff", '"\ufffd"'),
        (["a", 1], "['a', 1]"),
        (Phrase("nothing at all"), "nothing at all"),
    ],
)
def test_findings_are_shown_without_control_characters(value: object, expected: str) -> None:
    assert shown(value) == expected


@pytest.mark.parametrize("value", ["x" * 10_000, b"x" * 10_000])
def test_long_findings_are_cut(value: str | bytes) -> None:
    assert shown(value) == f'"{"x" * LONGEST_FINDING}…"'


def test_a_finding_of_just_the_longest_length_is_whole() -> None:
    assert shown("x" * LONGEST_FINDING) == f'"{"x" * LONGEST_FINDING}"'
