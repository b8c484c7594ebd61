"""Is this article the study? the systematic-review study's own pairs, and what must not be taken for the same."""

from __future__ import annotations

import difflib

import pytest
from eutilities_server import article

from rankwell.core import ParameterError
from rankwell.reviews import ListedStudy, MatchingRule
from rankwell.reviews.matching import StudyMatch, Verdict, comparable_authors, comparable_title

RULE = MatchingRule()

# Systematic-review study, tables 3.1 and 3.2: titles and authors as the review and as PubMed have them, row by row. The
# tables show no years, nor what was decided; the criteria below the tables decide each row. The characters that were
# marked in the author lists are dashes, spaces and special characters (its words), which the table may not show.
DECOMPRESSION = (
    (
        "The effects of abdominal decompression on pregnancy complicated by the small-for-dates fetus",
        "Varma TR, Curzen P",
    ),
    (
        "Letter: The effects of abdominal decompression on pregnancy complicated by the small for dates fetus.",
        "Curzen P",
    ),
)
EPISIOTOMIES = (
    (
        "[Repair of episiotomies with synthetic suture material]. [Bulgarian]",
        "Nikolov A, Dimitrov A, Iliev D, Krsteva K",
    ),
    (
        "[Repair of episiotomies with synthetic suture material].",
        "Nikolov A, Dimitrov A, Iliev D, Kr\u0304steva K",
    ),
)
NALOXONE = (
    ("Failure of naloxone to modify the anti-tobacco effect of acupuncture", "Boureau F, Willer JC"),
    (
        "[Failure of naloxone to modify the anti-tobacco effect of acupuncture (author's transl)].",
        "Boureau F, Willer J C",
    ),
)
TELEMONITORING = (
    (
        "Impact of home patient telemonitoring on use of beta-blockers in congestive heart failure",
        "Antonicelli R, Mazzanti I, Abbatecola AM, Parati G",
    ),
    (
        "Impact of home patient telemonitoring on use of β-blockers in congestive heart failure.",
        "Antonicelli Roberto, Mazzanti Ilaria, Abbatecola Angela M, Parati Gianfranco",
    ),
)
ON_ASTHMA = "on the management of asthma with good cost-benefit"
ASTHMA = (
    (
        f"Group discussions with parents have long-term positive benefits {ON_ASTHMA}",
        "Hederos CA, Janson S, Hedlin G",
    ),
    (
        f"Group discussions with parents have long-term positive effects {ON_ASTHMA}.",
        "Hederos C-A, Janson S, Hedlin G",
    ),
)
PAIRS = [DECOMPRESSION, EPISIOTOMIES, NALOXONE, TELEMONITORING, ASTHMA]


def with_difflib(a: str, b: str) -> float:
    return difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()


def same_by_criteria(title: float, authors: float) -> bool:
    """The systematic-review study, 3.1.1, where the years are the same."""
    return title > 0.98 or (title > 0.85 and authors > 0.75)


def decided(pair, year: int | None = 1999, pubmed_year: int | None = 1999) -> StudyMatch:
    (title, authors), (pubmed_title, pubmed_authors) = pair
    return RULE.decide(
        ListedStudy(title, year, authors), [article("1", pubmed_title, year=pubmed_year, authors=pubmed_authors)]
    )


# Title and author similarity of each row, as the texts stand in the tables and as we compare them, and what follows
# where the years are the same. No title is above 0.98, so that authors and year decide all of them.
DECISIONS = [
    (DECOMPRESSION, (0.933, 0.615), (0.938, 0.615), Verdict.AMBIGUOUS),
    (EPISIOTOMIES, (0.903, 0.988), (0.906, 1.0), Verdict.FOUND),
    (NALOXONE, (0.866, 0.976), (0.883, 1.0), Verdict.FOUND),
    (TELEMONITORING, (0.966, 0.794), (0.971, 1.0), Verdict.FOUND),
    (ASTHMA, (0.965, 0.984), (0.969, 1.0), Verdict.FOUND),
]


@pytest.mark.parametrize(("pair", "as_written", "as_compared", "verdict"), DECISIONS)
def test_each_pair_of_the_study_is_decided_as_its_criteria_say(pair, as_written, as_compared, verdict: Verdict) -> None:
    (title, authors), (pubmed_title, pubmed_authors) = pair
    written = with_difflib(title, pubmed_title), with_difflib(authors, pubmed_authors)
    assert written == pytest.approx(as_written, abs=5e-4)
    match = decided(pair)
    near = match.near[0]
    assert (near.title, near.authors) == pytest.approx(as_compared, abs=5e-4)
    assert match.verdict is verdict
    # What we drop before comparing (case, brackets, full stop, dashes, accents, given names) turns no decision around.
    assert same_by_criteria(*written) == same_by_criteria(near.title, near.authors) == (match.article is not None)


def test_a_letter_under_the_title_of_an_article_is_not_that_article() -> None:
    """The first row: another kind of publication, of one of the two authors. It is not taken, but shown to a person."""
    match = decided(DECOMPRESSION)
    assert (match.verdict, match.article) == (Verdict.AMBIGUOUS, None)
    assert match.reason == "title 0.94, authors 0.62"
    assert [near.candidate.id for near in match.near] == ["1"]


