"""What is fixed when an index is made: the analyzer, the fields, the metadata columns, positions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rankwell.analysis import Analyzer
from rankwell.core import ParameterError, RankwellError
from rankwell.index.manifest import Manifest


def analyzer_of(path: Path, manifest: Manifest) -> Analyzer:
    """The analyzer with which the index was made, if this Rankwell still has it."""
    try:
        return Analyzer.from_config(manifest.analyzer)
    except ParameterError as error:
        raise RankwellError(f"{path}: {error}") from error


def settled(
    path: Path,
    there: Manifest | None,
    analyzer: Analyzer | None,
    fields: Sequence[str] | None,
    metadata: Sequence[str] | None,
    *,
    positions: bool | None,
) -> Manifest:
    """The manifest to go on from: a new one of these settings, or the one that is there if they agree with it."""
    if isinstance(fields, str) or isinstance(metadata, str):
        raise ParameterError("fields, metadata", expected="lists of names", found=fields or metadata)
    if fields is not None and (not fields or "" in fields):
        raise ParameterError("fields", expected="at least one name, and no empty one", found=list(fields))
    if there is None:
        return Manifest(
            (analyzer or Analyzer()).config(),
            None if fields is None else tuple(dict.fromkeys(fields)),
            tuple(dict.fromkeys(metadata or ())),
            positions=bool(positions),
        )
    analyzer_of(path, there)
    given = {
        "analyzer": None if analyzer is None else analyzer.config(),
        "fields": None if fields is None else tuple(dict.fromkeys(fields)),
        "metadata": None if metadata is None else tuple(dict.fromkeys(metadata)),
        "positions": positions,
    }
    for name, value in given.items():
        kept = getattr(there, name)
        if value is not None and value != kept:
            expected = f"{kept!r}, with which {path} was made (leave it out to keep it)"
            raise ParameterError(name, expected=expected, found=value)
    return there
