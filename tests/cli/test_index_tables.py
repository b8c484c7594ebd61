"""`rankwell index` with other people's tables: shown first, read alike, filtered in their spelling."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from commands import rankwell
from made_files import MAKERS, pdf_of

ZOO = Path(__file__).parents[1] / "collections" / "zoo"

JANUARY = "ticket,title,text\nT1,Printer,The printer is on fire again today\nT2,Mouse,It does not move at all today\n"
FEBRUARY = "ticket,title,text\nT3,Screen,It flickers since we moved in\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_appending_a_second_file_loses_no_document() -> None:
    Path("jan.csv").write_text(JANUARY)
    Path("feb.csv").write_text(FEBRUARY)
    rankwell("index", "jan.csv", "--out", "t")
    assert "1 documents added, 0 replaced" in rankwell("index", "feb.csv", "--out", "t", "--append").stderr
    assert "T1" in rankwell("search", "t", "printer").stdout


def test_short_notes_are_found() -> None:
    Path("d.csv").write_text("id,title,notes\n1,Lamp,broken switch\n2,Chair,wobbles\n")
    rankwell("index", "d.csv", "--out", "t")
    assert "Chair" in rankwell("search", "t", "wobbles").stdout


def test_filters_are_written_as_the_file_writes_its_values() -> None:
    rows = "id;title;Date Opened;Preis\n1;Lampe rot;31/12/2015;25,94\n2;Lampe blau;02/01/2020;7,00\n"
    Path("d.csv").write_text(rows)
    rankwell("index", "d.csv", "--out", "t")
    found = json.loads(rankwell("search", "t", "lampe", "--json", "--filter", '"Date Opened">=01/01/2020').stdout)
    assert [row["id"] for row in found] == ["2"]
    found = json.loads(rankwell("search", "t", "lampe", "--json", "--filter", 'Preis>"7,5"').stdout)
    assert [row["id"] for row in found] == ["1"]


def test_a_preview_shows_every_column_and_makes_no_index() -> None:
    Path("jan.csv").write_text(JANUARY)
    said = rankwell("index", "jan.csv", "--preview").stdout
    assert "comma-separated, UTF-8, 3 columns" in said
    assert max(map(len, said.splitlines())) <= 80
    seen = json.loads(rankwell("index", "jan.csv", "--preview", "--json").stdout)
    assert seen["tables"][0]["id"] == "ticket"
    assert [path.name for path in Path().iterdir()] == ["jan.csv"]


def test_a_file_that_cannot_be_read_alike_is_refused_with_the_difference() -> None:
    Path("jan.csv").write_text(JANUARY)
    Path("mar.csv").write_text("ticket,title\nT4,Screen\n")
    rankwell("index", "jan.csv", "--out", "t")
    said = rankwell("index", "mar.csv", "--out", "t", "--append").stderr
    assert "expected the columns of jan.csv, found no text but ticket, title" in said


def test_ten_bad_records_are_shown_and_all_are_listed() -> None:
    Path("d.csv").write_text("id,text\n1,a\n" + "".join(f"{n}\n" for n in range(2, 30)))
    said = rankwell("index", "d.csv", "--out", "t", "--skip-bad", "--quiet").stderr
    assert said.count("expected 2 columns") == 10
    assert "left out 28 bad records (18 more are not shown; all: t.bad.txt)" in said
    assert len(Path("t.bad.txt").read_text().splitlines()) == 28


def test_the_next_file_has_its_fields_in_the_same_order() -> None:
    Path("jan.csv").write_text(JANUARY)
    Path("feb.csv").write_text(FEBRUARY)
    rankwell("index", "jan.csv", "--out", "t")
    rankwell("index", "feb.csv", "--out", "t", "--append")
    orders = [list(json.loads(rankwell("get", "t", docno).stdout)) for docno in ("T1", "T3")]
    assert orders == [["id", "title", "text", "ticket", "metadata"]] * 2


@pytest.mark.parametrize(("template", "way_out"), [("{row}", "add the file"), ("{file}-{row}", "choose another --id")])
def test_a_row_number_never_replaces_another_document(template: str, way_out: str) -> None:
    for folder, text in {"jan": JANUARY, "feb": FEBRUARY}.items():
        Path(folder).mkdir()
        Path(folder, "tickets.csv").write_text(text)
    rankwell("index", "jan/tickets.csv", "--out", "t", "--id", template)
    done = rankwell("index", "feb/tickets.csv", "--out", "t", "--append")
    assert done.returncode == 1
    assert "of another document" in done.stderr
    assert way_out in done.stderr
    assert "2 documents" in rankwell("index", "jan/tickets.csv", "--out", "t", "--append").stderr


def test_ids_from_the_content_can_be_asked_for() -> None:
    Path("jan.csv").write_text(JANUARY)
    assert "ids: made from each row's content" in rankwell("index", "jan.csv", "--out", "t", "--id", "{content}").stderr
    assert json.loads(rankwell("search", "t", "printer", "--json").stdout)[0]["id"] != "T1"


DOUBTFUL = "id,title,opened\n1,Lamp broken here,01/02/2020\n2,Chair wobbles now,03/04/2020\n"
QUESTION = "Read it so? [Y/n]: "


def on_a_terminal(answer: str, *words: str) -> tuple[int, str]:
    """The exit code of a command on a terminal, and all that it wrote; the answer is typed where it asks."""
    import pty

    terminal, inside = pty.openpty()
    command = [sys.executable, "-m", "rankwell", *words]
    process = subprocess.Popen(command, stdin=inside, stdout=inside, stderr=inside, start_new_session=True)
    os.close(inside)
    written, answered = "", False
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # Linux's way to say that nobody writes any more
            piece = b""
        if not piece:
            break
        written += piece.decode(errors="replace")
        if QUESTION in written and not answered:
            os.write(terminal, answer.encode())
            answered = True
    os.close(terminal)
    return process.wait(), written


@pytest.mark.slow
@pytest.mark.parametrize("option", [[], ["--sync"]])
@pytest.mark.parametrize(("answer", "code"), [("n\n", 1), ("y\n", 0), ("\n", 0)])
def test_a_doubtful_reading_asks_once_on_a_terminal(answer: str, code: int, option: list[str]) -> None:
    Path("d.csv").write_text(DOUBTFUL)
    ended, written = on_a_terminal(answer, "index", "d.csv", "--out", "t", *option)
    assert (ended, written.count(QUESTION)) == (code, 1)
    after = written.partition(QUESTION)[2]
    assert re.match(r"[ny]?\r\n", after), "nothing wipes the question out before it is answered"
    assert Path("t/manifest").exists() == (code == 0)
    assert ("nothing was indexed: change it with" in written) == (code == 1)
    if code == 0:  # the reading is kept: the next time there is no doubt
        ended, written = on_a_terminal("n\n", "index", "d.csv", "--out", "t", *(option or ["--append"]))
        assert (ended, written.count(QUESTION)) == (0, 0)


def test_elsewhere_a_doubtful_reading_goes_on_and_says_so() -> None:
    Path("d.csv").write_text(DOUBTFUL)
    done = rankwell("index", "d.csv", "--out", "t")
    assert done.returncode == 0
    assert "not sure: opened could be day/month/year as well: --dates dmy" in done.stderr


@pytest.mark.parametrize(
    ("name", "words", "title"),
    [
        ("array.json", "envelope", "Soap"),
        ("wrapped.json", "lima", "Soap"),
        ("one_sheet.xlsx", "leaks", "Roof"),
        ("one_table.db", "destroys", "Soap"),
        ("spanish.tsv", "latón", "Lámpara"),
        ("page.html", "kapičky", "Maškára & mýdlo"),
        ("slides.pdf", "envelope", "Masks stop large droplets"),
        ("paper.docx", "cell", "Masks and droplets"),
        ("library.ris", "envelope", "Soap"),
        ("pubmed.nbib", "droplets", "Masks and droplets in closed rooms"),
        ("library.bib", "Ørsted", "Masks and Droplets"),
        ("box.mbox", "envelope", "Re: Masks"),
    ],
)
def test_every_kind_of_file_is_found_by_its_words_under_its_title(name: str, words: str, title: str) -> None:
    made = tomllib.loads((ZOO / "made.toml").read_text(encoding="utf-8"))[name]
    if name in MAKERS:
        MAKERS[name](Path(name))
    else:
        Path(name).write_bytes(made["content"].lstrip("\n").encode(made.get("encoding", "utf-8")))
    rankwell("index", name, "--out", "t", "--analyzer", "english:none:none", "--quiet")
    found = rankwell("search", "t", words).stdout
    assert found.splitlines()[0].endswith(title)
    assert "href" not in found
    assert "<" not in found


def test_pages_are_documents_if_asked_and_bad_files_of_a_folder_are_listed() -> None:
    Path("papers").mkdir()
    Path("papers/good.pdf").write_bytes(pdf_of(["Masks stop droplets", "Soap destroys the envelope"]))
    for number in range(12):
        Path(f"papers/scan{number:02d}.pdf").write_bytes(pdf_of([""]))
    said = rankwell("index", "papers", "--out", "t", "--skip-bad", "--parts", "--quiet").stderr
    assert said.count("found 1 pages without any text, as a scan has") == 10
    assert "left out 12 bad records (2 more are not shown; all: t.bad.txt)" in said
    assert len(Path("t.bad.txt").read_text().splitlines()) == 12
    assert "good.pdf#2" in rankwell("search", "t", "envelope").stdout
