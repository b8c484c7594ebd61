"""The queries of a comparison, one by one: a table to sort and filter, and both rankings of each query side by side.

The table is plain HTML. `workbench.js` adds sorting, filters, keys and the rankings, which it takes from one block of
JSON on the page; nothing is loaded from elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from rankwell.core import Document, Judgments, Run
from rankwell.evaluation.comparison import Comparison
from rankwell.evaluation.judged import Values
from rankwell.evaluation.measures import Measure
from rankwell.evaluation.query_changes import KINDS, QueryChange, query_changes, ranked
from rankwell.evaluation.query_groups import Groups
from rankwell.report.html import Heading, TablePart, Text
from rankwell.report.table import Cell, Column, Table, visible

DEEPEST = 20  # ranks that are shown of a list
MOST_QUERIES = 1000
MOST_TEXT = 1_200_000  # characters of titles and snippets on the page
MOST_FURTHER = 5  # relevant documents below both tops that are listed
TITLE, SNIPPET, QUERY = 120, 180, 300  # characters
DIGITS = 4
TWO = 2  # queries that an interval needs

Snippets = Callable[[str, Document], Sequence[str]]
"""Makes a document's snippet for a query's text: pieces of text, every second of which is a word of the query."""


def beginning(query: str, document: Document) -> list[str]:  # noqa: ARG001 -- the same for each query
    """The beginning of a document's text without its title."""
    names = [name for name in document.fields if name != "title"]
    return [_cut(document.text(*names), SNIPPET)] if names else []


