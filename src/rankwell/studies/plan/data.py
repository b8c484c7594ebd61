"""The collections of a study: the real ones where they are available, stand-ins where they are not."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from rankwell.collections import Collection, Reading, open_collection
from rankwell.core import Document, Judgments, Progress, Queries, RankwellError, atomic_write, fingerprint
from rankwell.core.progress import SILENT
from rankwell.studies.file.study import ANY, CollectionEntry, Study, labelled

ELSEWHERE = ("rankwell:", "irds:")  # sources that are not folders
AND = "+"  # separator of splits that are combined
MOST_FILES = 10_000  # a larger folder is fingerprinted anew each time


@dataclass(frozen=True)
class Facts:
    """Facts about a collection that the plan needs."""

    fingerprint: str
    documents: int
    queries: int  # those with judgments
    judgments: int
    fields: tuple[str, ...]
    wordings: tuple[str, ...]  # fingerprint of the queries
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
    def folder(self) -> Path | None:
        """Its folder, or None."""
        return None if self.source.startswith(ELSEWHERE) else Path(self.source)

    @property
    def asked(self) -> int:
        """Estimated number of test queries."""
        known = round(self.facts.queries * (1 - self.entry.held_back))
        return min(known, self.queries or known)

    @property
    def taught(self) -> int | None:
        """Estimated number of training queries; None where unknown."""
        if self.entry.measured and self.entry.train is not None:
            return self.training
        known = round(self.facts.queries * (self.entry.held_back if self.entry.measured else 1))
        return min(known, self.training or known)

    @property
    def held(self) -> int:
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
        if self.entry.measured:
            queries = queries.only(self._kept_apart(queries))
        if self.training is not None and len(queries) > self.training:
            queries = queries.only(smallest(queries, self.training, self.seed))
        return queries, judgments.only(queries)

    def _kept_apart(self, queries: Queries) -> set[str]:
        """The queries that are not evaluated."""
        if self.entry.train is None:
            return self._held_back(queries)
        measured, _ = asked_of(self.open(), self.entry, self.entry.split)
        return {qid for qid in queries if qid not in measured}

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
    queries = collection.queries(split).only(judgments)
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
        found = next((place for place in places if place.exists()), None)
        if found is None and entry.name in self.given:
            raise RankwellError(f"--collection {entry.name}: expected a folder or file, found nothing at {source}")
        return None if found is None else str(found.resolve())

    def facts(self, entry: CollectionEntry, source: str) -> Facts:
        """The facts of a collection, from the cache as long as its files have not changed."""
        known = self._remembered()
        told = signature_of(source)
        how = [entry.split, entry.labels, entry.grades, entry.assessors, entry.train, entry.measured]
        signature = fingerprint([told, how]) if told is not None else None
        if signature is not None and signature in known:
            found = known[signature]
            return Facts(**{**found, "fields": tuple(found["fields"]), "wordings": tuple(found["wordings"])})
        with Progress(f"looking at {entry.name}", unit="documents", quiet=self.quiet) as progress:
            facts = facts_of(open_collection(source), entry, progress)
        if signature is not None:
            with atomic_write(self.memory) as file:
                file.write(orjson.dumps({**known, signature: asdict(facts)}, option=orjson.OPT_INDENT_2))
        return facts

    def _remembered(self) -> dict[str, Any]:
        try:
            return dict(orjson.loads(self.memory.read_bytes()))
        except (OSError, ValueError):
            return {}


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
    whole = fingerprint([digest.hexdigest(), *_told(queries, judgments)])
    training = fingerprint(_told(*asked_of(collection, entry, entry.train))) if entry.train is not None else ""
    return Facts(whole, count, len(queries), judgments.count, tuple(fields), queries.fields, training)


def _told(queries: Queries, judgments: Judgments) -> list[Any]:
    return [{qid: dict(query.texts) for qid, query in queries.items()}, judgments.to_dict()]


def signature_of(source: str) -> list[Any] | None:
    """A value that changes when the files change, without reading them; None where there is none."""
    if source.startswith("rankwell:"):
        from rankwell import __version__

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


def choose(study: Study, shelf: CollectionFinder) -> tuple[list[FoundCollection], list[str]]:
    """The available collections, and the names of the missing ones.

    Where none that can be evaluated is available, the general stand-in also replaces missing training collections.
    """
    real = [entry for entry in study.collection if entry.instead_of is None]
    found: list[FoundCollection] = []
    missing: list[str] = []
    for entry in real:
        candidates = [entry, *(other for other in study.collection if other.instead_of == entry.name)]
        places = ((candidate, shelf.place(candidate)) for candidate in candidates)
        here = next(((candidate, place) for candidate, place in places if place is not None), None)
        if here is None:
            missing.append(entry.name)
        else:
            found.append(FoundCollection(*here, (entry.name,)))
    if any(here.entry.measured for here in found):
        return found, missing
    for entry in study.collection:
        place = shelf.place(entry) if entry.instead_of == ANY else None
        if place is not None:
            return [FoundCollection(entry, place, tuple(missing)), *found], missing
    wanted = ", ".join(entry.source for entry in study.collection if entry.measured)
    where = f"in {shelf.data}" if shelf.data else "here (say where they are with --data FOLDER)"
    raise RankwellError(f"{study.title}: expected one of its collections ({wanted}), found none {where}")
