"""Read a study file, and check all that can be checked without data and models."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from rankwell.core import RankwellError, fingerprint
from rankwell.evaluation import parse_measure
from rankwell.studies.file import study as records
from rankwell.studies.file.errors import EntryError, KeyPath, KeyPositions, LineError, StudyError, unknown
from rankwell.studies.file.study import CollectionEntry, Row, Study, TableEntry
from rankwell.studies.recipes import RECIPES, Recipe, recipe_of
from rankwell.studies.steps import STEPS, Chain, LineKind, chain_of
from rankwell.studies.steps.kinds import RERANKERS, cut_before_reranking

SYNTAX = re.compile(r"(?P<message>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)")
NAME = re.compile(r"[\w-]+")
NONE = "none"
EVERY = "*"  # all rows, or all collections


@dataclass(frozen=True)
class ExperimentFile:
    """A study with the file it was read from; errors about it point there."""

    name: str
    study: Study
    text: str = field(repr=False)
    path: str
    budget: str | None = None
    wished: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # values of variables in place of the file's

    @property
    def vary(self) -> dict[str, tuple[str, ...]]:
        """The values of each variable: the user's, else the budget's, else the study's."""
        smaller = self.study.budget[self.budget].vary if self.budget else {}
        return {**self.study.vary, **smaller, **self.wished}

    def varying(self, wished: Mapping[str, Sequence[str]]) -> ExperimentFile:
        """The same study with other values of its variables."""
        for name in wished:
            if name not in self.study.vary:
                raise StudyError(self.path, unknown("a variable of [vary]", name, self.study.vary))
        varied = replace(self, wished={name: tuple(values) for name, values in wished.items()})
        try:
            varied.models()
            _check_tables(varied)
        except EntryError as error:
            raise StudyError(self.path, error.message) from error
        return varied

    @property
    def collections(self) -> tuple[str, ...]:
        """The study's own collections, without those that replace them."""
        return tuple(entry.name for entry in self.study.collection if entry.instead_of is None)

    def within(self, budget: str | None) -> ExperimentFile:
        """The same study within a budget that it names."""
        if budget is not None and budget not in self.study.budget:
            raise StudyError(self.path, unknown("a budget", budget, self.study.budget))
        sources = self.study.budget[budget].sources if budget else {}
        entries = tuple(replace(one, source=sources.get(one.name, one.source)) for one in self.study.collection)
        return replace(self, budget=budget, study=replace(self.study, collection=entries))

    def rows(self, table: TableEntry) -> list[Row]:
        """The rows of a table for all values of the variables."""
        return [row for name, line in table.rows.items() for row in records.expanded(name, line, self.vary)]

    def models(self) -> dict[str, Recipe]:
        """The models that the study trains, for all values of the variables."""
        recipes = {}
        for name, line in self.study.models.items():
            for row in records.expanded(name, line, self.vary, ("models", name)):
                try:
                    recipes[row.name] = recipe_of(row.line, self.collections)
                except LineError as error:
                    raise self.line_error(error, ("models", name), row.line) from error
        return recipes

    def chain(self, table: TableEntry, row: Row, collection: CollectionEntry | None = None) -> Chain:
        """The steps of a row, on a collection that may have pipelines of its own."""
        named = {**self.study.pipelines, **(collection.pipelines if collection else {})}
        try:
            return chain_of(row.line, named)
        except LineError as error:
            path = ("table", self.study.table.index(table), "rows", row.written)
            raise self.line_error(error, path, row.line) from error

    def warnings(self) -> list[str]:
        """What may mislead in the study's tables, a sentence each."""
        return [f"{table.title}: {said}" for table in self.study.table for said in self.cut_rows(table)]

    def cut_rows(self, table: TableEntry) -> list[str]:
        """Warnings about rows that lose what `top N` cuts off, and measures that look deeper than N.

        The table of the kind depths has none: the run before re-ranking is cut there as well.
        """
        if table.kind == records.DEPTHS:
            return []
        depths = {str(of): of.depth for of in (parse_measure(records.measure_on(m, 1)) for m in table.measures)}
        cuts: dict[int, list[str]] = {}
        for row in self.rows(table):
            cut = cut_before_reranking(self.chain(table, row))
            cuts.setdefault(cut or 0, []).extend([row.name] if cut else [])
        return [
            f"{', '.join(rows)}: top {cut} throws away what stands below before it is re-ranked, and "
            f"{', '.join(deeper)} {'looks' if len(deeper) == 1 else 'look'} deeper; depth={cut} in the step that "
            "re-ranks keeps it"
            for cut, rows in sorted(cuts.items())
            if rows and (deeper := [name for name, depth in depths.items() if depth is None or depth > cut])
        ]

    def line_error(self, error: LineError, path: KeyPath, line: str) -> StudyError:
        """The error with its place in the file, exact where the line is written there literally."""
        positions, written = KeyPositions(self.text), cast("Any", tomllib.loads(self.text))
        for part in path:
            written = written[part]
        exact = positions.text_at(path)
        if exact is None or "$" in line or written != line:
            at = positions.of(path)
            return StudyError(self.path, f'in "{" ".join(line.split())}": {error.message}', *(at or ()))
        *above, left = line[: error.place].split("\n")
        return StudyError(self.path, error.message, exact[0] + len(above), len(left) + (1 if above else exact[1]))

    def fingerprint(self) -> str:
        """Fingerprint of the study's content, independent of its layout in the file."""
        return fingerprint([self.study, self.budget, *([self.wished] if self.wished else [])])