@dataclass(frozen=True, eq=False)
class Workbench:
    """A part of a page: what changed for each query, by the given measure. `documents` and `texts` may lack any."""

    comparison: Comparison
    judgments: Judgments
    runs: Mapping[str, Run]
    measure: Measure
    texts: Mapping[str, str] = field(default_factory=dict)
    documents: Mapping[str, Document] = field(default_factory=dict)
    snippet: Snippets = beginning
    groups: Mapping[str, Groups] = field(default_factory=dict)

    @property
    def script(self) -> str:
        """The script of the page."""
        return (files("rankwell.report") / "workbench.js").read_text(encoding="utf-8")

    @property
    def style(self) -> str:
        """The style beside the page's own."""
        return (files("rankwell.report") / "workbench.css").read_text(encoding="utf-8")

    @property
    def depth(self) -> int:
        """How many ranks of each list are shown."""
        return min(self.measure.depth or 10, DEEPEST)

    @property
    def rel(self) -> int:
        """The lowest grade that is relevant for the measure."""
        return int(getattr(self.measure, "rel", 1))

    @property
    def others(self) -> list[str]:
        """The runs beside the baseline."""
        return [run for run in self.runs if run != self.comparison.baseline]

    def documents_wanted(self) -> frozenset[str]:
        """The ids of all documents whose texts the page can show."""
        return frozenset(row[0] for query in self._shown for row in self._rows(query)[0])

    def html(self) -> str:
        """A table for each run beside the baseline, and the rankings as data for the script."""
        queries, without = self._queries()
        data = {
            "k": self.depth,
            "rel": self.rel,
            "runs": [visible(name) for name in self.runs],
            "measures": [str(measure) for measure in self._measures],
            "groups": self._groups(),
            "queries": queries,
        }
        about = Text(" ".join(self._about(without)))
        sections = [self._section(run) for run in self.others]
        block = f'<script type="application/json" id="bench-data">{_script_json(data)}</script>'
        return "\n".join([about.html(), *sections, block])

    def _about(self, without: int) -> Iterable[str]:
        """What is shown, and what was left out."""
        yield (
            f"Queries by their difference in {self.measure}, the greatest losses first, and the top {self.depth} of "
            f"both runs. Relevant is a grade of {self.rel} or higher. New: the baseline did not return the document; "
            "gone: the other run did not."
        )
        if self._condensed:
            yield "Unjudged documents are left out of the lists, as the measures leave them out."
        left_out = self.comparison.queries - len(self._shown)
        if left_out:
            yield f"Left out: {left_out:,} queries with smaller differences, to keep the page small."
        if without:
            yield f"Left out: the texts of {without:,} documents at queries with smaller differences."
        if not self.documents:
            yield "Documents are shown by their ids: no texts were given (--collection)."

    @cached_property
    def _qids(self) -> tuple[str, ...]:
        return self.comparison.evaluations[self.comparison.baseline].qids

    @cached_property
    def _measures(self) -> list[Measure]:
        return [measure for measure in self.comparison.measures if measure.is_mean]

    @property
    def _condensed(self) -> bool:
        return self.comparison.evaluations[self.comparison.baseline].unjudged == "remove"

    def _differences(self, run: str) -> Values:
        """Run less baseline for every query."""
        both = [self.comparison.evaluations[name].array(self.measure) for name in (run, self.comparison.baseline)]
        return both[0] - both[1]

    @cached_property
    def _by_size(self) -> list[int]:
        """The places of all queries, those with the greatest difference of any run first."""
        sizes = [np.nan_to_num(np.abs(self._differences(run))) for run in self.others]
        greatest = np.max(sizes, axis=0) if sizes else np.zeros(len(self._qids))
        return [int(place) for place in np.argsort(-greatest, kind="stable")]

    @cached_property
    def _shown(self) -> list[int]:
        """The places of the queries on the page, in the order of the judgments."""
        return sorted(self._by_size[:MOST_QUERIES])

    def _rows(self, query: int) -> tuple[list[tuple[str, int | None, list[int | None]]], int]:
        """The documents of any top, and relevant ones below: id, grade, rank in each run; how many more there are."""
        qid = self._qids[query]
        grades = self.judgments.get(qid, {})
        lists = [ranked(run, qid, grades if self._condensed else None) for run in self.runs.values()]
        ranks = [{docno: rank for rank, docno in enumerate(docnos, 1)} for docnos in lists]
        top = dict.fromkeys(docno for docnos in lists for docno in docnos[: self.depth])
        below = [docno for docno, grade in grades.items() if grade >= self.rel and docno not in top]
        below.sort(key=lambda docno: (-grades[docno], min(of_run.get(docno, len(of_run) + 1) for of_run in ranks)))
        chosen = [*top, *below[:MOST_FURTHER]]
        rows = [(docno, grades.get(docno), [of_run.get(docno) for of_run in ranks]) for docno in chosen]
        return rows, max(0, len(below) - MOST_FURTHER)

    def _queries(self) -> tuple[list[dict[str, Any]], int]:
        """The queries as data for the script, and how many documents there was no room for."""
        made: dict[int, dict[str, Any]] = {}
        room, without = MOST_TEXT, 0
        shown = set(self._shown)
        for query in (place for place in self._by_size if place in shown):
            rows, more = self._rows(query)
            docs: list[list[Any]] = []
            for docno, grade, ranks in rows:
                title, pieces = self._text(query, docno) if room > 0 else ("", [])
                without += room <= 0 and docno in self.documents
                room -= len(title) + sum(map(len, pieces))
                docs.append([visible(docno), grade, ranks, title, pieces])
            made[query] = {"values": self._values(query), "docs": docs, "more": more}
        return [made[query] for query in self._shown], without

    def _text(self, query: int, docno: str) -> tuple[str, list[str]]:
        document = self.documents.get(docno)
        if document is None:
            return "", []
        pieces = self.snippet(self.texts.get(self._qids[query], ""), document)
        return _cut(document.fields.get("title", ""), TITLE), [visible(piece) for piece in pieces]

    def _values(self, query: int) -> list[list[float | None]]:
        """By measure and run; None for a query without value."""
        table = [
            [float(self.comparison.evaluations[run].array(measure)[query]) for run in self.runs]
            for measure in self._measures
        ]
        return [[round(value, DIGITS) if np.isfinite(value) else None for value in row] for row in table]

    @cached_property
    def _judged_groups(self) -> dict[str, Groups]:
        """The groups with judged queries only, and only those groupings that part the queries."""
        known = set(self._qids)
        kept = {
            title: {name: tuple(qid for qid in qids if qid in known) for name, qids in groups.items()}
            for title, groups in self.groups.items()
        }
        return {
            title: {name: qids for name, qids in of.items() if qids} for title, of in kept.items() if any(of.values())
        }

    def _groups(self) -> list[Any]:
        """The groups as data for the script: their queries by place on the page."""
        places = {self._qids[query]: place for place, query in enumerate(self._shown)}
        return [
            [title, [[visible(name), [places[qid] for qid in qids if qid in places]] for name, qids in of.items()]]
            for title, of in self._judged_groups.items()
        ]

    def _section(self, run: str) -> str:
        changes = list(
            query_changes(
                self.judgments,
                self.runs[self.comparison.baseline],
                self.runs[run],
                self.depth,
                rel=self.rel,
                condensed=self._condensed,
            )
        )
        heading = Heading(f"{run} against {self.comparison.baseline}, query by query", 3).html()
        kinds = f'<div class="kinds">\n{TablePart(self._kinds_table(run, changes)).html()}\n</div>'
        groups = "\n".join(TablePart(self._group_table(run, *of)).html() for of in self._judged_groups.items())
        note = "Intervals of groups are not corrected for their number: one of many may look different by chance."
        details = f"<details>\n<summary>Groups of queries</summary>\n{Text(note).html()}\n{groups}\n</details>"
        opening = f'<section class="bench" data-run="{list(self.runs).index(run)}">'
        tools = '<div class="tools" hidden></div>'
        shown = [opening, heading, kinds, *([details] if groups else []), tools]
        return "\n".join([*shown, self._query_table(run, changes), "</section>"])

    def _kinds_table(self, run: str, changes: Sequence[QueryChange]) -> Table:
        """Each kind of change with its queries, and its part in the mean difference; the parts add up to it."""
        differences, better = self._differences(run), 1 if self.measure.higher_is_better else -1
        total = int(np.isfinite(differences).sum()) or 1
        rows: list[list[Cell]] = []
        for kind in KINDS:
            of_kind = np.array([change.kind == kind.name for change in changes], dtype=bool)
            if not of_kind.any():
                continue
            signs = np.array([self._sign(value) * better for value in differences[of_kind]])
            record = f"{(signs > 0).sum()}/{(signs == 0).sum()}/{(signs < 0).sum()}"
            part = f"{float(np.nansum(differences[of_kind])) / total:+.{DIGITS}f}"
            rows.append([kind.name, int(of_kind.sum()), record, part, kind.meaning.format(k=self.depth)])
        figures = [Column("queries"), Column("better/equal/worse"), Column("part")]
        title = f"What changed, and its part in the mean difference in {self.measure}"
        return Table(title, [Column("kind", "left"), *figures, Column("meaning", "left")], rows)

    def _sign(self, difference: float) -> int:
        """1, 0 or -1; what the test counts as rounding is 0, and so is no value."""
        return 0 if not abs(difference) > self.comparison.test.tolerance else int(np.sign(difference))

    def _group_table(self, run: str, title: str, groups: Groups) -> Table:
        rows: list[list[Cell]] = []
        for name, qids in groups.items():
            both = [self._mean(which, qids) for which in (self.comparison.baseline, run)]
            row: list[Cell] = [name, len(qids), *both]
            if self._defined(run, qids) < TWO:
                rows.append([*row, None if None in both else both[1] - both[0], None, None, None])  # type: ignore[operator]
                continue
            found = self.comparison.difference_among(run, self.measure, qids)
            rows.append([*row, found.mean, *found.interval, f"{found.wins}/{found.ties}/{found.losses}"])
        figures = [Column(name, digits=DIGITS) for name in ("baseline", "run", "difference", "from", "to")]
        level = f"{self.comparison.test.level:.0%} intervals"
        columns = [Column("group", "left"), Column("queries"), *figures, Column("better/equal/worse")]
        return Table(f"{title}: {self.measure}, {level}", columns, rows)

    def _places(self, qids: Iterable[str]) -> list[int]:
        return [self._place[qid] for qid in qids]

    @cached_property
    def _place(self) -> dict[str, int]:
        return {qid: place for place, qid in enumerate(self._qids)}

    def _defined(self, run: str, qids: Iterable[str]) -> int:
        return int(np.isfinite(self._differences(run)[self._places(qids)]).sum())

    def _mean(self, run: str, qids: Iterable[str]) -> float | None:
        values = self.comparison.evaluations[run].array(self.measure)[self._places(qids)]
        values = values[np.isfinite(values)]
        return float(values.mean()) if len(values) else None

    def _query_table(self, run: str, changes: Sequence[QueryChange]) -> str:
        """All shown queries, the greatest loss first."""
        better = 1 if self.measure.higher_is_better else -1
        gains = np.nan_to_num(self._differences(run) * better)
        order = sorted(enumerate(self._shown), key=lambda pair: gains[pair[1]])
        rows = "\n".join(self._query_row(run, at, changes[query], query) for at, query in order)
        names = ("query", self.comparison.baseline, run, "difference", "kind", "what happened")
        sides = ("", " class=r", " class=r", " class=r", "", "")
        head = "".join(
            f"<th scope=col{side}>{escape(visible(name))}</th>" for name, side in zip(names, sides, strict=True)
        )
        label = escape(visible(f"{run} against {self.comparison.baseline}: each query by {self.measure}"))
        return (
            f'<div class="scroll" role="region" aria-label="{label}" tabindex="0">\n<table class="queries">\n'
            f"<caption>{label}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n</div>"
        )

    def _query_row(self, run: str, at: int, change: QueryChange, query: int) -> str:
        both = [
            float(self.comparison.evaluations[name].array(self.measure)[query])
            for name in (self.comparison.baseline, run)
        ]
        difference = both[1] - both[0]
        better = 1 if self.measure.higher_is_better else -1
        outcome = ("equal", "better", "worse")[self._sign(difference) * better]
        name = f'<span class="id">{escape(visible(change.qid))}</span>'
        text = _cut(self.texts.get(change.qid, ""), QUERY)
        figures = [_figure(value) for value in both]
        moved = "-" if not np.isfinite(difference) else f"{difference:+.{DIGITS}f}"
        return (
            f'<tr data-query="{at}" data-outcome="{outcome}"><th scope=row>{name} {escape(text)}</th>'
            + "".join(f"<td class=r>{figure}</td>" for figure in figures)
            + f'<td class="r {outcome}">{moved}</td><td class=n>{escape(change.kind)}</td>'
            + f"<td>{escape(change.why)}</td></tr>"
        )


def _figure(value: float) -> str:
    return f"{value:.{DIGITS}f}" if np.isfinite(value) else "-"


def _cut(text: str, characters: int) -> str:
    """Text on one line, at most that long, with control characters made visible."""
    line = " ".join(text[: characters * 2].split())
    return visible(line if len(line) <= characters else f"{line[: characters - 1]}…")


def _script_json(data: object) -> str:
    """JSON for a script element: no text in it can end the element or start a comment."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
