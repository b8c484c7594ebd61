"""The report of a study: one HTML page, with twins in Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from rankwell.core import RankwellError, atomic_write, fingerprint
from rankwell.plots import Picture
from rankwell.report import Column, Heading, Note, Page, Part, PicturePart, Table, TablePart, Text
from rankwell.report.table import Cell
from rankwell.studies.cells import Cell as StudyCell
from rankwell.studies.cells import CellStore, write_json
from rankwell.studies.cost import duration
from rankwell.studies.drawing import drawn
from rankwell.studies.figures import ResultTable
from rankwell.studies.jobs import IndexJob
from rankwell.studies.plan import Plan
from rankwell.studies.report_parts import Anchor, CellPart, LinkedTable, facts_of_cell
from rankwell.studies.report_tables import report_table
from rankwell.studies.results import results
from rankwell.studies.runner import StudyFolder, versions

HTML, MARKDOWN, LATEX, NUMBERS, FIGURES = "report.html", "report.md", "report.tex", "results.json", "figures"
STARS = "* p < .05, ** p < .01, *** p < .001, **** p < .0001"
DAGGERS = "† p < .05"
SPECIAL = re.compile(r"([\\&%$#_{}~^])")
WRITTEN = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


@dataclass(frozen=True)
class Report:
    """Everything that a report says, whatever it is written in."""

    folder: StudyFolder
    plan: Plan
    tables: Sequence[ResultTable]
    pictures: Mapping[str, Picture]

    @property
    def title(self) -> str:
        """The study's, with its budget."""
        budget = self.plan.file.budget
        return self.plan.file.study.title + (f" (budget {budget})" if budget else "")

    @property
    def store(self) -> CellStore:
        """The cells."""
        return self.folder.store

    def introduction(self) -> Iterator[str]:
        """What the study asks, and what was taken for what."""
        yield self.plan.file.study.about
        for chosen in self.plan.data:
            if not chosen.is_real:
                meant = ", ".join(chosen.stands_for)
                yield (
                    f"{chosen.name} stands in for {meant}: another collection, so look at the order of the rows and "
                    "not at the values when you compare with published figures."
                )
        if self.plan.missing:
            yield f"Not here, and left out: {', '.join(self.plan.missing)}."
        made = {table.name for table in self.tables}
        for table in self.plan.file.study.table:
            if table.name not in made:
                why = "; ".join(dict.fromkeys(left.why for left in self.plan.left_out if left.table == table.name))
                yield f'There is no table "{table.title}": {why or "nothing to make it of"}.'

    def explained(self, table: ResultTable) -> Iterator[str]:
        """What a reader should know before a table."""
        yield table.about
        yield f"After {table.after}." if table.after else ""
        published = any(f.published is not None for row in table.rows for f in row.figures.values())
        yield f"Published figures: {table.published_on}." if published and table.published_on else ""
        yield table.differences if published else ""
        yield table.advice

    def marks(self, table: ResultTable) -> str:
        """How significance is marked."""
        study = self.plan.file.study
        how = {"stars": STARS, "dagger": DAGGERS}.get(study.marks, "")
        corrected = table.corrected and study.correction != "none"
        said = f"corrected ({study.correction})" if corrected else "not corrected for the number of tests"
        return f"{how}: {study.test}-test against {table.against}, {said}" if how else ""

    def data_table(self) -> Table:
        """What was run on which data."""
        columns = [Column("collection", "left"), Column("stands for", "left"), Column("documents"), Column("queries")]
        columns += [Column("judgments"), Column("data fingerprint", "left")]
        rows: list[list[Cell]] = []
        for chosen in self.plan.data:
            index = StudyCell(IndexJob(chosen), (), "")  # two collections of the same data have one index
            if index.key not in self.plan.cells:
                continue
            counts = self.store.record(index.key)["counts"]
            stands = "itself" if chosen.is_real else ", ".join(chosen.stands_for)
            numbers = [counts[name] for name in ("documents", "queries", "judgments")]
            rows.append([chosen.name, stands, *numbers, chosen.facts.fingerprint[:20]])
        return Table("Data", columns, rows)

    def versions_table(self) -> Table:
        """What it was run with."""
        return Table("Versions", [Column("what", "left"), Column("version", "left")], list(versions().items()))

    def seconds(self) -> float:
        """How long all cells took, each for itself."""
        return float(sum(self.store.record(key)["seconds"] for key in self.plan.cells))

    def repeat(self) -> str:
        """The command that makes it again."""
        settings = self.folder.settings()
        parts = [f"rankwell study run {settings.name}"]
        parts += [f"--budget {settings.budget}"] if settings.budget else []
        parts += ["--data FOLDER"] if settings.data else []
        parts += [f"--collection '{name}={source}'" for name, source in settings.collections.items()]
        parts += [f"--vary {name}={','.join(values)}" for name, values in settings.vary.items()]
        return " ".join(parts)


def write_report(folder: StudyFolder, plan: Plan) -> Report:
    """Measure all rows and write the report, its twins, its figures and, last of all, the numbers as JSON."""
    tables = results(plan, folder.store, folder.settings().latency)
    found = {
        f"{table.anchor}-{place}": drawn(drawing) for table in tables for place, drawing in enumerate(table.drawings)
    }
    pictures = {name: picture for name, picture in found.items() if picture is not None}
    report = Report(folder, plan, tables, pictures)
    for name, picture in pictures.items():
        picture.save(folder.path / FIGURES / f"{name}.svg")
        picture.save(folder.path / FIGURES / f"{name}.pdf")
    for name, text in ((HTML, page(report).html()), (MARKDOWN, markdown(report)), (LATEX, latex(report))):
        with atomic_write(folder.path / name) as file:
            file.write(text.encode())
    write_json(folder.path / NUMBERS, numbers(report))
    return report


