"""References as reviews print them: authors, title, journal, year, PMID and DOI."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import Document
from rankwell.reviews.finding import StudyFinder
from rankwell.reviews.matching import Verdict
from rankwell.reviews.printed import parse_reference, parse_reference_list
from rankwell.reviews.references import read_references
from rankwell.reviews.review_files import ListedStudy, Review, read_reviews

DAGNELIE = (
    "Dagnelie CF, van der Graaf Y, De Melker RA. Do patients with sore throat benefit from penicillin? A randomized "
    "double-blind placebo-controlled clinical trial with penicillin V in general practice. British Journal of General "
    "Practice 1996;46(411):589-93. [PUBMED: 8945796]"
)
LINES = {
    DAGNELIE: (
        ("Dagnelie CF", "van der Graaf Y", "De Melker RA"),
        DAGNELIE.partition("RA. ")[2].partition(". British")[0],
        "British Journal of General Practice",
        *(1996, "8945796", ""),
    ),
    "*Brink WR, Rammelkamp CH Jr, Denny FW. Effect of penicillin and aureomycin. American Journal of Medicine "
    "1951;10:300-8. [DOI: 10.1016/0002-9343(51)90274-4; PUBMED: 14818727]": (
        ("Brink WR", "Rammelkamp CH Jr", "Denny FW"),
        "Effect of penicillin and aureomycin",
        "American Journal of Medicine",
        *(1951, "14818727", "10.1016/0002-9343(51)90274-4"),
    ),
    "12. Smith J, O'Neil-Doe AB, et al. Zinc in 2010: a review of 2009 trials. BMJ. 2020 Jan 5;368:m123. doi: "
    "10.1136/bmj.m123. PMID: 31932289.": (
        ("Smith J", "O'Neil-Doe AB"),
        "Zinc in 2010: a review of 2009 trials",
        "BMJ",
        *(2020, "31932289", "10.1136/bmj.m123"),
    ),
    "Müller Ö. Fever in children. J. Clin. Oncol. 2004;22:1-9.": (
        ("Müller Ö",),
        "Fever in children",
        "J. Clin. Oncol",
        *(2004, "", ""),
    ),
    "Smith, J. A., & Doe, A. (2020). Running as a treatment of depression. Journal of Exercise, 12(3), 1–10. "  # noqa: RUF001
    "https://doi.org/10.1000/xyz": (
        ("Smith, J. A.", "Doe, A."),
        "Running as a treatment of depression",
        "Journal of Exercise",
        *(2020, "", "10.1000/xyz"),
    ),
    "Effects of early mobilisation after stroke. Lancet 2015;386(9988):46-55.": (
        (),
        "Effects of early mobilisation after stroke",
        "Lancet",
        *(2015, "", ""),
    ),
}


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[:12])
def test_a_printed_line_is_taken_apart(line: str) -> None:
    found = parse_reference(line)
    assert (found.authors, found.title, found.journal, found.year, found.pmid, found.doi) == LINES[line]
    assert ("reference", " ".join(line.split()).lstrip("*").removeprefix("12. ")) in found.more


COCHRANE = f"""References to studies included in this review

Dagnelie 1996 {{published data only}}
{DAGNELIE}

Brink 1951 {{published and unpublished data}}
{list(LINES)[1]}
"""


def test_a_list_as_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "studies.txt").write_text(COCHRANE)
    assert [(found.pmid, found.year) for found in read_references(tmp_path / "studies.txt")] == [
        ("8945796", 1996),
        ("14818727", 1951),
    ]


def test_lines_that_are_broken_belong_together(tmp_path: Path) -> None:
    words = DAGNELIE.split()
    broken = "\n".join(" ".join(words[place : place + 9]) for place in range(0, len(words), 9))
    (tmp_path / "studies.txt").write_text(f"{broken}\n\n{list(LINES)[3]}\n")
    found = read_references(tmp_path / "studies.txt")
    assert [of.title for of in found] == [LINES[DAGNELIE][1], "Fever in children"]


def test_what_is_not_understood_is_kept_and_what_is_no_list_is_refused() -> None:
    found = parse_reference_list(f"{DAGNELIE}\nSee the appendix for more\n")
    assert found is not None
    assert found[1].title == "See the appendix for more"
    assert parse_reference_list("id,text\n1,Some words here\n2,More words\n") is None
    assert parse_reference_list("") is None


@given(st.text(max_size=300))
def test_any_line_gives_a_reference_that_keeps_its_words(line: str) -> None:
    found = parse_reference(line)
    kept = dict(found.more)["reference"]
    assert " ".join(line.split()).endswith(kept)
    assert bool(kept) == bool(found.title)


HOSTILE = ("A" * 20_000, "Aa B, " * 5000 + ".", "(" * 20_000, "Smith J" + ", Smith J" * 5000, "[PUBMED: " * 3000)


@pytest.mark.parametrize("line", HOSTILE, ids=range(len(HOSTILE)))
def test_long_lines_are_read_in_little_time(line: str) -> None:
    assert parse_reference(line).title


def test_studies_of_a_review_may_be_printed_references(tmp_path: Path) -> None:
    (tmp_path / "reviews.json").write_text(
        json.dumps([{"title": "Sore throat", "included": [DAGNELIE, "A bare title"], "excluded": []}])
    )
    (tmp_path / "folder" / "sore").mkdir(parents=True)
    (tmp_path / "folder" / "sore" / "included.txt").write_text(COCHRANE)
    (of_json,) = read_reviews(tmp_path / "reviews.json")
    assert [(study.year, study.pmid) for study in of_json.included] == [(1996, "8945796"), (None, "")]
    assert of_json.included[1].title == "A bare title"
    (of_folder,) = read_reviews(tmp_path / "folder")
    assert of_folder.included[0] == of_json.included[0]
    assert of_folder.included[0].authors == "Dagnelie CF; van der Graaf Y; De Melker RA"


class Articles:
    """A source that only knows articles by their PMIDs, and counts searches."""

    def __init__(self, **titles: str) -> None:
        self.articles = {pmid[1:]: Document(pmid[1:], {"title": title}) for pmid, title in titles.items()}
        self.searched: list[str] = []

    def candidates(self, titles: Sequence[str], most: int = 20) -> list[list[Document]]:  # noqa: ARG002 -- a protocol's
        self.searched += titles
        return [[] for _ in titles]

    def fetch(self, ids: Sequence[str]) -> dict[str, Document]:
        return {pmid: self.articles[pmid] for pmid in ids if pmid in self.articles}

    def described(self) -> dict[str, Any]:
        return {}


def test_a_pmid_in_the_list_is_taken_unless_it_is_another_article() -> None:
    study = parse_reference(DAGNELIE)
    review = Review("r", "Sore throat", included=(ListedStudy.of(study),))
    right = Articles(p8945796=study.title)
    (found,) = StudyFinder(right).find([review])
    assert (found.match.verdict, found.match.reason, found.match.article.id, right.searched) == (
        *(Verdict.FOUND, "by the PMID in the list", "8945796"),
        [],
    )
    wrong = Articles(p8945796="Fatigue of steel in long bridges")
    (found,) = StudyFinder(wrong).find([review])
    assert found.match.verdict is Verdict.MISSING
    assert wrong.searched == [study.title]
