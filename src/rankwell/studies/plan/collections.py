"""The collections of a study: their label sets, and stand-ins for those that are not available."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from rankwell import __version__
from rankwell.collections import Collection, Reading, open_collection
from rankwell.collections.collection import IRDS
from rankwell.core import SILENT, Document, Judgments, Progress, Queries, RankwellError, atomic_write, fingerprint
from rankwell.judging.grades import Grades, gather
from rankwell.judging.labels import LabelRules, Labels, make_labels, thresholds_of
from rankwell.studies.file.study import ANY, GRADED, LIBERAL, ORIGINAL, SPARSE, STRICT, CollectionEntry, Study

ELSEWHERE = ("rankwell:", IRDS)  # sources that are not folders
AND = "+"  # separator of splits that are combined
MOST_FILES = 10_000  # a larger folder is fingerprinted anew each time


LEAST = {LIBERAL: 1, STRICT: 2}  # the grade that counts as relevant, where the grades of single people are not known


def labelled(judgments: Judgments, labels: str, grades: Path | None = None, assessors: int = 3) -> Judgments:
    """The judgments as a label set has them.

    `original`: unchanged. `sparse`: one relevant document a query, the best, and no other judgment, as in MS MARCO.
    `liberal` and `strict`: relevant or not, by the majority of the single grades in the file `grades`, or without
    one by the grade that there is (1 or more, 2 or more). `graded`: the ceiled median of the single grades.
    """
    if labels == SPARSE:
        best = {qid: max((grade, docno) for docno, grade in grades.items()) for qid, grades in judgments.items()}
        return Judgments((qid, docno, 1) for qid, (grade, docno) in best.items() if grade > 0)
    if labels == ORIGINAL or (grades is None and labels == GRADED):
        return judgments
    if grades is None:
        least = LEAST[labels]
        return Judgments((qid, docno, int(grade >= least)) for qid, docno, grade in judgments.rows())
    sets = grades_of_people(judgments, grades, assessors).labels.sets
    if labels not in sets:
        raise RankwellError(f"{grades}: expected grades for the label set {labels}, found {', '.join(sets)}")
    return sets[labels]


@dataclass(frozen=True)
class People:
    """The grades of single assessors, and the labels made from them."""

    grades: Grades
    rules: LabelRules
    labels: Labels


def grades_of_people(judgments: Judgments, grades: Path, assessors: int) -> People:
    """Labels from the grades of single assessors by the re-assessment study's rules; `judgments` settle ties."""
    read = gather(grades)
    rules = LabelRules(lowest=read.lowest, thresholds=thresholds_of(read.lowest, read.highest), assessors=assessors)
    # A grade below 0 means "I can't tell".
    given = Grades.of(row._replace(grade=None) if (row.grade or 0) < 0 else row for row in read.grades.rows())
    return People(given, rules, make_labels(given, judgments, rules, confirmed=False))


@dataclass(frozen=True)
class Facts:
    """Facts about a collection that the plan needs."""

    fingerprint: str
    documents: int
    queries: int  # those with judgments
    judgments: int
    fields: tuple[str, ...]
    wordings: tuple[str, ...]
    training: str = ""  # fingerprint of the training queries, where they are a split of their own


