"""Signing in by link, overview, settings and import; lists of records, duplicates and conflicts; results."""

from __future__ import annotations

import json
import pathlib
import re
from tempfile import TemporaryDirectory
from typing import Annotated, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, File, Form, HTTPException, Path, Query, UploadFile
from starlette.responses import Response

from rankwell.apps.screening.screening_pages import Number, Reason, Standing, check_reason, standing_of
from rankwell.apps.screening.site import ClosedError, Visit, check_reviewer
from rankwell.apps.web.uploads import save_upload, shown_name
from rankwell.apps.web.visits import part_of
from rankwell.collections.references import Reference
from rankwell.core import ParameterError, RankwellError
from rankwell.reviews.screening.decisions import Answer, agreement
from rankwell.reviews.screening.files import STATUSES, csv_export, ris_export
from rankwell.reviews.screening.store import LONGEST_CRITERIA, LONGEST_TITLE, ProjectSettings
from rankwell.reviews.screening.uploads import read_upload

door = APIRouter(default_response_class=Response)
router = APIRouter(default_response_class=Response, dependencies=[Depends(check_reviewer)])


@door.get("/open")
def come_in(
    visit: Visit, reviewer: Annotated[int, Query(ge=1, le=1000)] = 1, key: Annotated[str, Query(max_length=200)] = ""
) -> Response:
    """A reviewer's link: set the cookie, and redirect away from the URL with the secret."""
    visit.count_try()
    if not visit.site.admits(reviewer, key):
        raise ClosedError
    visit.begin(str(reviewer))
    return visit.go("/")


@router.get("/")
def overview(visit: Visit) -> Response:
    """The reviewer's progress."""
    if not visit.project.records.count():
        return visit.go("/import")
    return visit.show("overview.html", standing=standing_of(visit))


@router.get("/settings")
def settings(visit: Visit, saved: Annotated[str, Query(max_length=10)] = "") -> Response:
    """The settings page: title, criteria, reasons."""
    return visit.show("settings.html", given=visit.project.settings, saved=bool(saved))


@router.post("/settings")
def change_settings(
    visit: Visit,
    title: Annotated[str, Form(max_length=4 * LONGEST_TITLE)] = "",
    criteria: Annotated[str, Form(max_length=2 * LONGEST_CRITERIA)] = "",
    reasons: Annotated[str, Form(max_length=20_000)] = "",
) -> Response:
    """Save the settings; a new title retrains the ranking."""
    listed = tuple(dict.fromkeys(" ".join(line.split()) for line in reasons.splitlines() if line.strip()))
    try:
        visit.project.change(ProjectSettings(" ".join(title.split()), criteria.replace("\r\n", "\n").strip(), listed))
    except ParameterError as error:
        given = {"title": title, "criteria": criteria, "reasons": listed}
        return visit.refuse(str(error)).show("settings.html", given=given, saved=False)
    visit.site.ranking.changed()
    return visit.go("/settings?saved=1")


UPLOAD = "/import"


@router.get(UPLOAD)
def sources(visit: Visit) -> Response:
    """The imported files, and the form to import more."""
    imported, duplicates = visit.project.records.sources(), visit.project.duplicates.by_source()
    return visit.show("import.html", sources=imported, duplicates=duplicates, reading_now=dict(visit.site.uploads))


@router.post(UPLOAD)
def bring_in(visit: Visit, files: Annotated[list[UploadFile], File()]) -> Response:
    """Import records from all files, or from none where one cannot be read."""
    try:
        read = [(name, _read(visit, name, file)) for file in files if (name := shown_name(file.filename))]
    except RankwellError as error:
        return sources(visit.refuse(str(error)))
    if not read:
        return sources(visit.refuse("Choose a file first."))
    for name, references in read:
        visit.project.import_references(name, references)
    visit.site.ranking.changed()
    return visit.go(UPLOAD)


def _read(visit: Visit, name: str, file: UploadFile) -> list[Reference]:
    """The references of an uploaded file; of its name only the ending is used, to detect the format.

    The import page shows what is being read, and how far, also to others.
    """
    with TemporaryDirectory() as folder:
        path = save_upload(pathlib.Path(folder), name, file.file)
        number = visit.site.begin_upload(name)
        try:
            return read_upload(path, lambda count: visit.site.uploads.update({number: (name, count)}))
        except RankwellError as error:
            raise RankwellError(str(error).replace(str(path), name)) from error
        finally:
            del visit.site.uploads[number]


PAGE = 50
MOST_WORDS = 20
ALL, UNDECIDED = "all", "undecided"
FILTERS = {
    UNDECIDED: "not decided",
    Answer.INCLUDE.value: "included",
    Answer.MAYBE.value: "maybe",
    Answer.EXCLUDE.value: "excluded",
    ALL: "all",
}
PageNumber = Annotated[int, Query(ge=1, le=1_000_000)]


