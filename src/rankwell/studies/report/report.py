"""The report of a study as HTML, Markdown and LaTeX."""

from __future__ import annotations

import logging
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson

from rankwell.core import MissingExtraError, RankwellError, atomic_write, fingerprint
from rankwell.evaluation.significance import mark
from rankwell.report import Column, Heading, Note, Page, Part, PicturePart, Table, TablePart, Text
from rankwell.report.pictures import Picture
from rankwell.report.table import Cell, Marked, cell_text, visible
from rankwell.studies.plan.cells import SHORT, CellStore, write_json
from rankwell.studies.plan.cells import Cell as StudyCell
from rankwell.studies.plan.cost import duration
from rankwell.studies.plan.plan import Plan
from rankwell.studies.report.finished import Figure, ResultTable
from rankwell.studies.report.tables import results
from rankwell.studies.run.jobs import RUN, IndexJob
from rankwell.studies.run.runner import StudyFolder, versions

logger = logging.getLogger(__name__)
ANCHOR = "cell-"  # begins the name of a cell's part of the page, for links


@dataclass(frozen=True)
class Target:
    """A target of links, with content that is HTML already."""

    name: str
    tag: str = "div"
    content: str = ""
    after: str = ""

    def html(self) -> str:
        """An element with the id, and what follows it."""
        return f'<{self.tag} id="{escape(self.name)}">{self.content}</{self.tag}>{self.after}'


def cell_part(record: Mapping[str, Any], folder: str, seed: int) -> Target:
    """The facts that trace a number to its cell: run file, configuration, data, seed, and the command that shows it."""
    short = str(record["key"])[:SHORT]
    configuration = record["configuration"]
    facts = {
        "cell": short,
        "file": f"cells/{short}/{RUN if record['kind'] == 'run' else 'cell.json'}",
        "configuration": orjson.dumps(configuration).decode(),
        "data fingerprint": str(configuration.get("data", "")),
        "run fingerprint": str(record.get("run", "")),
        "seed": str(seed),
        "made of": ", ".join(str(key)[:SHORT] for key in record["parents"]),
        "seconds": f"{record['seconds']:.1f}",
        "finished": str(record["finished"]),
        "see it": f"rankwell study show {folder} --cell {short}",
    }
    rows = "\n".join(
        f"<dt>{escape(name)}</dt><dd><code>{escape(visible(value))}</code></dd>"
        for name, value in facts.items()
        if value
    )
    title = escape(visible(str(record["title"])))
    return Target(f"{ANCHOR}{short}", "h3", title, f"\n<dl>\n{rows}\n</dl>")


Links = dict[tuple[int, int], str]


def report_table(result: ResultTable) -> tuple[Table, Links]:
    """A table for any output, and its links to cells of the study."""
    columns = [Column("row", "left")]
    parts: list[tuple[str, str]] = []  # the column of the result, and which part of its figures
    for name in result.columns:
        figures = [row.figures[name] for row in result.rows if name in row.figures]
        columns.append(Column(name, digits=max((figure.digits for figure in figures), default=4)))
        parts.append((name, "value"))
        if any(figure.low is not None for figure in figures):
            columns.append(Column(f"{name} 95 %", "left"))
            parts.append((name, "interval"))
        if any(figure.published is not None for figure in figures):
            columns.append(Column(f"{name} published", digits=max(f.digits for f in figures)))
            parts.append((name, "published"))
    rows: list[list[Cell]] = []
    links: Links = {}
    for place, row in enumerate(result.rows):
        cells: list[Cell] = [row.name]
        for number, (name, part) in enumerate(parts, 1):
            figure = row.figures.get(name)
            cells.append(None if figure is None else _cell(figure, part, columns[number].digits))
            if figure is not None and figure.cell is not None and part == "value":
                links[place, number] = f"{ANCHOR}{figure.cell}"
        rows.append(cells)
    return Table(f"{result.title}: {result.collection}, {result.queries:,} queries", columns, rows), links


def _cell(figure: Figure, part: str, digits: int | None) -> Cell:
    """A number with the column's digits, or with its own where others have more."""
    if part == "interval":
        return None if figure.low is None or figure.high is None else f"{figure.low:.3f} to {figure.high:.3f}"
    value, mark = (figure.published, "") if part == "published" else (figure.value, figure.mark)
    if value is None or (not mark and figure.digits == digits):
        return value
    return Marked(cell_text(value, Column("", digits=figure.digits)) + mark, value)


