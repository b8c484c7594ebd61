"""RIS and MEDLINE files, as programs write them and as people break them."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.collections.references import exact_date
from rankwell.collections.tagged import (
    nbib_text,
    parse_nbib,
    parse_ris,
    read_nbib,
    read_ris,
    ris_text,
    write_nbib,
    write_ris,
)
from rankwell.core import RankwellError
from rankwell.reviews import Reference
from rankwell.reviews.references import read_references

RIS = """TY  - JOUR
AU  - Varma, T. R.
AU  - Curzen, P.
TI  - The effects of abdominal decompression
  on pregnancy
PY  - 1973
DA  - 1973/11/02/
JO  - J Obstet Gynaecol
AB  - First line - with a dash
and the second.
KW  - Pregnancy
KW  - Fetus
DO  - https://doi.org/10.1000/xyz.123.
AN  - PUBMED 4754604
UR  - https://example.org/1
VL  - 80
N1  - a note
ER  -\x20

TY  - BOOK
T1  - A book
ER  -\x20
"""
NBIB = """
PMID- 12230038
OWN - NLM
DP  - 2002 Sep 16
TI  - The Bio* toolkits--a brief overview.
LID - 10.1093/bib/3.3.296 [doi]
AB  - Bioinformatics research is often difficult. The
      Open Source BioPerl projects - as they are called - provide toolkits.
FAU - Mangalam, Harry
AU  - Mangalam H
JT  - Briefings in bioinformatics
OT  - toolkit