def read_study(path: Path | str) -> ExperimentFile:
    """Read a study file."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise StudyError(path, f"expected a study file, found nothing to read: {reason}") from error
    return parse_study(text, str(path), file.stem)


def parse_study(text: str, path: str = "study", name: str = "study") -> ExperimentFile:
    """Parse the text of a study file."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = SYNTAX.fullmatch(str(error))
        at = (int(match["line"]), int(match["column"])) if match and match["line"] else ()
        raise StudyError(path, f"not TOML: {match['message'] if match else error}", *at) from error
    except RecursionError as error:
        raise StudyError(path, "not TOML: brackets within brackets without end") from error
    try:
        file = ExperimentFile(name, records.read_record(Study, content), text, path)
        _check_collections(file.study.collection)
        _check_pipelines(file)
        file.models()
        _check_tables(file)
        _check_budgets(file.study)
    except EntryError as error:
        where = ".".join(map(str, error.path))
        message = f"{where}: {error.message}" if where else error.message
        raise StudyError(path, message, *(KeyPositions(text).of(error.path) or ())) from error
    return file


def _check_budgets(study: Study) -> None:
    known = [entry.name for entry in study.collection]
    for name, budget in study.budget.items():
        for collection in budget.sources:
            if collection not in known:
                raise EntryError(unknown("a collection", collection, known), ("budget", name, "sources", collection))
        for variable in budget.vary:
            if variable not in study.vary:
                path = ("budget", name, "vary", variable)
                raise EntryError(unknown("a variable of [vary]", variable, study.vary), path)


def _check_collections(entries: Sequence[CollectionEntry]) -> None:
    if not entries:
        raise EntryError("expected a collection or more, found none", ("collection",))
    for place, name in _twice([entry.name for entry in entries]):
        raise EntryError(f"expected each name once, found {name} again", ("collection", place, "name"))
    real = [entry.name for entry in entries if entry.instead_of is None]
    kept = {entry.name: entry.measured for entry in entries}
    for place, entry in enumerate(entries):
        if entry.instead_of is not None and entry.instead_of not in (*real, records.ANY):
            at = ("collection", place, "instead_of")
            raise EntryError(unknown("a collection", entry.instead_of, [*real, records.ANY]), at)
        if entry.measured != kept.get(entry.instead_of or "", entry.measured):
            expected = f"measured = {str(not entry.measured).lower()}, as {entry.instead_of} has it"
            raise EntryError(f"expected {expected}, found {str(entry.measured).lower()}", ("collection", place))
        if not entry.measured and (entry.train is not None or entry.held_back):
            wrong = "train" if entry.train is not None else "held_back"
            raise EntryError('expected "split", because all of it is there to train on', ("collection", place, wrong))
    if not any(entry.measured for entry in entries):
        raise EntryError("expected a collection that is measured, found none", ("collection", 0, "measured"))


def _check_pipelines(file: ExperimentFile) -> None:
    tables: list[tuple[KeyPath, Mapping[str, str]]] = [(("pipelines",), file.study.pipelines)]
    tables += [
        (("collection", place, "pipelines"), {**file.study.pipelines, **entry.pipelines})
        for place, entry in enumerate(file.study.collection)
        if entry.pipelines
    ]
    for path, named in tables:
        for name, line in named.items():
            if "$" in line:
                raise EntryError("expected a line without $names, which belong into rows", (*path, name))
            try:
                chain_of(line, named)
            except LineError as error:
                raise file.line_error(error, (*path, name), line) from error


def _check_tables(file: ExperimentFile) -> None:
    study = file.study
    if not study.table:
        raise EntryError("expected a table or more, found none", ("table",))
    for place, name in _twice([table.name for table in study.table]):
        raise EntryError(f"expected each name once, found {name} again", ("table", place, "name"))
    known = [entry.name for entry in study.collection if entry.instead_of is None and entry.measured] or [
        entry.name for entry in study.collection
    ]
    for place, table in enumerate(study.table):
        path: KeyPath = ("table", place)
        if not NAME.fullmatch(table.name):
            raise EntryError("expected letters, digits, - and _", (*path, "name"))
        _check_named(table, known, path)
        _check_measures(table, path)
        if table.kind == records.CHOSEN:
            others = [other for other in study.table if other.kind == records.COMPARISON]
            tables = [other.name for other in others if other.columns == "measures"]
            if table.of is None:
                raise EntryError('expected a key "of", because the table is of the kind chosen, found none', path)
            if table.of not in tables:
                raise EntryError(unknown("a table with a column for each measure", table.of, tables), (*path, "of"))
        _check_rows(file, table, path)


