"""Systematic reviews with their lists of studies, read from JSON, CSV and folders of RIS files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from rankwell.collections.formats.delimited import header, table_rows
from rankwell.collections.reading import Reading, head, whole_text
from rankwell.collections.references import Reference, bibliography_text, exact_date, year_in
from rankwell.collections.tagged import read_ris
from rankwell.core import FormatError, Phrase, RankwellError
from rankwell.reviews.printed import is_understood, parse_reference, parse_reference_list


class ListedStudy(NamedTuple):
    """A study in a review's list. `authors` is one text; unknown values are empty or None."""

    title: str
    year: int | None = None
    authors: str = ""
    pmid: str = ""

    @classmethod
    def of(cls, reference: Reference) -> ListedStudy:
        """The study that a reference names."""
        return cls(reference.title, reference.year, "; ".join(reference.authors), reference.pmid)


@dataclass(frozen=True)
class Review:
    """A review with the studies that it included and those that it excluded.

    `date` is as exact as is known: 2015, 2015-03 or 2015-03-12, or empty.
    """

    id: str
    title: str
    included: tuple[ListedStudy, ...] = ()
    excluded: tuple[ListedStudy, ...] = ()
    date: str = ""

    @property
    def studies(self) -> list[tuple[ListedStudy, int]]:
        """Every study with its label: 1 for an included one, 0 for an excluded one."""
        return [*((study, 1) for study in self.included), *((study, 0) for study in self.excluded)]


# Names of columns and keys; the first is ours.
REVIEW_KEYS = {
    "id": ("id", "_id", "review_id", "doi"),
    "title": ("title", "review_title", "query"),
    "date": ("date", "review_date", "published", "year", "review_year"),
    "included": ("included", "included_studies"),
    "excluded": ("excluded", "excluded_studies"),
}
COLUMNS = {
    "review_id": ("review_id", "review"),
    "review_title": ("review_title", "query"),
    "review_date": ("review_date", "review_year"),
    "title": ("title", "study_title"),
    "year": ("year", "study_year", "publication_year"),
    "authors": ("authors", "study_authors", "author"),
    "label": ("label", "included", "label_included", "decision"),
}
LABELS = {
    **dict.fromkeys(("1", "1.0", "included", "include", "yes", "true", "relevant"), 1),
    **dict.fromkeys(("0", "0.0", "excluded", "exclude", "no", "false", "irrelevant"), 0),
}


def read_reviews(path: Path | str, reading: Reading | None = None) -> list[Review]:
    """The reviews of a JSON or CSV file, or of a folder with a folder of RIS files for each review.

    - JSON: a list of objects (or one such object a line) with `title`, `date` or `year`, and `included` and
      `excluded`: lists of studies with `title`, `year`, `authors` (a text, or a list of names) and perhaps `pmid`, or
      references as they are printed.
    - CSV: a row a study, with the columns `review_title` (and `review_id`, `review_date`), `title`, `year`, `authors`
      and `label` (1 or included, 0 or excluded).
    - RIS: in each folder files with `included` and `excluded` in their names, and `review.ris` for the review itself,
      else the folder's name is its title. Lists as they are printed are taken too: included.txt, excluded.txt.
    """
    path, reading = Path(path), reading or Reading()
    if path.is_dir():
        reviews = list(_ris_reviews(path))
    elif not path.is_file():
        raise RankwellError(f"{path}: no such file or folder")
    elif head(path).lstrip().startswith(("[", "{")):
        reviews = list(_json_reviews(path, reading))
    else:
        reviews = _table_reviews(path, reading)
    if not reviews:
        raise RankwellError(f"{path}: expected reviews, found none")
    seen = set[str]()
    for review in reviews:
        if review.id in seen:
            raise RankwellError(f"{path}: expected each review once, found {review.id!r} twice")
        seen.add(review.id)
    return reviews


def _json_reviews(path: Path, reading: Reading) -> Iterator[Review]:
    for place, row in enumerate(_json_rows(path, reading), 1):
        values = _named(row, REVIEW_KEYS) if isinstance(row, dict) else {}
        title = values.get("title")
        lists = [values.get(name) or [] for name in ("included", "excluded")]
        if not isinstance(title, str) or not title.strip() or not all(isinstance(of, list) for of in lists):
            expected = "a title, and lists of included and excluded studies"
            reading.report(path, None, f"{expected} in review {place}", row)
            continue
        studies = ((_study(path, study, place, reading) for study in of) for of in lists)
        included, excluded = (tuple(filter(None, of)) for of in studies)
        identity = str(values.get("id") or f"review-{place}")
        yield Review(identity, " ".join(title.split()), included, excluded, exact_date(str(values.get("date") or "")))


