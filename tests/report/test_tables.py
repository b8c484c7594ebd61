from __future__ import annotations

import csv
import io
import json
import re
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import ParameterError
from rankwell.report import Column, Table
from rankwell.report.table import ESCAPES, plain, styled

TABLE = Table(
    "Runs",
    [Column("run", "left"), Column("nDCG@10", digits=3), Column("queries")],
    [["BM25", 0.67891, 1300], ["BM25 | RM3", None, 300], ["=cmd()", float("nan"), 0]],
)
COLUMNS = [Column("name", "left"), Column("value")]
texts = st.text(max_size=20)


def test_plain_text_is_lined_up() -> None:
    assert plain(TABLE) == (
        "Runs\n"
        "\n"
        "run         nDCG@10  queries\n"
        "----------  -------  -------\n"
        "BM25          0.679    1,300\n"
        "BM25 | RM3        -      300\n"
        "=cmd()            -        0\n"
    )


def test_a_pipe_gets_plain_text_and_a_terminal_gets_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    assert TABLE.render("table") == plain(TABLE)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert "\x1b[" in TABLE.render("table")
    assert "BM25" in TABLE.render("table")


@pytest.mark.parametrize("render", [plain, styled])
def test_control_characters_are_seen_and_do_nothing(render, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    shown = render(Table("t\x07", COLUMNS, [["\x1b[31mred\nnext\u202e", "[bold]x[/bold]"]]))
    assert r"\x1b[31mred\nnext\u202e" in shown
    assert "[bold]x[/bold]" in shown
    assert "\x07" not in shown


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_a_narrow_terminal_never_breaks_a_number(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(width))
    numbers = [place + 0.1234 for place in range(12)]
    columns = [Column("run", "left"), *(Column(f"measure {place}", digits=4) for place in range(12))]
    shown = styled(Table("t", columns, [["a run with a name of many words, too many for one line", *numbers]]))
    assert all(f"{number:.4f}" in shown for number in numbers)
    assert all(f"measure {place}" in shown for place in range(12))
    assert max(map(len, re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines())) <= width


def test_wide_letters_do_not_shift_the_columns() -> None:
    first, second = plain(Table("t", COLUMNS, [["日本", 1], ["abcd", 1]])).splitlines()[-2:]
    assert (first, second) == ("日本      1", "abcd      1")


@given(texts, texts)
def test_plain_text_has_one_line_for_each_row(name: str, value: str) -> None:
    assert len(plain(Table("t", COLUMNS, [[name, value]] * 3)).splitlines()) == 7


def test_markdown_is_a_github_table() -> None:
    assert TABLE.render("md") == (
        "**Runs**\n"
        "\n"
        "| run         | nDCG@10 | queries |\n"
        "| ----------- | ------: | ------: |\n"
        "| BM25        |   0.679 |   1,300 |\n"
        "| BM25 \\| RM3 |       - |     300 |\n"
        "| =cmd()      |       - |       0 |\n"
    )


@given(texts, texts, texts)
def test_markdown_rows_keep_their_cells_whatever_the_text(title: str, name: str, value: str) -> None:
    *_, row = Table(title, COLUMNS, [[name, value]]).render("md").splitlines()
    bars = re.findall(r"\\.|(\|)", row)
    assert bars.count("|") == len(COLUMNS) + 1
    assert "<" not in re.sub(r"\\.", "", row)


def test_latex_is_a_booktabs_table() -> None:
    lines = TABLE.render("latex").splitlines()
    assert lines[2:8] == [
        r"\caption{Runs}",
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"run & nDCG@10 & queries \\",
        r"\midrule",
        r"BM25 & 0.679 & 1,300 \\",
    ]


@given(texts, texts)
def test_latex_rows_hold_no_command_but_our_own(name: str, value: str) -> None:
    row = Table("t", COLUMNS, [[name, value]]).render("latex").splitlines()[7]
    for escape in sorted(ESCAPES.values(), key=len, reverse=True):
        row = row.replace(escape, "")
    assert re.sub(r"-\{\}(?=-)", "", row).count("&") == 1
    assert row.endswith(r" \\")
    assert not re.search(r"[\\${}#^_~%\[*]", row.removesuffix(r" \\").replace("{}", ""))


def test_latex_does_not_take_a_bracket_for_an_option_of_the_row_before() -> None:
    assert r"{[}1] & {*} \\" in Table("t", COLUMNS, [["a", 1], ["[1]", "*"]]).render("latex")


def test_csv_has_raw_numbers_and_formulas_as_data() -> None:
    assert TABLE.render("csv") == "run,nDCG@10,queries\r\nBM25,0.67891,1300\r\nBM25 | RM3,,300\r\n=cmd(),,0\r\n"


@given(st.lists(st.tuples(texts, st.floats(allow_nan=False, allow_infinity=False)), max_size=5))
def test_csv_reads_back_the_same_text_and_numbers(rows: list[tuple[str, float]]) -> None:
    text = Table("t", COLUMNS, rows).render("csv")
    _, *found = csv.reader(io.StringIO(text, newline=""))
    assert [(name, float(value)) for name, value in found] == rows


@given(st.lists(st.tuples(texts, st.one_of(st.none(), st.floats(), st.integers())), max_size=5))
def test_json_is_a_list_of_objects_with_null_for_the_unknown(rows: list[tuple[str, float | None]]) -> None:
    found = json.loads(Table("t", COLUMNS, rows).render("json"), parse_constant=pytest.fail)
    known = [(name, value if value is not None and np.isfinite(float(value)) else None) for name, value in rows]
    assert [(row["name"], row["value"]) for row in found] == known


def test_numbers_of_numpy_are_numbers() -> None:
    table = Table("t", [Column("a"), Column("b", digits=2)], [[np.int64(1000), np.float32(0.5)]])
    assert json.loads(table.render("json")) == [{"a": 1000, "b": 0.5}]
    assert "1,000  0.50" in plain(table)


def test_years_can_do_without_thousands() -> None:
    assert "2020" in plain(Table("t", [Column("year", thousands=False)], [[2020]]))


@pytest.mark.parametrize("output", ["table", "md", "latex", "csv", "json"])
def test_a_table_without_rows_is_still_a_table(output: str) -> None:
    assert Table("t", COLUMNS, []).render(output)


def test_an_unknown_output_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ParameterError, match='one of table, md, latex, csv, json, found "html"'):
        TABLE.render("html")


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ParameterError, match="rows of 2 cells"):
        Table("t", COLUMNS, [["a"]])


def test_two_columns_of_one_name_are_refused() -> None:
    with pytest.raises(ParameterError, match="a name of its own"):
        Table("t", [Column("a"), Column("a")], [])
