"""The packages that Rankwell needs, and the extras that add to what it can do."""

from __future__ import annotations

import importlib
import platform
import re
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from typing import NamedTuple

from rankwell.doctor.findings import BROKEN, NOTE, Finding, Section

# The module of a needed package, where it has another name.
MODULES = {"pystemmer": "Stemmer"}
EXTRAS = {
    "plots": "pictures in reports and on pages",
    "parquet": "Parquet files",
    "frames": "runs and judgments as pandas tables",
    "irds": "the collections of ir_datasets (irds:...)",
    "lemmas": "lemmas instead of stems",
    "ann": "approximate search among many vectors (--hnsw)",
    "hub": "models from the Hugging Face hub",
    "train": "training, and models that come as PyTorch weights",
    "web": "the search page and its API (rankwell serve)",
    "assess": "judging by several people (rankwell assess)",
    "reviews": "systematic reviews (rankwell review)",
    "clickhouse": "an index in ClickHouse's embedded engine (chdb://...)",
    "ray": "work on several machines (--on ray)",
}
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[(?P<extras>[^]]*)\])?\s*(?:\(?>=\s*(?P<least>[\d.]+))?")
EXTRA = re.compile(r"extra\s*==\s*['\"](?P<extra>[\w-]+)['\"]")


class Requirement(NamedTuple):
    """A line of the package's metadata; `extra` is empty where it is needed always."""

    name: str
    extras: tuple[str, ...]
    least: str
    extra: str


def packages() -> Section:
    """Python, Rankwell, and everything that it cannot do without: really loaded, because versions do not tell."""
    from rankwell import __version__

    needed = [_loaded(requirement) for requirement in _requirements() if not requirement.extra]
    return Section(
        "Versions", [Finding("python", platform.python_version()), Finding("rankwell", __version__), *needed]
    )


def extras() -> Section:
    """What is there beyond the needed, what it is for, and how to get it."""
    lines = list(_requirements())
    return Section("Extras", [_extra(name, what, lines) for name, what in EXTRAS.items()])


def _requirements() -> Iterator[Requirement]:
    try:
        lines = requires("rankwell") or []
    except PackageNotFoundError:  # run from its source, without having been installed
        lines = []
    return parse_requirements(lines)


def parse_requirements(lines: Iterable[str]) -> Iterator[Requirement]:
    """The lines of `Requires-Dist`, as far as ours go: NAME[EXTRAS]>=VERSION; extra == NAME."""
    for line in lines:
        found, extra = REQUIREMENT.match(line), EXTRA.search(line)
        if found:
            inner = tuple(part.strip() for part in (found["extras"] or "").split(",") if part.strip())
            yield Requirement(found["name"], inner, found["least"] or "", extra["extra"] if extra else "")


def _loaded(requirement: Requirement) -> Finding:
    """A package, imported: a library that does not fit this machine is found here and not in the middle of a search."""
    name = requirement.name.lower()
    again = f"pip install --force-reinstall '{name}>={requirement.least or 0}'"
    try:
        here = version(requirement.name)
        importlib.import_module(MODULES.get(name, name))
    except PackageNotFoundError:
        return Finding(name, None, "missing", BROKEN, f"pip install '{name}>={requirement.least or 0}'")
    except Exception as error:  # noqa: BLE001 -- a package may fail in any way when it is loaded
        why = (str(error).splitlines() or [type(error).__name__])[0]
        return Finding(name, here, f"{here}, which does not load: {why}", BROKEN, again)
    if is_older(here, requirement.least):
        return Finding(name, here, f"{here}, older than {requirement.least}", BROKEN, again)
    return Finding(name, here)


def _extra(name: str, what: str, lines: list[Requirement]) -> Finding:
    missing = sorted(package for package in _members(name, lines) if _absent(package))
    if not missing:
        return Finding(name, "here", what)
    way_out = f"pip install 'rankwell[{name}]'"
    return Finding(name, None, f"{what}: not here ({', '.join(missing)})", NOTE, way_out)


def _members(extra: str, lines: list[Requirement]) -> set[str]:
    """The packages of an extra, and of those that it takes in."""
    found: set[str] = set()
    for line in lines:
        if line.extra == extra:
            found |= {line.name} if line.name != "rankwell" else set()
            found |= {member for inner in line.extras if line.name == "rankwell" for member in _members(inner, lines)}
    return found


def _absent(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return True
    return False


def is_older(here: str, least: str) -> bool:
    """Whether a version is below another, by their numbers."""
    numbers = [[int(part) for part in re.findall(r"\d+", text.split("+")[0])[:3]] for text in (here, least or "0")]
    return numbers[0] < numbers[1]
