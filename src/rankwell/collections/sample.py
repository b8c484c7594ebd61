"""Disjoint sub-collections of a large collection, for training and testing.

After the document-ranking study (4.1.2, 4.3.1): some labelled queries, their relevant documents, and random documents
up to a size.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from rankwell.collections.any_format import write_documents, write_qrels, write_queries
from rankwell.collections.collection import Collection
from rankwell.collections.reading import Reading, unique
from rankwell.core import Judgments, ParameterError, RankwellError, atomic_write, fingerprint


@dataclass(frozen=True)
class SamplePart:
    """The size of a sub-collection: its name, number of queries, and total number of documents."""

    name: str
    queries: int
    documents: int

    @classmethod
    def parse(cls, text: str) -> SamplePart:
        """Parse a part such as `train:400:100000`."""
        name, _, sizes = text.partition(":")
        queries, _, documents = sizes.partition(":")
        if not (name.replace("-", "").isalnum() and queries.isdecimal() and documents.isdecimal() and int(queries) > 0):
            raise ParameterError("--sample", expected="NAME:QUERIES:DOCUMENTS, such as train:400:100000", found=text)
        return cls(name, int(queries), int(documents))


@dataclass(frozen=True)
class SubCollection:
    """The queries and documents of a part, and the random seed."""

    part: SamplePart
    seed: int
    qids: tuple[str, ...]
    docnos: frozenset[str]


def sub_collections(
    docnos: Iterable[str], judgments: Judgments, parts: Sequence[SamplePart], seed: int, rel: int = 1
) -> list[SubCollection]:
    """Choose queries and documents for every part so that no query and no document is in two of them.

    Queries are drawn in random order; each goes to the first part that still needs queries and in which all of its
    relevant documents may be. The same seed and the same input give the same parts, whatever the order of the input.
    """
    if len({part.name for part in parts}) < len(parts):
        raise ParameterError("parts", expected="a different name for every part", found=[part.name for part in parts])
    everything = sorted(set(docnos))
    known = set(everything)
    relevant = {qid: [docno for docno in judgments.relevant(qid, rel) if docno in known] for qid in sorted(judgments)}
    chooser = random.Random(seed)  # noqa: S311 -- a reproducible sample, not a secret
    chosen, owner = _share_queries(relevant, parts, chooser)
    rest = [docno for docno in everything if docno not in owner]
    chooser.shuffle(rest)
    return list(_fill_up(parts, chosen, owner, rest, seed))


def _share_queries(
    relevant: dict[str, list[str]], parts: Sequence[SamplePart], chooser: random.Random
) -> tuple[list[list[str]], dict[str, int]]:
    """The queries of each part, and the part of each relevant document."""
    labelled = [qid for qid, docnos in relevant.items() if docnos]
    chooser.shuffle(labelled)
    chosen: list[list[str]] = [[] for _ in parts]
    owner: dict[str, int] = {}
    for qid in labelled:
        for place, part in enumerate(parts):
            if len(chosen[place]) < part.queries and all(owner.get(docno, place) == place for docno in relevant[qid]):
                chosen[place].append(qid)
                owner |= dict.fromkeys(relevant[qid], place)
                break
    for part, qids in zip(parts, chosen, strict=True):
        if len(qids) < part.queries:
            raise RankwellError(
                f"part {part.name}: expected {part.queries} queries with relevant documents of their own, "
                f"found {len(qids)} (of {len(labelled)} labelled queries in all)"
            )
    return chosen, owner


def _fill_up(
    parts: Sequence[SamplePart], chosen: Sequence[list[str]], owner: dict[str, int], rest: list[str], seed: int
) -> Iterator[SubCollection]:
    used = 0
    for place, part in enumerate(parts):
        own = [docno for docno, part_of in owner.items() if part_of == place]
        wanted = part.documents - len(own)
        if wanted < 0:
            raise RankwellError(
                f"part {part.name}: expected room for the relevant documents of its queries, "
                f"found {len(own)} of them and a size of {part.documents}"
            )
        if used + wanted > len(rest):
            raise RankwellError(f"part {part.name}: expected {wanted} more documents, found {len(rest) - used} left")
        yield SubCollection(part, seed, tuple(chosen[place]), frozenset(own + rest[used : used + wanted]))
        used += wanted


def write_sub_collections(
    collection: Collection,
    parts: Sequence[SamplePart],
    out: Path,
    *,
    seed: int,
    split: str | None = None,
    reading: Reading,
) -> list[SubCollection]:
    """Write each part as a BEIR folder below `out`, with the seed and the source in `sample.json`."""
    judgments, queries = collection.judgments(split, reading), collection.queries(split, reading)
    documents = unique(collection.documents(reading), reading, collection.name)
    chosen = sub_collections((document.id for document in documents), judgments.only(queries), parts, seed)
    for part in parts:
        if (out / part.name).exists() and any((out / part.name).iterdir()):
            raise RankwellError(f"{out / part.name}: expected an empty folder or none, found files")
    for sample in chosen:
        folder = out / sample.part.name
        again = reading.unseen
        documents = unique(collection.documents(again), again, collection.name)
        write_documents(folder, (document for document in documents if document.id in sample.docnos), "beir")
        write_queries(folder / "queries.jsonl", queries.only(sample.qids), "beir")
        kept = Judgments(row for row in judgments.only(sample.qids).rows() if row.docno in sample.docnos)
        write_qrels(folder / "qrels" / "test.tsv", kept, "beir")
        record = {"source": collection.name, "split": split, "seed": seed, "parts": [asdict(part) for part in parts]}
        record["fingerprint"] = fingerprint([sorted(sample.docnos), sorted(sample.qids)])
        with atomic_write(folder / "sample.json") as file:
            file.write(orjson.dumps(record, option=orjson.OPT_INDENT_2))
    return chosen
