"""A document as RIS and BibTeX reads back as the same reference."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rankwell.collections.bibtex import BibtexEntries, bibtex_text
from rankwell.collections.references import Reference, reference_of_document
from rankwell.collections.tagged import ris_references, ris_text
from rankwell.core import Document

PAPER = Document(
    "pmid:17 & co",
    {"title": "Fever & cough: 100% true_story", "abstract": "In children ~5 \\ and #1."},
    {
        "year": 2020.0,
        "authors": "Curie, Marie; Meitner, Lise",
        "journal": "Nature",
        "doi": "10.1000/xyz_1",
        "colour": "red",
    },
)


def from_bibtex(text: str) -> tuple[str, Reference]:
    ((_, key, reference),) = list(BibtexEntries(enumerate(text.splitlines(), 1)))
    assert isinstance(reference, Reference)
    return key, reference


def test_bibtex_reads_back() -> None:
    given = reference_of_document(PAPER)
    assert (given.year, given.authors) == (2020, ("Curie, Marie", "Meitner, Lise"))
    key, read = from_bibtex(bibtex_text(given, PAPER.id))
    assert key == "pmid:17-co"
    for name in ("title", "authors", "year", "journal", "doi"):
        assert getattr(read, name) == getattr(given, name), name


def test_ris_reads_back() -> None:
    given = reference_of_document(PAPER)
    (read,) = ris_references(ris_text(given).splitlines())
    for name in ("title", "abstract", "authors", "year", "journal", "doi"):
        assert getattr(read, name) == getattr(given, name), name


def test_a_document_without_metadata_is_a_reference_by_its_id() -> None:
    assert bibtex_text(reference_of_document(Document("d1", {})), "d1") == "@misc{d1,\n  title = {d1},\n}\n"


@given(st.text(max_size=60))
def test_no_title_breaks_out_of_its_entry(title: str) -> None:
    text = bibtex_text(Reference(title=f"a {title}", year=2020), title)
    assert from_bibtex(text)[1].year == 2020