def _check_named(table: TableEntry, known: Sequence[str], path: KeyPath) -> None:
    for key, names in (("collections", table.collections), ("average", table.average)):
        for number, name in enumerate(names):
            if name not in known and (key, name) != ("average", EVERY):
                raise EntryError(unknown("a collection that is no stand-in", name, known), (*path, key, number))


def _check_measures(table: TableEntry, path: KeyPath) -> None:
    if not table.measures and table.kind not in (*records.UNMEASURED, *records.OF_DATA):
        raise EntryError('expected a key "measures" with one measure or more, found none', path)
    for number, measure in enumerate(table.measures):
        try:
            parse_measure(records.measure_on(measure, 1))
        except RankwellError as error:
            raise EntryError(str(error), (*path, "measures", number)) from error
    if table.kind == records.DEPTHS and not table.depths:
        raise EntryError('expected a key "depths", because the table is of the kind depths, found none', path)
    if table.columns == "collections" and (len(table.measures) != 1 or table.kind != records.COMPARISON):
        raise EntryError('expected one measure where the columns are "collections"', (*path, "measures"))
    if table.average and table.columns != "collections":
        raise EntryError('expected columns = "collections" in a table with an average', (*path, "average"))


def _check_rows(file: ExperimentFile, table: TableEntry, path: KeyPath) -> None:
    names: list[str] = []
    for written, line in table.rows.items():
        at = (*path, "rows", written)
        rows = records.expanded(written, line, file.vary, at)
        _check_chains(file, table, rows, at)
        names += [row.name for row in rows]
    rowless = table.kind in (records.CHOSEN, *records.OF_DATA)
    if rowless == bool(names):
        expected = f"no rows, because the table is of the kind {table.kind}" if rowless else "a row or more"
        raise EntryError(f"expected {expected}, found {'some' if rowless else 'none'}", (*path, "rows"))
    for _, name in _twice(names):
        raise EntryError(f"expected each row once, found {name} again", (*path, "rows"))
    if table.baseline not in (None, NONE, *names):
        raise EntryError(unknown("a row", str(table.baseline), names), (*path, "baseline"))
    if table.share and table.baseline == NONE:
        raise EntryError("expected a baseline that rows have a share of, found none", (*path, "baseline"))
    for number, name in enumerate(table.optional):
        if name not in table.rows and name != "*":
            raise EntryError(unknown('a row, or "*" for all', name, table.rows), (*path, "optional", number))


def _check_chains(file: ExperimentFile, table: TableEntry, rows: Sequence[Row], at: KeyPath) -> None:
    """Check that lines can be parsed, and fit the kind of the table."""
    for row in rows:
        chain = file.chain(table, row)
        if table.kind == records.DEPTHS and not any(step.kind in RERANKERS for step in chain[1:]):
            raise EntryError("expected a line that re-ranks, because the table is of the kind depths", at)
        if table.x is not None:
            try:
                float(row.values[table.x])
            except KeyError:
                raise EntryError(f"expected ${table.x} in every row, because it is the x of the figure", at) from None
            except ValueError:
                found = f'"{row.values[table.x]}"'
                raise EntryError(f"expected numbers for ${table.x}, the x of the figure, found {found}", at) from None


def _twice(names: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Repeated names with their places."""
    for place, name in enumerate(names):
        if name in names[:place]:
            yield place, name


def study_schema() -> dict[str, Any]:
    """The JSON Schema of study files, made from the same records that read them."""
    schema = records.record_schema(Study)
    steps = "\n".join(["Steps with | between them.", *map(_hint, STEPS.values())])
    makers, trainers = ([_hint(kind) for kind in RECIPES.values() if kind.trains == trains] for trains in (False, True))
    recipes = "\n".join(["Pairs | training. Pairs (one step or several):", *makers, "Training:", *trainers])
    rows = schema["properties"]["table"]["items"]["properties"]["rows"]
    for lines, hint in (
        (rows, steps),
        (schema["properties"]["pipelines"], steps),
        (schema["properties"]["models"], recipes),
    ):
        lines["additionalProperties"]["description"] = hint
    return {"$schema": "http://json-schema.org/draft-07/schema#", "title": "A Rankwell study", **schema}


def _hint(kind: LineKind) -> str:
    """A step with its settings, for the editor's hint at a line."""
    settings = ", ".join(kind.parameters)
    return f"{kind.name}({settings}): {kind.about}" if settings else f"{kind.name}: {kind.about}"