@pytest.mark.parametrize("surname", ["Krsteva", "Kr\u016dsteva", "Kr\u0304steva", "Kr'steva", "Kr-steva", "Kr steva"])
def test_the_marked_special_character_is_no_reason_to_doubt_whatever_it_was(surname: str) -> None:
    title, authors = EPISIOTOMIES[1]
    match = decided((EPISIOTOMIES[0], (title, authors.replace("Kr\u0304steva", surname))))
    assert match.verdict is Verdict.FOUND


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize(("year", "pubmed_year"), [(1999, 2000), (None, 1999), (1999, None), (None, None)])
def test_the_pairs_of_the_study_are_in_doubt_when_years_differ_or_are_missing(pair, year, pubmed_year) -> None:
    match = decided(pair, year, pubmed_year)
    assert match.verdict is Verdict.AMBIGUOUS
    assert ("a year is missing" if None in (year, pubmed_year) else "another year") in match.reason


def test_a_title_above_098_needs_nothing_else() -> None:
    match = RULE.decide(ListedStudy("Fever in children"), [article("1", "[Fever in Children].", year=None, authors="")])
    assert (match.verdict, match.article and match.article.id) == (Verdict.FOUND, "1")


def test_thresholds_must_be_exceeded_not_met() -> None:
    study, candidate = ListedStudy("a" * 49 + "b", 2000, "Varma TR"), article("1", "a" * 49 + "c", authors="Other X")
    assert RULE.compare(study, candidate).title == 0.98
    assert not RULE.compare(study, candidate).same
    study, candidate = (
        ListedStudy("a" * 17 + "bbb", 2000, "Varma TR"),
        article("1", "a" * 17 + "ccc", authors="Varma TR"),
    )
    assert RULE.compare(study, candidate).title == 0.85
    assert not RULE.compare(study, candidate).same


def test_another_study_is_not_found() -> None:
    match = RULE.decide(ListedStudy("Fever in children", 2000, "Varma TR"), [article("1", "Cough in horses")])
    assert match.verdict is Verdict.MISSING
    assert match.reason.startswith("the most similar of 1 titles has 0.")
    assert RULE.decide(ListedStudy("Fever"), []).reason == "the search found nothing"
    assert RULE.decide(ListedStudy(" [] . "), [article("1", "")]).reason == "the study has no title"


def test_the_most_similar_of_several_is_taken_wherever_it_stands() -> None:
    title = "A trial of penicillin for sore throat in general practice in Sweden, the second part of it all"
    candidates = [article("1", title + "s"), article("2", title + "."), article("3", title + " x")]
    match = RULE.decide(ListedStudy(title), candidates)
    assert match.article is not None
    assert match.article.id == "2"


def test_of_two_articles_with_one_title_the_one_whose_authors_and_year_agree_is_taken() -> None:
    candidates = [article("1", "Asthma", year=1990), article("2", "Asthma", year=2000, authors="Hedlin G")]
    assert RULE.decide(ListedStudy("Asthma", 2000, "Hedlin G"), candidates).article == candidates[1]
    match = RULE.decide(ListedStudy("Asthma"), candidates)
    assert (match.verdict, match.reason) == (Verdict.AMBIGUOUS, "2 articles have equally similar titles")


@pytest.mark.parametrize(
    ("given", "normal"),
    [
        ("Varma, T. R., Curzen, P.", "varma tr, curzen p"),
        ("Antonicelli, R.; Abbatecola, A. M.", "antonicelli r, abbatecola am"),
        ("Antonicelli, Roberto and Abbatecola, Angela M", "antonicelli r, abbatecola am"),
        ("Guo F; Beane Freeman LE; Canadian Network", "guo f, beane freeman le, canadian network"),
        ("van der Berg Jan, de Hoon Michiel", "van der berg j, de hoon m"),
        ("García-Tabar I, Øvretveit J, Łukasz Ö", "garciatabar i, ovretveit j, lukasz o"),
        ("Smith J, et al.", "smith j"),
        ("Smith, John", "smith j"),
        ("Sandy A & Brandt B", "sandy a, brandt b"),
        ("", ""),
    ],
)
def test_authors_are_surnames_and_initials(given: str, normal: str) -> None:
    assert comparable_authors(given) == normal


@pytest.mark.parametrize(
    ("given", "normal"),
    [
        ("[Title in Bulgarian].", "title in bulgarian"),
        ("  STRASSE  und\nWeg. ", "strasse und weg"),
        ("What? Why.", "what? why"),
        ("cafe\u0301", "caf\u00e9"),
    ],
)
def test_titles_lose_case_brackets_and_their_full_stop(given: str, normal: str) -> None:
    assert comparable_title(given) == normal


def test_a_rule_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"near_title: expected at most 0\.9"):
        MatchingRule(same_title=0.9, near_title=0.95)
    with pytest.raises(ParameterError, match="same_authors"):
        MatchingRule(same_authors=2)
