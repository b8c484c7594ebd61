"""References as they are printed: Cochrane's, PubMed's and APA's style, a line or a paragraph each.

    Dagnelie CF, van der Graaf Y. Do patients benefit? A trial. British Journal of General Practice 1996;46(411):589-93.
    [PUBMED: 8945796]

PMID and DOI are taken where they stand; authors, title, journal and year are found by their order and punctuation. What
cannot be told apart stays in the title, so that no reference is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rankwell.collections.references import YEAR, Reference, doi_in

PMID = re.compile(r"\b(?:PMID|PUBMED|PubMed(?: ID)?)\s*:?\s*(\d{1,8})\b", re.IGNORECASE)
URL = re.compile(r"\bhttps?://\S+", re.IGNORECASE)
ADDED = re.compile(  # what stands behind a reference: [PUBMED: 1; DOI: 2], PMID: 1, doi: 2, and addresses
    r"\[[^\]]*(?:PUBMED|DOI|CENTRAL|EMBASE|PMID|Other:)[^\]]*\]"
    r"|\bPMC(?:ID)?\s*:?\s*(?:PMC)?\d+\.?"
    r"|\b(?:PMID|PUBMED|PubMed(?: ID)?)\s*:?\s*\d{1,8}\b\.?"
    r"|\b(?:doi\s*:\s*)?(?:https?://(?:dx\.)?doi\.org/)?10\.\d{4,9}/\S+"
    r"|\bhttps?://\S+",
    re.IGNORECASE,
)
BEFORE = re.compile(r"^\s*(?:\[\d{1,4}\]|\(\d{1,4}\)|\d{1,4}[.)](?=\s)|[*•–-])\s*")  # noqa: RUF001 -- lists have such dashes
HEADING = re.compile(
    r"\{[^}]*published[^}]*\}\s*$|^(?:references to|(?:in|ex)cluded studies|characteristics of)", re.IGNORECASE
)
MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?(?:[-/ ]\w+){0,4}\s*"
# The year of 1996;46(411):589-93 and of 2020 Jan 5;368:m123, or one before a full stop.
ISSUE = re.compile(rf"[\s,(](1[89]\d\d|20\d\d)[a-z]?\)?\s*(?:{MONTH})?(?=[;:,.]|$)")
NAME = re.compile(  # Dagnelie CF, van der Graaf Y, Rammelkamp CH Jr
    r"(?:[^\W\d_][\w'’.-]*\s+){1,4}[^\W\d_a-z]{1,4}(?:\s+(?:Jr|Sr|II|III|2nd|3rd)\.?)?"  # noqa: RUF001 -- both apostrophes
)
OTHERS = re.compile(r"(?:and )?et al\.?|on behalf of.*|.*(?:Group|Investigators|Team)")
APA = re.compile(r"^(?P<authors>[^()]{3,400}?)\s*\((?P<year>1[89]\d\d|20\d\d)[a-z]?(?:,[^)]*)?\)\.?\s+(?P<rest>.+)$")
APA_NAME = re.compile(r"[^\W\d_][^,;&]*?,\s*(?:[^\W\d_]\.[\s-]*)+")
SENTENCE = re.compile(r"(?<=[.?!])\s+")
ABBREVIATION = re.compile(r"[^\W\d_]{1,9}\.")
ET_AL = re.compile(r"(?:and )?et al", re.IGNORECASE)
FEWEST_WORDS = 3
LONGEST = 3000  # characters; what is longer is no reference, and is not taken apart


def parse_reference(text: str) -> Reference:
    """A printed reference. What is not understood is its title.

    >>> parse_reference("Doe J. Zinc for colds. BMJ 2001;1:2. [PUBMED: 12]").title
    'Zinc for colds'
    """
    whole = BEFORE.sub("", " ".join(text.split()))
    pmid, doi, url = PMID.search(whole), doi_in(whole).rstrip("])"), URL.search(whole)
    is_short = len(whole) <= LONGEST
    plain = " ".join(ADDED.sub(" ", whole).split()) if is_short else whole
    authors, title, journal, year = (_apa(plain) or _vancouver(plain)) if is_short else ((), "", "", None)
    return Reference(
        title=title or plain or whole,
        authors=authors,
        year=year,
        date=str(year or ""),
        journal=journal,
        doi=doi,
        pmid=pmid[1] if pmid else "",
        url="" if url is None or "doi.org" in url[0] else url[0].rstrip(".,;])"),
        more=(("reference", whole),),
        source="printed",
    )


def parse_reference_list(text: str) -> list[Reference] | None:
    """The references of a printed list; None where a text is no such list.

    One a line, or paragraphs with an empty line between; headings such as `Dagnelie 1996 {published data only}` are
    left out. It is a list if at least half of the entries are understood.
    """
    for entries in (list(_lines(text)), list(_paragraphs(text))):
        parsed = [parse_reference(entry) for entry in entries]
        if parsed and 2 * sum(map(is_understood, parsed)) >= len(parsed):
            return parsed
    return None


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line.strip() and not HEADING.search(line.strip()):
            yield line


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text):
        joined = " ".join(_lines(paragraph))
        if joined.strip():
            yield joined


def is_understood(reference: Reference) -> bool:
    """Whether more than a title was found: a year, and authors or a number."""
    return bool(reference.authors or reference.pmid or reference.doi) and (
        reference.year is not None and len(reference.title.split()) >= FEWEST_WORDS
    )


Parts = tuple[tuple[str, ...], str, str, int | None]


def _apa(text: str) -> Parts | None:
    """Smith, J., & Doe, A. (2020). Title. Journal, 12(3), 1-10."""
    found = APA.match(text)
    names = tuple(name.strip() for name in APA_NAME.findall(found["authors"].replace("&", ","))) if found else ()
    if found is None or not names:
        return None
    title, *rest = SENTENCE.split(found["rest"], maxsplit=1)
    journal = rest[0].split(",")[0].strip(" .") if rest else ""
    return tuple(name.lstrip(", ") for name in names), title.rstrip("."), journal, int(found["year"])


def _vancouver(text: str) -> Parts:
    """Smith J, Doe A. Title. Journal 2020;12(3):1-10."""
    first, _, after = text.partition(". ")
    names = [name.strip() for name in re.split(r"[,;]", first) if name.strip()]
    named = bool(names) and bool(NAME.fullmatch(names[0])) and all(_is_author(name) for name in names)
    rest = after if named else text
    years = list(ISSUE.finditer(rest))
    with_volume = [match for match in years if rest[match.end() : match.end() + 1] in (";", ":")]
    found = with_volume or years
    at = found[-1] if found else None
    year = int(at[1]) if at else next((int(last) for last in reversed(YEAR.findall(rest))), None)
    title, journal = _split_title(rest[: at.start()] if at else rest)
    authors = tuple(name for name in names if not ET_AL.match(name)) if named else ()
    return authors, title, journal, year


def _is_author(name: str) -> bool:
    return bool(NAME.fullmatch(name) or OTHERS.fullmatch(name))


def _split_title(text: str) -> tuple[str, str]:
    """Title and journal of `Title? Subtitle. Journal Name`; abbreviations (J. Clin. Oncol.) stay together."""
    *before, last = SENTENCE.split(text.strip(" ."))
    while len(before) > 1 and ABBREVIATION.fullmatch(before[-1]):
        last = f"{before.pop()} {last}"
    if not before:
        return last.strip(" ."), ""
    return " ".join(before).strip().rstrip("."), last.strip(" .,")