HTML, MARKDOWN, LATEX, NUMBERS, FIGURES = "report.html", "report.md", "report.tex", "results.json", "figures"
SPECIAL = re.compile(r"([\\&%$#_{}~^])")
WRITTEN = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


@dataclass(frozen=True)
class Report:
    """The content of a report, for all formats."""

    folder: StudyFolder
    plan: Plan
    tables: Sequence[ResultTable]
    pictures: Mapping[str, Picture]

    @property
    def title(self) -> str:
        """The study's title with its budget."""
        budget = self.plan.file.budget
        return self.plan.file.study.title + (f" (budget {budget})" if budget else "")

    @property
    def store(self) -> CellStore:
        """The store of finished cells."""
        return self.folder.store

    def introduction(self) -> Iterator[str]:
        """The study's question, and which collections stand for which."""
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
        """The paragraphs before a table."""
        yield table.about
        yield f"After {table.after}." if table.after else ""
        published = any(f.published is not None for row in table.rows for f in row.figures.values())
        yield f"Published figures: {table.published_on}." if published and table.published_on else ""
        yield table.differences if published else ""
        yield table.advice

    def marks(self, table: ResultTable) -> str:
        """A sentence on the significance marks of a table."""
        study = self.plan.file.study
        how = mark(study.marks).legend
        corrected = table.corrected and study.correction != "none"
        said = f"corrected ({study.correction})" if corrected else "not corrected for the number of tests"
        return f"{how}: {study.test}-test against {table.against}, {said}" if how else ""

    def data_table(self) -> Table:
        """A table of the collections and their sizes."""
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
        """A table of the versions of programs and libraries."""
        return Table("Versions", [Column("what", "left"), Column("version", "left")], list(versions().items()))

    def pictures_of(self, table: ResultTable) -> list[tuple[str, Picture]]:
        """The pictures of a table, with their names."""
        return [of for of in self.pictures.items() if of[0].rpartition("-")[0] == table.anchor]

    def duration(self) -> str:
        """The time of all cells, one after the other."""
        return duration(float(sum(self.store.record(key)["seconds"] for key in self.plan.cells)))

    def repeat(self) -> str:
        """The command that repeats the study."""
        settings = self.folder.settings()
        shipped = (files("rankwell.studies") / "shipped" / f"{settings.name}.toml").is_file()
        parts = [f"rankwell study run {settings.name if shipped else shlex.quote(str(self.folder.path))}"]
        parts += [f"--budget {settings.budget}"] if settings.budget else []
        parts += ["--data FOLDER"] if settings.data else []
        parts += [f"--collection '{name}={source}'" for name, source in settings.collections.items()]
        parts += [f"--vary {name}={','.join(values)}" for name, values in settings.vary.items()]
        return " ".join(parts)


def write_report(folder: StudyFolder, plan: Plan) -> Report:
    """Evaluate all rows and write the report in all formats, its figures and, at the end, the numbers as JSON."""
    tables = results(plan, folder.store, folder.settings().latency)
    pictures: dict[str, Picture] = {}
    try:
        for table in tables:
            pictures |= {f"{table.anchor}-{place}": draw() for place, draw in enumerate(table.drawings)}
    except MissingExtraError as error:  # without matplotlib
        logger.warning("the report has no figures: %s", error)
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
    """All figures for JSON."""
    settings = report.folder.settings()
    return {
        "study": settings.name,
        "title": report.title,
        "budget": settings.budget,
        "seed": report.plan.file.study.seed,
        "made_of": _made_of(report.folder, report.plan),
        "data": {chosen.name: chosen.facts.fingerprint for chosen in report.plan.data},
        "versions": versions(),
        "tables": [table.plain() for table in report.tables],
        "left_out": [vars(row) for row in report.plan.left_out],
    }