@router.get("/records")
def records(
    visit: Visit,
    show: Annotated[str, Query(max_length=20)] = UNDECIDED,
    words: Annotated[str, Query(max_length=300)] = "",
    page: PageNumber = 1,
) -> Response:
    """A page of the filtered, ranked list."""
    standing = standing_of(visit)
    show = show if show in FILTERS else UNDECIDED
    wanted = _filtered(standing, show)
    if some := words.split()[:MOST_WORDS]:
        matching = visit.project.records.with_words(some)
        wanted = [record for record in wanted if record in matching]
    numbers, part = part_of(wanted, page, PAGE)
    return visit.show(
        "records.html",
        records=visit.project.records.several(numbers),
        part=part,
        standing=standing,
        show=show,
        words=words,
        filters=FILTERS,
        query=urlencode({"show": show, "words": words}),
    )


def _filtered(standing: Standing, show: str) -> list[int]:
    """The filtered records: undecided ones in the order of the ranking, decided ones with the newest first."""
    if show == UNDECIDED:
        return standing.waiting
    decided = list(standing.decisions.values())[::-1]
    if show == ALL:
        return [*standing.waiting, *(decision.record for decision in decided)]
    return [decision.record for decision in decided if decision.answer == show]


PAIRS_A_PAGE = 20


@router.get("/duplicates")
def duplicates(visit: Visit, page: PageNumber = 1) -> Response:
    """Pairs of duplicates, unconfirmed ones first."""
    pairs, part = part_of(visit.project.duplicates.all(), page, PAIRS_A_PAGE)
    numbers = sorted({number for pair in pairs for number in (pair.record, pair.original)})
    records = {record.id: record for record in visit.project.records.several(numbers)}
    sources = visit.project.records.came_from()
    return visit.show("duplicates.html", pairs=pairs, part=part, records=records, sources=sources)


@router.post("/duplicates/{record}")
def judge_duplicate(
    visit: Visit, record: Number, verdict: Annotated[Literal["same", "different"], Form()], page: PageNumber = 1
) -> Response:
    """Confirm or reject a duplicate."""
    if not visit.project.duplicates.judge(visit.reviewer.id, record, same=verdict == "same"):
        raise HTTPException(404)
    return visit.go(f"/duplicates?page={page}")


@router.get("/conflicts")
def conflicts(visit: Visit, page: PageNumber = 1) -> Response:
    """Records with conflicting decisions."""
    outcomes = visit.project.outcomes.all().values()
    conflicts = sorted((outcome for outcome in outcomes if outcome.conflict), key=lambda one: not one.open_conflict)
    shown, part = part_of(conflicts, page, PAIRS_A_PAGE)
    records = {record.id: record for record in visit.project.records.several([outcome.record for outcome in shown])}
    answers = [[decision.answer.value for decision in outcome.decisions.values()] for outcome in outcomes]
    return visit.show(
        "conflicts.html",
        conflicts=shown,
        part=part,
        records=records,
        names=dict(visit.project.reviewers()),
        still_open=sum(outcome.open_conflict for outcome in conflicts),
        agreement=agreement([(both[0], both[1]) for both in answers if len(both) > 1]),
    )


@router.post("/conflicts/{record}")
def resolve(
    visit: Visit,
    record: Number,
    answer: Annotated[Answer | Literal["reopen"], Form()],
    reason: Reason = "",
    page: PageNumber = 1,
) -> Response:
    """Resolve a conflict, or reopen it."""
    check_reason(visit, reason)
    outcomes = visit.project.outcomes
    settled = isinstance(answer, Answer) and outcomes.resolve(visit.reviewer.id, record, answer, reason)
    if not settled and not (answer == "reopen" and outcomes.reopen(record)):
        raise HTTPException(404)
    return visit.go(f"/conflicts?page={page}")


SELECTIONS = {"all": STATUSES, "included": ("included",), "maybe": ("maybe",), "excluded": ("excluded",)}
KINDS = {"ris": "application/x-research-info-systems; charset=utf-8", "csv": "text/csv; charset=utf-8"}
MAKERS = {"ris": ris_export, "csv": csv_export}


@router.get("/results")
def results(visit: Visit) -> Response:
    """The PRISMA counts, and the list of downloads."""
    return visit.show("results.html", prisma=visit.project.prisma(), selections=list(SELECTIONS), kinds=list(KINDS))


@router.get("/export/{name}")
def export(visit: Visit, name: Annotated[str, Path(max_length=40)]) -> Response:
    """Download a file: `included.ris`, `all.csv`, ..., `prisma.json`."""
    project = visit.project
    slug = re.sub(r"[^a-z0-9]+", "-", project.settings.title.lower()).strip("-")[:60] or "review"
    headers = {"content-disposition": f'attachment; filename="{slug}-{name}"'}
    if name == "prisma.json":
        text = json.dumps(project.prisma().to_dict(), ensure_ascii=False, indent=1) + "\n"
        return Response(text, media_type="application/json", headers=headers)
    selection, _, kind = name.partition(".")
    if selection not in SELECTIONS or kind not in KINDS:
        raise HTTPException(404)
    text = MAKERS[kind](project, SELECTIONS[selection])
    return Response(text.encode(errors="replace"), media_type=KINDS[kind], headers=headers)