PMID- 2
TI  - Another
"""

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=8)
TEXTS = st.lists(WORDS, max_size=6).map(" ".join)
NAMES = st.builds("{}, {}.".format, st.sampled_from(["Varma", "Müller", "de Hoon"]), st.sampled_from("ABC"))
DATES = st.sampled_from(["", "1999", "2003-11", "2003-11-22"])
REFERENCES = st.builds(
    Reference,
    title=TEXTS,
    abstract=TEXTS,
    authors=st.lists(NAMES, max_size=3).map(tuple),
    date=DATES,
    journal=TEXTS,
    doi=st.sampled_from(["", "10.1000/xyz.123"]),
    pmid=st.sampled_from(["", "12230038"]),
    url=st.sampled_from(["", "https://example.org/1"]),
    keywords=st.lists(TEXTS.filter(bool), max_size=3).map(tuple),
).map(lambda reference: replace(reference, year=int(reference.date[:4]) if reference.date else None))


def test_a_reference_is_read_with_everything_it_has() -> None:
    first, second = parse_ris(RIS)
    assert first == Reference(
        title="The effects of abdominal decompression on pregnancy",
        abstract="First line - with a dash and the second.",
        authors=("Varma, T. R.", "Curzen, P."),
        year=1973,
        date="1973-11-02",
        journal="J Obstet Gynaecol",
        doi="10.1000/xyz.123",
        pmid="4754604",
        url="https://example.org/1",
        keywords=("Pregnancy", "Fetus"),
        more=(("AN", "PUBMED 4754604"), ("VL", "80"), ("N1", "a note")),
        source="ris",
    )
    assert (second.title, second.kind, second.year) == ("A book", "BOOK", None)


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param("\ufeff" + RIS, id="a byte order mark"),
        pytest.param(RIS.replace("\n", "\r\n"), id="Windows line ends"),
        pytest.param(RIS.replace("ER  - \n", ""), id="no end of records"),
        pytest.param("Exported by a program\n\n1.\n" + RIS, id="lines before the first record"),
        pytest.param(RIS.replace("  - ", " - "), id="one space"),
        pytest.param("\n".join("  " + line for line in RIS.splitlines()), id="indented"),
    ],
)
def test_files_of_careless_programs_are_read_all_the_same(broken: str) -> None:
    assert parse_ris(broken) == parse_ris(RIS)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings_are_told_by_the_file(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.ris").write_bytes("TY  - JOUR\nTI  - Fièvre\nER  - \n".encode(encoding))
    assert read_ris(tmp_path / "a.ris")[0].title == "Fièvre"


def test_a_gzipped_file_is_unpacked_and_a_cut_one_named(tmp_path: Path) -> None:
    packed = gzip.compress(RIS.encode())
    (tmp_path / "a.ris.gz").write_bytes(packed)
    assert len(read_ris(tmp_path / "a.ris.gz")) == 2
    (tmp_path / "b.ris.gz").write_bytes(packed[:50])
    with pytest.raises(RankwellError, match=r"b.ris.gz: expected a whole gzip file"):
        read_ris(tmp_path / "b.ris.gz")


def test_other_tags_for_the_same_things_are_known() -> None:
    tags = [
        "T1  - A title",
        "A1  - Doe, J",
        "N2  - An abstract",
        "Y1  - 2001/05//",
        "JF  - A journal",
        "M3  - 10.1000/a",
    ]
    found = parse_ris("\n".join(["TY  - JOUR", *tags]))[0]
    assert (found.title, found.authors, found.abstract) == ("A title", ("Doe, J",), "An abstract")
    assert (found.date, found.year, found.journal, found.doi) == ("2001-05", 2001, "A journal", "10.1000/a")


def test_a_medline_record_is_read_with_everything_it_has() -> None:
    first, second = parse_nbib(NBIB)
    assert first.title == "The Bio* toolkits--a brief overview."
    assert first.abstract.endswith("The Open Source BioPerl projects - as they are called - provide toolkits.")
    assert (first.pmid, first.year, first.date) == ("12230038", 2002, "2002-09-16")
    assert (first.authors, first.doi) == (("Mangalam H",), "10.1093/bib/3.3.296")
    assert (first.journal, first.keywords) == ("Briefings in bioinformatics", ("toolkit",))
    assert (second.pmid, second.title) == ("2", "Another")


@given(st.lists(REFERENCES, max_size=3))
def test_what_is_written_as_ris_is_read_back(references: list[Reference]) -> None:
    found = parse_ris("".join(map(ris_text, references)))
    assert [replace(of, more=(), source="") for of in found] == references
    assert parse_ris("".join(map(ris_text, found))) == found


@given(st.lists(REFERENCES, max_size=3))
def test_what_is_written_as_medline_is_read_back(references: list[Reference]) -> None:
    found = parse_nbib("".join(map(nbib_text, references)))
    assert [replace(of, more=(), source="") for of in found] == [replace(of, url="") for of in references]
    assert parse_nbib("".join(map(nbib_text, found))) == found


def test_tags_without_a_field_survive_in_their_own_format_and_only_there(tmp_path: Path) -> None:
    write_ris(tmp_path / "out.ris", parse_ris(RIS))
    assert read_ris(tmp_path / "out.ris") == parse_ris(RIS)
    write_nbib(tmp_path / "out.nbib", parse_ris(RIS))
    again = read_nbib(tmp_path / "out.nbib")
    assert [reference.title for reference in again] == [reference.title for reference in parse_ris(RIS)]
    assert "a note" not in (tmp_path / "out.nbib").read_text(encoding="utf-8")


def test_a_title_with_line_breaks_stays_one_value() -> None:
    assert parse_ris(ris_text(Reference(title="one\nER  - \ntwo")))[0].title == "one ER - two"


def test_references_are_read_whatever_their_format(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(RIS, encoding="utf-8")
    (tmp_path / "b").write_text(NBIB, encoding="utf-8")
    (tmp_path / "c").write_text(
        "PMID,Title,Authors,Citation,Journal/Book,Publication Year,DOI\n"
        '7,"Fever, again","Varma TR, Curzen P.",x,Lancet,1999,10.1000/a\n',
        encoding="utf-8",
    )
    assert [len(read_references(tmp_path / name)) for name in "abc"] == [2, 2, 1]
    found = read_references(tmp_path / "c")[0]
    assert (found.pmid, found.title, found.authors) == ("7", "Fever, again", ("Varma TR", "Curzen P."))
    assert (found.year, found.journal, found.doi, found.more) == (1999, "Lancet", "10.1000/a", (("Citation", "x"),))


def test_what_is_no_bibliography_is_named_with_what_was_expected(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hello\nworld\n", encoding="utf-8")
    for read in (read_ris, read_nbib, read_references):
        with pytest.raises(RankwellError, match=r"a:1: expected .*hello"):
            read(tmp_path / "a")
    with pytest.raises(RankwellError, match="no such file"):
        read_references(tmp_path / "none")


@pytest.mark.parametrize(
    ("given", "exact"),
    [
        ("2016/04/15/", "2016-04-15"),
        ("2016-4", "2016-04"),
        ("20160415", "2016-04-15"),
        ("2016///", "2016"),
        ("2016/13", "2016"),
        ("April 2016", "2016"),
        ("15.4.2016", "2016"),
        ("soon", ""),
    ],
)
def test_dates_are_as_exact_as_they_are_known(given: str, exact: str) -> None:
    assert exact_date(given) == exact


@given(st.text(max_size=200))
def test_no_text_breaks_a_reader(text: str) -> None:
    parse_ris(text)
    parse_nbib(text)
