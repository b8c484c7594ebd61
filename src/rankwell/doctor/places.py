"""The folder in which Rankwell keeps models and caches: where, how full, and whether it can be written to."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from rankwell.core import home
from rankwell.doctor.findings import BROKEN, NOTE, Finding, Section, megabytes

KEPT = {
    "models": "fetched models",
    "exports": "models made ready to run; remade when they are missing",
    "kernels": "compiled inner loops; remade when they are missing",
    "scores": "scores of re-rankers; safe to delete",
    "pubmed": "answers of PubMed; safe to delete",
    "vectors": "what BERT read in records to screen; safe to delete",
}
LITTLE = 1e9  # bytes; a model takes 20 to 90 MB to fetch and as much again to run


def places() -> Section:
    """The home, what its parts take, and the room that is left."""
    folder = home()
    named = "RANKWELL_HOME" if os.environ.get("RANKWELL_HOME") else "RANKWELL_HOME names another"
    findings = [_writable(folder, named), _room(folder)]
    for part, what in KEPT.items():
        size = folder_size(folder / part)
        if size is not None:
            findings.append(Finding(part, size, f"{megabytes(size)} of {what}"))
    return Section("Home", findings)


def _writable(folder: Path, named: str) -> Finding:
    """Whether a file can be written there; asked by writing one, because permissions do not tell everything."""
    way_out = "set RANKWELL_HOME to a folder that you may write to"
    existing = _nearest(folder)
    if not existing.is_dir():
        return Finding("folder", str(folder), f"{folder} ({named}): {existing} is no folder", BROKEN, way_out)
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        why = error.strerror or type(error).__name__
        return Finding("folder", str(folder), f"{folder} ({named}) cannot be written to: {why}", BROKEN, way_out)
    yet = "" if existing == folder else "; it is made when it is needed"
    return Finding("folder", str(folder), f"{folder} ({named}){yet}")


def _room(folder: Path) -> Finding:
    try:
        free = shutil.disk_usage(_nearest(folder)).free
    except OSError as error:
        return Finding("free disk", None, f"unknown: {error.strerror or type(error).__name__}")
    if free < LITTLE:
        way_out = "make room, or set RANKWELL_HOME to a folder on another disk"
        return Finding("free disk", free, f"{megabytes(free)}: little for models and caches", NOTE, way_out)
    return Finding("free disk", free, megabytes(free))


def _nearest(folder: Path) -> Path:
    """The folder itself, or the nearest above it that is there."""
    return next((path for path in (folder, *folder.absolute().parents) if os.path.lexists(path)), folder)


def folder_size(folder: Path) -> int | None:
    """The bytes of the files below a folder, links to them included; None where there is no such folder."""
    if not folder.is_dir():
        return None
    return sum(_size(Path(above) / name) for above, _, names in os.walk(folder, followlinks=True) for name in names)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:  # gone in this moment, or a link to nowhere
        return 0