def numbers(report: Report) -> dict[str, Any]:
    """All figures for programs."""
    settings = report.folder.settings()
    told = {
        "study": settings.name,
        "title": report.title,
        "budget": settings.budget,
        "seed": report.plan.file.study.seed,
    }
    data = {chosen.name: chosen.facts.fingerprint for chosen in report.plan.data}
    left = [vars(row) for row in report.plan.left_out]
    tables = [table.plain() for table in report.tables]
    told["made_of"] = _made_of(report.folder, report.plan)
    return told | {"data": data, "versions": versions(), "tables": tables, "left_out": left}


def page(report: Report) -> Page:
    """The HTML page."""
    parts: list[Part] = [Text(text) for text in report.introduction() if text]
    for table in report.tables:
        parts += [Anchor(table.anchor), Heading(f"{table.title}: {table.collection}")]
        parts += [Text(text) for text in report.explained(table) if text]
        shown, links = report_table(table)
        parts.append(LinkedTable(shown, links))
        if any(figure.mark for row in table.rows for figure in row.figures.values()):
            parts.append(Text(report.marks(table)))
        parts += [Note(note) for note in table.notes]
        parts += [PicturePart(picture) for name, picture in report.pictures.items() if _belongs(name, table)]
    parts += [Heading("How it was run"), TablePart(report.data_table()), TablePart(report.versions_table())]
    parts.append(Text(f"All cells took {duration(report.seconds())}, one after the other. Again: {report.repeat()}"))
    parts.append(Heading("Where each number comes from"))
    used = {figure.cell for table in report.tables for row in table.rows for figure in row.figures.values()}
    for key in report.plan.cells:
        if key[:20] in used:
            record = report.store.record(key)
            facts = facts_of_cell(record, str(report.folder.path), report.plan.file.study.seed)
            parts.append(CellPart(record, facts))
    return Page(report.title, parts, report.repeat())


def markdown(report: Report) -> str:
    """The same in Markdown; figures lie beside it."""
    parts = [f"# {report.title}", *filter(None, report.introduction())]
    for table in report.tables:
        parts += [f"## {table.title}: {table.collection}", *filter(None, report.explained(table))]
        parts += [report_table(table)[0].render("md"), *(f"> {note}" for note in table.notes)]
        parts += [
            f"![{report.pictures[name].alt}]({FIGURES}/{name}.svg)" for name in report.pictures if _belongs(name, table)
        ]
    parts += ["## How it was run", report.data_table().render("md"), report.versions_table().render("md")]
    parts.append(f"All cells took {duration(report.seconds())}. Again: `{report.repeat()}`")
    return "\n\n".join(part.strip() for part in parts) + "\n"


def latex(report: Report) -> str:
    """The same as a LaTeX document."""
    parts = [r"\documentclass{article}", r"\usepackage{booktabs,graphicx}", r"\begin{document}"]
    parts += [rf"\section*{{{escaped(report.title)}}}", *(escaped(text) for text in report.introduction() if text)]
    for table in report.tables:
        parts.append(rf"\subsection*{{{escaped(f'{table.title}: {table.collection}')}}}")
        parts += [escaped(text) for text in report.explained(table) if text]
        parts.append(report_table(table)[0].render("latex"))
        parts += [rf"\emph{{{escaped(note)}}}" for note in table.notes]
        parts += [
            rf"\includegraphics[width=\linewidth]{{{FIGURES}/{name}.pdf}}"
            for name in report.pictures
            if _belongs(name, table)
        ]
    parts += [
        r"\subsection*{How it was run}",
        report.data_table().render("latex"),
        report.versions_table().render("latex"),
    ]
    return "\n\n".join([*parts, r"\end{document}"]) + "\n"


def escaped(text: str) -> str:
    """Plain words for LaTeX."""
    return SPECIAL.sub(lambda found: WRITTEN.get(found[1], f"\\{found[1]}"), text)


def _belongs(picture: str, table: ResultTable) -> bool:
    return picture.rpartition("-")[0] == table.anchor


def read_numbers(folder: Path) -> dict[str, Any]:
    """The figures of a study that was run."""
    file = folder / NUMBERS
    try:
        return dict(orjson.loads(file.read_bytes()))
    except (OSError, ValueError) as error:
        raise RankwellError(f"{file}: expected the results of a study that was run, found none: {error}") from error


def is_reported(folder: StudyFolder, plan: Plan) -> bool:
    """Whether there is a report, written to its end, of these cells and of the study as it is now."""
    try:
        return read_numbers(folder.path).get("made_of") == _made_of(folder, plan)
    except RankwellError:
        return False


def _made_of(folder: StudyFolder, plan: Plan) -> str:
    """What a report depends on: the study's words, its cells, and the limit that advice is given for."""
    return fingerprint([plan.file.text, plan.file.budget, sorted(plan.cells), folder.settings().latency])


def advices(folder: Path) -> list[str]:
    """What the tables of a study that was run recommend."""
    return [table["advice"] for table in read_numbers(folder)["tables"] if table.get("advice")]