@dataclass(frozen=True)
class Chosen:
    """An available collection, and how much of it is used."""

    entry: CollectionEntry
    stands_for: tuple[str, ...]  # the study's collections that it is reported under
    source: str
    facts: Facts
    queries: int | None = None
    documents: int | None = None
    training: int | None = None  # queries
    seed: int = 0

    @property
    def name(self) -> str:
        """Its name in tables."""
        return self.entry.name

    @property
    def is_real(self) -> bool:
        """Whether it is the study's own collection, not a stand-in."""
        return self.entry.instead_of is None

    @property
    def only_name(self) -> str:
        """The collection that it stands for, where it is only one: published figures may go with it."""
        return self.stands_for[0] if len(self.stands_for) == 1 else ""

    @property
    def folder(self) -> Path | None:
        """Its folder, or None."""
        return None if self.source.startswith(ELSEWHERE) else Path(self.source)

    @property
    def test_queries(self) -> int:
        """Estimated number of test queries."""
        known = round(self.facts.queries * (1 - self.entry.held_back))
        return min(known, self.queries or known)

    @property
    def training_queries(self) -> int | None:
        """Estimated number of training queries; None where unknown."""
        if self.entry.measured and self.entry.train is not None:
            return self.training
        known = round(self.facts.queries * (self.entry.held_back if self.entry.measured else 1))
        return min(known, self.training or known)

    @property
    def indexed(self) -> int:
        """Estimated number of indexed documents."""
        return min(self.facts.documents, self.documents or self.facts.documents)

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """Its fields, by the study's names."""
        return tuple(self.renamed.get(name, name) for name in self.facts.fields)

    @cached_property
    def renamed(self) -> dict[str, str]:
        """Its own field names -> the study's names."""
        return {own: name for name, own in self.entry.fields.items()}

    def open(self) -> Collection:
        """Open the collection."""
        return open_collection(self.source)

    def configuration(self) -> dict[str, Any]:
        """Everything about the data that results depend on."""
        cut = {"queries": self.queries, "documents": self.documents}
        kept = {"train": self.entry.train, "held_back": self.entry.held_back, "training": self.training}
        drawn = {name: value for name, value in (cut | kept).items() if value}
        seed = {"seed": self.seed} if drawn else {}
        return {"data": self.facts.fingerprint, "split": self.entry.split, "fields": self.renamed, **drawn, **seed}

    def judged(self) -> tuple[Queries, Judgments]:
        """The judged queries, or a sample as large as the budget allows."""
        if not self.entry.measured:
            return self.to_train_on()
        queries, judgments = asked_of(self.open(), self.entry, self.entry.split)
        apart = self._held_back(queries)
        queries = queries.only(qid for qid in queries if qid not in apart)
        if self.queries is not None and len(queries) > self.queries:
            queries = queries.only(smallest(queries, self.queries, self.seed))
        return queries, judgments.only(queries)

    @property
    def can_train(self) -> bool:
        """Whether there are judged queries to train on."""
        return not self.entry.measured or self.entry.train is not None or self.entry.held_back > 0

    def to_train_on(self) -> tuple[Queries, Judgments]:
        """Training queries, which are not evaluated, with their judgments."""
        queries, judgments = asked_of(self.open(), self.entry, self.entry.train or self.entry.split)
        if self.entry.measured and self.entry.train is None:
            queries = queries.only(self._held_back(queries))
        elif self.entry.measured:
            measured, _ = asked_of(self.open(), self.entry, self.entry.split)
            queries = queries.only(qid for qid in queries if qid not in measured)
        if self.training is not None and len(queries) > self.training:
            queries = queries.only(smallest(queries, self.training, self.seed))
        return queries, judgments.only(queries)

    def _held_back(self, queries: Queries) -> set[str]:
        return smallest(queries, round(len(queries) * self.entry.held_back), self.seed)

    def texts(self, judgments: Judgments) -> Iterator[Document]:
        """The documents under the study's field names; judged ones first where only a sample is used."""
        kept = None if self.documents is None else self._kept(judgments)
        for document in self.open().documents():
            if kept is None or document.id in kept:
                texts = {self.renamed.get(name, name): text for name, text in document.fields.items()}
                yield document._replace(fields=texts)

    def _kept(self, judgments: Judgments) -> set[str]:
        known = [document.id for document in self.open().documents()]
        sets = [judgments, *([self.to_train_on()[1]] if self.can_train else [])]
        judged = {docno for of in sets for of_query in of.values() for docno in of_query}.intersection(known)
        others = [docno for docno in known if docno not in judged]
        return judged | smallest(others, max(0, (self.documents or 0) - len(judged)), self.seed)


def smallest(names: Iterator[str] | Sequence[str] | Queries, count: int, seed: int) -> set[str]:
    """A random sample of names: the same for the same seed, whatever their order."""
    drawn = sorted(set(names), key=lambda name: hashlib.sha256(f"{seed}\0{name}".encode(errors="replace")).digest())
    return set(drawn[:count])


def asked_of(collection: Collection, entry: CollectionEntry, split: str | None) -> tuple[Queries, Judgments]:
    """The judged queries of a collection, with the label set that the study asks for.

    A collection that is never evaluated may have queries without judgments.
    """
    if not entry.measured and not collection.read_judgments:
        return collection.queries(split), Judgments()
    grades = None if entry.grades is None else Path(collection.name) / entry.grades
    judgments = labelled(judged_in(collection, split), entry.labels, grades, entry.assessors)
    queries = collection.queries(split if len(collection.read_queries) > 1 else None).only(judgments)
    if not queries:
        raise RankwellError(f"{collection.name}: expected queries with judgments, found none")
    return queries, judgments.only(queries)


def judged_in(collection: Collection, split: str | None) -> Judgments:
    """The judgments of a split, or of several: "validation+test"."""
    if split is None or AND not in split:
        return collection.judgments(split)
    return Judgments(row for name in split.split(AND) for row in collection.judgments(name).rows())


