"""From documents and settings to a folder of pairs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from rankwell.core import Template
from rankwell.core.progress import SILENT, Progress
from rankwell.train.labelled import Labelled, Sources
from rankwell.train.pairs import Pairs
from rankwell.train.pairs_writer import PairsWriter
from rankwell.train.self_supervised import EXTRA as SELF_SUPERVISED_COLUMNS
from rankwell.train.self_supervised import SelfSupervised
from rankwell.train.spool import Spool


def write_self_supervised(
    out: Path | str,
    documents: Spool,
    settings: SelfSupervised,
    *,
    source: str = "",
    limit: int | None = None,
    progress: Progress = SILENT,
) -> Pairs:
    """Pairs of documents' own texts; at most `limit` of them."""
    made = {"collection": source, **settings.made(), "abstract": settings.abstract_field(documents)}
    writer = PairsWriter(out, made=made, seed=settings.seed, extra=SELF_SUPERVISED_COLUMNS)
    with writer:
        for found in progress.track(islice(settings.pairs(documents, limit), limit)):
            writer.add(found.pair, fold=found.fold, shape=found.shape)
        writer.made["left_out"] = _counted(settings.skipped)
    return writer.open()


def write_labelled(
    out: Path | str,
    sources: Sources,
    settings: Labelled,
    *,
    source: Mapping[str, Any] | None = None,
    progress: Progress = SILENT,
) -> Pairs:
    """Pairs of queries and judged documents; `source` says where they are from, for the record."""
    if settings.document is not None and isinstance(sources.documents, Spool):
        Template(settings.document).check(sources.documents.fields)
    made = {**(source or {}), **settings.made()}
    made["run"] = None if sources.run is None else sources.run.fingerprint()
    writer = PairsWriter(out, made=made, seed=settings.seed, extra=settings.columns)
    with writer:
        for found in progress.track(settings.pairs(sources)):
            writer.add(found.pair, kind=found.kind, passage=found.passage, **found.parts)
        writer.made["left_out"] = _counted(settings.skipped)
    return writer.open()


def _counted(skipped: Mapping[str, int]) -> dict[str, int]:
    return {reason: count for reason, count in skipped.items() if count}
