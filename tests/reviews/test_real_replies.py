"""The parsers on replies that NCBI really gave, as Biopython keeps them for its own tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankwell.collections import read_documents
from rankwell.collections.tagged import nbib_text, parse_nbib, read_nbib
from rankwell.reviews.pubmed.transport import article_document, articles, search_result

CRYOPRESERVATION = (
    "Is cryopreservation a homogeneous process? Ultrastructure and motility of untreated, prefreezing, and postthawed "
    "spermatozoa of Diplodus puntazzo (Cetti)."
)
ARTICLES = {
    "pubmed1.xml": {
        "12091962": ("The treatment of AIDS behind the walls of correctional facilities.", "1990", "Olivero JM"),
        "9997": (
            "Magnetic studies of Chromatium flavocytochrome C552. A mechanism for heme-flavin interaction.",
            "1976-09-28",
            "Strekas TC",
        ),
    },
    "pubmed2.xml": {
        "11748933": (
            CRYOPRESERVATION,
            "2001-06",
            "Taddei AR; Barbato F; Abelli L; Canese S; Moretti F; Rana KJ; Fausto AM; Mazzini M",
        ),
        "11700088": (
            "Proton MRI of (13)C distribution by J and chemical shift editing.",
            "2001-11",
            "Casieri C; Testa C; Carpinelli G; Canese R; Podo F; De Luca F",
        ),
    },
}


@pytest.mark.parametrize("name", ARTICLES)
def test_articles_are_read_as_ncbi_sends_them(biopython: Path, name: str) -> None:
    kept = articles((biopython / "Entrez" / name).read_bytes())
    assert list(kept) == list(ARTICLES[name])
    for pmid, (title, date, authors) in ARTICLES[name].items():
        document = article_document(kept[pmid])
        assert document is not None
        assert (document.fields["title"], document.metadata["date"]) == (title, date)
        assert document.metadata["authors"] == authors


@pytest.mark.parametrize("number", [1, 2, 4, 5, 6, 7])
def test_an_article_from_the_cache_is_the_article_from_the_file(biopython: Path, number: int) -> None:
    path = biopython / "Entrez" / f"pubmed{number}.xml"
    kept = articles(path.read_bytes())
    documents = list(read_documents(path))
    assert documents == [article_document(article) for article in kept.values()]
    assert all(document.fields["title"] and document.metadata["year"] for document in documents)


def test_a_structured_abstract_keeps_the_names_of_its_parts(biopython: Path) -> None:
    document = next(read_documents(biopython / "Entrez" / "pubmed4.xml"))
    abstract = document.fields["abstract"]
    assert abstract.startswith("OBJECTIVE: Telomere shortening")
    assert [part for part in ("DESIGN: ", "RESULTS: ", "CONCLUSIONS: ") if part in abstract]
    assert document.metadata["doi"] == "10.1136/gutjnl-2016-312510"


def test_markup_and_other_alphabets_survive(biopython: Path) -> None:
    document = next(read_documents(biopython / "Entrez" / "pubmed7.xml"))
    assert document.metadata["authors"].endswith("Canadian Respiratory Research Network")
    assert "<" not in document.text()


@pytest.mark.parametrize(
    ("name", "count", "ids", "first"),
    [
        ("esearch1.xml", 63, 20, "41282813"),
        ("esearch5.xml", 5, 5, "6540636"),
        ("esearch8.xml", 0, 0, None),
    ],
)
def test_searches_are_read_as_ncbi_answers_them(
    biopython: Path, name: str, count: int, ids: int, first: str | None
) -> None:
    found = search_result((biopython / "Entrez" / name).read_bytes())
    assert (found.count, len(found.ids), next(iter(found.ids), None)) == (count, ids, first)
    if not count:
        assert found.remarks == ("PhraseNotFound: abcXYZ", "OutputMessage: No items found.")


@pytest.mark.parametrize("number", [2, 3, 6, 7])
def test_every_other_search_of_the_archive_is_read_too(biopython: Path, number: int) -> None:
    found = search_result((biopython / "Entrez" / f"esearch{number}.xml").read_bytes())
    assert found.count >= len(found.ids) > 0


@pytest.mark.parametrize(("number", "pmids"), [(1, ["12230038"]), (3, ["23039619"])])
def test_exports_in_medlines_format_are_read(biopython: Path, number: int, pmids: list[str]) -> None:
    references = read_nbib(biopython / "Medline" / f"pubmed_result{number}.txt")
    assert [reference.pmid for reference in references] == pmids


def test_an_export_of_several_articles_survives_a_round_trip(biopython: Path) -> None:
    references = read_nbib(biopython / "Medline" / "pubmed_result2.txt")
    assert [reference.authors[0] for reference in references] == [
        "Casbon JA",
        "Pritchard L",
        "de Hoon MJ",
        "Hamelryck T",
    ]
    assert references[1].doi == "10.1093/bioinformatics/btk021"
    assert parse_nbib("".join(map(nbib_text, references))) == references