def page(report: Report) -> Page:
    """The report as an HTML page."""
    parts: list[Part] = [Text(text) for text in report.introduction() if text]
    for table in report.tables:
        parts += [Target(table.anchor), Heading(f"{table.title}: {table.collection}")]
        parts += [Text(text) for text in report.explained(table) if text]
        parts.append(TablePart(*report_table(table)))
        if any(figure.mark for row in table.rows for figure in row.figures.values()):
            parts.append(Text(report.marks(table)))
        parts += [Note(note) for note in table.notes]
        parts += [PicturePart(picture) for _, picture in report.pictures_of(table)]
    parts += [Heading("How it was run"), TablePart(report.data_table()), TablePart(report.versions_table())]
    parts.append(Text(f"All cells took {report.duration()}, one after the other. Again: {report.repeat()}"))
    parts.append(Heading("Where each number comes from"))
    used = {figure.cell for table in report.tables for row in table.rows for figure in row.figures.values()}
    folder, seed = str(report.folder.path), report.plan.file.study.seed
    parts += [cell_part(report.store.record(key), folder, seed) for key in report.plan.cells if key[:SHORT] in used]
    return Page(report.title, parts, report.repeat())


@dataclass(frozen=True)
class Markup:
    """How the parts of a report are written as text."""

    output: str  # of tables
    title: Callable[[str], str]
    heading: Callable[[str], str]
    note: Callable[[str], str]
    picture: Callable[[str, Picture], str]
    text: Callable[[str], str] = str

    def parts(self, report: Report) -> Iterator[str]:
        """The parts of the report, with figures in files beside it."""
        yield self.title(report.title)
        yield from (self.text(text) for text in report.introduction() if text)
        for table in report.tables:
            yield self.heading(f"{table.title}: {table.collection}")
            yield from (self.text(text) for text in report.explained(table) if text)
            yield report_table(table)[0].render(self.output)
            yield from map(self.note, table.notes)
            yield from (self.picture(name, picture) for name, picture in report.pictures_of(table))
        yield self.heading("How it was run")
        yield from (table.render(self.output) for table in (report.data_table(), report.versions_table()))


def escaped(text: str) -> str:
    """Text escaped for LaTeX."""
    return SPECIAL.sub(lambda match: WRITTEN.get(match[1], f"\\{match[1]}"), text)


IN_MARKDOWN = Markup(
    "md", "# {}".format, "## {}".format, "> {}".format, lambda name, of: f"![{of.alt}]({FIGURES}/{name}.svg)"
)
IN_LATEX = Markup(
    "latex",
    lambda text: rf"\section*{{{escaped(text)}}}",
    lambda text: rf"\subsection*{{{escaped(text)}}}",
    lambda text: rf"\emph{{{escaped(text)}}}",
    lambda name, _: rf"\includegraphics[width=\linewidth]{{{FIGURES}/{name}.pdf}}",
    escaped,
)


def markdown(report: Report) -> str:
    """The report in Markdown."""
    took = f"All cells took {report.duration()}. Again: `{report.repeat()}`"
    return "\n\n".join(part.strip() for part in (*IN_MARKDOWN.parts(report), took)) + "\n"


def latex(report: Report) -> str:
    """The report as a LaTeX document."""
    begin = (r"\documentclass{article}", r"\usepackage{booktabs,graphicx}", r"\begin{document}")
    return "\n\n".join([*begin, *IN_LATEX.parts(report), r"\end{document}"]) + "\n"


def read_numbers(folder: Path) -> dict[str, Any]:
    """Read the figures of a finished study."""
    file = folder / NUMBERS
    try:
        return dict(orjson.loads(file.read_bytes()))
    except (OSError, ValueError) as error:
        raise RankwellError(f"{file}: expected the results of a study that was run, found none: {error}") from error


def is_reported(folder: StudyFolder, plan: Plan) -> bool:
    """Whether there is a complete report of these cells and of the current study."""
    try:
        return read_numbers(folder.path).get("made_of") == _made_of(folder, plan)
    except RankwellError:
        return False


def _made_of(folder: StudyFolder, plan: Plan) -> str:
    """Fingerprint of what a report depends on: the study's texts, its cells, and the latency limit."""
    return fingerprint([plan.file.text, plan.file.budget, sorted(plan.cells), folder.settings().latency])


def advices(folder: Path) -> list[str]:
    """The advice in the tables of a finished study."""
    return [table["advice"] for table in read_numbers(folder)["tables"] if table.get("advice")]