def _json_rows(path: Path, reading: Reading) -> list[Any]:
    text = whole_text(path, reading)
    try:
        content = orjson.loads(text)
    except orjson.JSONDecodeError as whole:
        try:
            return [orjson.loads(line) for line in text.splitlines() if line.strip()]
        except orjson.JSONDecodeError:
            raise FormatError(path, whole.lineno, expected="JSON", found=Phrase(str(whole))) from whole
    if isinstance(content, dict):
        content = content.get("reviews", [content])
    return content if isinstance(content, list) else [content]


def _study(path: Path, study: Any, place: int, reading: Reading) -> ListedStudy | None:
    """A study of a list; a bare text is its title, or its reference as it is printed."""
    if isinstance(study, str) and is_understood(printed := parse_reference(study)):
        return ListedStudy.of(printed)
    values = {"title": study} if isinstance(study, str) else study
    if not isinstance(values, dict) or not isinstance(values.get("title"), str):
        reading.report(path, None, f"studies with a title in review {place}", study)
        return None
    authors = values.get("authors") or ""
    listed = "; ".join(map(str, authors)) if isinstance(authors, list) else str(authors)
    year, pmid = year_in(str(values.get("year") or "")), str(values.get("pmid") or "").strip()
    return ListedStudy(" ".join(values["title"].split()), year, listed, pmid)


def _table_reviews(path: Path, reading: Reading) -> list[Review]:
    start = head(path)
    delimiter = max(",\t;", key=lambda mark: len(header(start, mark)))
    columns = header(start, delimiter)
    known = _named(dict.fromkeys(columns, "x"), COLUMNS).keys()
    if not known >= {"title", "label"} or not known & {"review_id", "review_title"}:
        expected = "the columns review_title, title, year, authors and label"
        raise FormatError(path, 1, expected=expected, found=Phrase(", ".join(columns)))
    reviews: dict[str, _Listed] = {}
    for number, row in table_rows(path, reading, delimiter):
        values = {name: str(value).strip() for name, value in _named(row, COLUMNS).items()}
        label = LABELS.get(values.get("label", "").lower())
        title = values.get("review_title") or values.get("review_id", "")
        if label is None or not title:
            expected = "a review, and a label that is 1 or included, 0 or excluded"
            reading.report(path, number, expected, Phrase(repr(values)))
            continue
        review = reviews.setdefault(values.get("review_id") or title, _Listed(title))
        review.date = review.date or exact_date(values.get("review_date", ""))
        study = ListedStudy(values.get("title", ""), year_in(values.get("year", "")), values.get("authors", ""))
        (review.included if label else review.excluded).append(study)
    return [Review(name, of.title, tuple(of.included), tuple(of.excluded), of.date) for name, of in reviews.items()]


@dataclass
class _Listed:
    """A review while its rows are read."""

    title: str
    date: str = ""
    included: list[ListedStudy] = field(default_factory=list)
    excluded: list[ListedStudy] = field(default_factory=list)


def _named(row: Mapping[str, Any], names: Mapping[str, Iterable[str]]) -> dict[str, Any]:
    """The values of a row by our names."""
    lower = {str(key).strip().lower().replace(" ", "_"): value for key, value in row.items()}
    values = {ours: next((lower[name] for name in known if lower.get(name)), None) for ours, known in names.items()}
    return {name: value for name, value in values.items() if value is not None}


def _ris_reviews(path: Path) -> Iterator[Review]:
    inner = sorted(folder for folder in path.iterdir() if folder.is_dir() and _lists(folder))
    for folder in inner or [path]:
        files = _lists(folder)
        included, excluded = (
            tuple(ListedStudy.of(reference) for file in named for reference in _listed_in(file))
            for named in ([file for file in files if word in file.stem.lower()] for word in ("included", "excluded"))
        )
        if not included and not excluded:
            raise RankwellError(
                f"{folder}: expected RIS files named included.ris and excluded.ris (or lists as .txt), found none"
            )
        own = read_ris(folder / "review.ris") if (folder / "review.ris").is_file() else []
        title = own[0].title if own and own[0].title else folder.name
        yield Review(folder.name, title, included, excluded, own[0].date if own else "")


def _lists(folder: Path) -> list[Path]:
    """The lists of references in a folder."""
    return sorted([*folder.glob("*.ris"), *(file for file in folder.glob("*.txt") if "cluded" in file.stem.lower())])


def _listed_in(file: Path) -> list[Reference]:
    if file.suffix == ".ris":
        return read_ris(file)
    found = parse_reference_list(bibliography_text(file))
    if found is None:
        raise RankwellError(f"{file}: expected references as they are printed, found another text")
    return found