@dataclass
class CollectionFinder:
    """Finds collections, and caches facts about them beside the study."""

    data: Path | None
    memory: Path
    given: Mapping[str, str] = field(default_factory=dict)
    quiet: bool = True

    def place(self, entry: CollectionEntry) -> str | None:
        """Where a collection is; None where it is missing."""
        source = self.given.get(entry.name, entry.source)
        if source.startswith(ELSEWHERE):
            return source
        own = Path(source).expanduser()
        # A bare name is searched in the data folder only: a folder of that name may lie anywhere.
        places = [own] if own.name != source else []
        places += [self.data / source] if self.data is not None else []
        existing = next((place for place in places if place.exists()), None)
        if existing is None and entry.name in self.given:
            raise RankwellError(f"--collection {entry.name}: expected a folder or file, found nothing at {source}")
        return None if existing is None else str(existing.resolve())

    def is_fetched(self, entry: CollectionEntry) -> bool:
        """Whether a collection comes from ir_datasets, which fetches what is not here yet."""
        return self.given.get(entry.name, entry.source).startswith(IRDS)

    def facts(self, entry: CollectionEntry, source: str) -> Facts:
        """The facts of a collection, from the cache as long as its files have not changed."""
        try:
            known = dict(orjson.loads(self.memory.read_bytes()))
        except (OSError, ValueError):
            known = {}
        files = signature_of(source)
        how = [entry.split, entry.labels, entry.grades, entry.assessors, entry.train, entry.measured]
        signature = fingerprint([files, how]) if files is not None else None
        if signature is not None and signature in known:
            kept = known[signature]
            return Facts(**{**kept, "fields": tuple(kept["fields"]), "wordings": tuple(kept["wordings"])})
        with Progress(f"looking at {entry.name}", unit="documents", quiet=self.quiet) as progress:
            facts = facts_of(open_collection(source), entry, progress)
        if signature is not None:
            with atomic_write(self.memory) as file:
                file.write(orjson.dumps({**known, signature: asdict(facts)}, option=orjson.OPT_INDENT_2))
        return facts


def facts_of(collection: Collection, entry: CollectionEntry, progress: Progress = SILENT) -> Facts:
    """Read a whole collection once and return its facts."""
    queries, judgments = asked_of(collection, entry, entry.split)
    digest = hashlib.sha256()
    fields: dict[str, None] = {}
    count = 0
    for document in progress.track(collection.documents(Reading())):
        digest.update(orjson.dumps([document.id, dict(document.fields)]))
        fields.update(dict.fromkeys(document.fields))
        count += 1
    whole = fingerprint([digest.hexdigest(), *_plain(queries, judgments)])
    training = fingerprint(_plain(*asked_of(collection, entry, entry.train))) if entry.train is not None else ""
    return Facts(whole, count, len(queries), judgments.count, tuple(fields), queries.fields, training)


def _plain(queries: Queries, judgments: Judgments) -> list[Any]:
    return [{qid: dict(query.texts) for qid, query in queries.items()}, judgments.to_dict()]


def signature_of(source: str) -> list[Any] | None:
    """A value that changes when the files change, without reading them; None where there is none."""
    if source.startswith("rankwell:"):
        return [source, sys.version, __version__]
    if source.startswith(ELSEWHERE):
        return None
    path = Path(source)
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    if len(files) > MOST_FILES:
        return None
    return [[str(file), file.stat().st_size, file.stat().st_mtime_ns] for file in files]


class FoundCollection(NamedTuple):
    """An available collection, its place, and the study's collections that it stands for."""

    entry: CollectionEntry
    source: str
    stands_for: tuple[str, ...]


def choose(study: Study, finder: CollectionFinder) -> tuple[list[FoundCollection], list[str]]:
    """The available collections, and the names of the missing ones.

    Where none that can be evaluated is available, the general stand-in also replaces missing training collections.
    """
    real = [entry for entry in study.collection if entry.instead_of is None]
    available: list[FoundCollection] = []
    missing: list[str] = []
    for entry in real:
        candidates = [entry, *(other for other in study.collection if other.instead_of == entry.name)]
        places = ((candidate, finder.place(candidate)) for candidate in candidates)
        here = next(((candidate, place) for candidate, place in places if place is not None), None)
        if here is None:
            missing.append(entry.name)
        else:
            available.append(FoundCollection(*here, (entry.name,)))
    if any(here.entry.measured for here in available):
        return available, missing
    for entry in study.collection:
        place = finder.place(entry) if entry.instead_of == ANY else None
        if place is not None:
            return [FoundCollection(entry, place, tuple(missing)), *available], missing
    wanted = ", ".join(entry.source for entry in study.collection if entry.measured)
    where = f"in {finder.data}" if finder.data else "here (say where they are with --data FOLDER)"
    raise RankwellError(f"{study.title}: expected one of its collections ({wanted}), found none {where}")
