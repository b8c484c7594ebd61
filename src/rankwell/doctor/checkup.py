"""The checkup: packages, extras and fetched models, and all checks in the order in which they are printed."""

from __future__ import annotations

import importlib
import platform
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from rankwell import __version__
from rankwell.core import home
from rankwell.doctor import machine
from rankwell.doctor.machine import BROKEN, NOTE, CheckupSection, Finding, first_line, folder_size, megabytes
from rankwell.models.base import catalogue, export, sources, tokens
from rankwell.models.base.folder import ModelFolder

# The module of a package, where it has another name.
MODULES = {"protobuf": "google.protobuf", "pystemmer": "Stemmer"}
EXTRAS = {
    "plots": "pictures in reports and on pages",
    "parquet": "Parquet files",
    "frames": "runs and judgments as pandas tables",
    "irds": "the collections of ir_datasets (irds:...)",
    "lemmas": "lemmas instead of stems",
    "ann": "approximate search among many vectors (--hnsw)",
    "files": "spreadsheets, PDF files, PostgreSQL tables",
    "hub": "models from the Hugging Face hub, and other tokenizers than BERT's",
    "watch": "an index that follows its files (rankwell index --watch)",
    "train": "training, and models that come as PyTorch weights",
    "web": "the search page and its API (rankwell serve)",
    "assess": "judging by several people (rankwell assess)",
    "reviews": "systematic reviews (rankwell review)",
    "clickhouse": "an index in ClickHouse's embedded engine (chdb://...)",
    "ray": "work on several machines (--on ray)",
    "pyterrier": "stages in PyTerrier, and its transformers here",
    "ranx": "runs and judgments of ranx",
    "langchain": "a pipeline as a LangChain retriever",
    "llama-index": "a pipeline as a LlamaIndex retriever or re-ranker",
    "haystack": "a pipeline as a Haystack component",
    "mcp": "a server for language models (rankwell serve --mcp)",
}
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[(?P<extras>[^]]*)\])?\s*(?:\(?>=\s*(?P<least>[\d.]+))?")
EXTRA = re.compile(r"extra\s*==\s*['\"](?P<extra>[\w-]+)['\"]")


class Requirement(NamedTuple):
    """A requirement in the package's metadata; `extra` is empty where it is always needed."""

    name: str
    extras: tuple[str, ...]
    least: str
    extra: str


def packages() -> list[Finding]:
    """Python, Rankwell and all required packages, each imported to see that it works."""
    here = {"python": platform.python_version(), "rankwell": __version__}
    needed = [_loaded(requirement) for requirement in _requirements() if not requirement.extra]
    return [*(Finding(name, version) for name, version in here.items()), *needed]


def extras() -> list[Finding]:
    """The optional packages, what they are for, and how to install them."""
    lines = list(_requirements())
    return [_extra(name, what, lines) for name, what in EXTRAS.items()]


def _requirements() -> Iterator[Requirement]:
    try:
        lines = requires("rankwell") or []
    except PackageNotFoundError:  # run from its source, not installed
        lines = []
    return parse_requirements(lines)


def parse_requirements(lines: Iterable[str]) -> Iterator[Requirement]:
    """The lines of `Requires-Dist`, as far as ours go: NAME[EXTRAS]>=VERSION; extra == NAME."""
    for line in lines:
        match, extra = REQUIREMENT.match(line), EXTRA.search(line)
        if match:
            inner = tuple(part.strip() for part in (match["extras"] or "").split(",") if part.strip())
            yield Requirement(match["name"], inner, match["least"] or "", extra["extra"] if extra else "")


def _loaded(requirement: Requirement) -> Finding:
    """Import a package, so that one that does not work on this machine is found here."""
    name = requirement.name.lower()
    again = f"pip install --force-reinstall '{name}>={requirement.least or 0}'"
    try:
        here = version(requirement.name)
        importlib.import_module(MODULES.get(name, name))
    except PackageNotFoundError:
        return Finding(name, None, "missing", BROKEN, f"pip install '{name}>={requirement.least or 0}'")
    except Exception as error:  # noqa: BLE001 -- a package may fail in any way when it is loaded
        return Finding(name, here, f"{here}, which does not load: {first_line(error)}", BROKEN, again)
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
    """The packages of an extra, and of the extras that it includes."""
    members: set[str] = set()
    for line in lines:
        if line.extra == extra:
            members |= {line.name} if line.name != "rankwell" else set()
            members |= {member for inner in line.extras if line.name == "rankwell" for member in _members(inner, lines)}
    return members


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


FIRST = "rankwell models add minilm-l6 ms-marco-minilm-l12"


def models() -> list[Finding]:
    """A finding for each model; a note without any, because BERT needs one."""
    none = Finding("none", None, "nothing fetched yet: no search by meaning, no re-ranking", NOTE, FIRST)
    return [_model(record) for record in sorted((home() / "models").glob(f"*/{sources.RECORD}"))] or [none]


def _model(record: Path) -> Finding:
    name = record.parent.name
    try:
        name = str(orjson.loads(record.read_bytes())["name"])
        folder = ModelFolder(name, record.parent)
        folder.choose(None)  # raises where the weights cannot be read
        tokens.Tokenizer(folder.tokenizer_file)
        task = catalogue.task_of(folder)
        kind, size = catalogue.kind_of(folder, task), megabytes(folder_size(record.parent) or 0)
        encode = f"encode --model {name}, then search --dense or --hybrid"
        return Finding(name, kind, f"{kind}, {size}: {f'search --rerank {name}' if task == export.PAIRS else encode}")
    except Exception as error:  # noqa: BLE001 -- a damaged file may fail in any way; the doctor says so and goes on
        way_out = f"rankwell models remove {name}, then rankwell models add {name}"
        return Finding(name, None, f"damaged: {first_line(error)}", BROKEN, way_out)


LOOKS: tuple[tuple[str, Callable[[], list[Finding]]], ...] = (
    ("Versions", packages),
    ("Extras", extras),
    ("Machine", machine.machine),
    ("Home", machine.places),
    ("Kernels", machine.kernels),
    ("Models", models),
)


@dataclass(frozen=True)
class Checkup:
    """All findings. They hold nothing secret, so that they can be sent to whoever helps."""

    sections: tuple[CheckupSection, ...]

    @property
    def broken(self) -> list[Finding]:
        """The findings that must be fixed."""
        return self._findings(BROKEN)

    @property
    def notes(self) -> list[Finding]:
        """The findings that could be better."""
        return self._findings(NOTE)

    def _findings(self, state: str) -> list[Finding]:
        return [finding for section in self.sections for finding in section.findings if finding.state == state]

    def as_dict(self) -> dict[str, Any]:
        """The findings for JSON."""
        sections = {
            section.title.lower(): {finding.name: finding.as_dict() for finding in section.findings}
            for section in self.sections
        }
        return {"ok": not self.broken, **sections}


def examine() -> Checkup:
    """Run all checks, without network and without changing anything."""
    return Checkup(tuple(CheckupSection(title, _look(title, look)) for title, look in LOOKS))


def _look(title: str, look: Callable[[], list[Finding]]) -> list[Finding]:
    """Run one check; an unexpected error becomes a finding, so that the other checks still run."""
    try:
        return look()
    except Exception as error:  # noqa: BLE001 -- see above
        return [Finding(title.lower(), None, f"could not be looked at: {first_line(error)}", BROKEN)]
