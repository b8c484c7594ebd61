"""The studies that come with Rankwell, and finding any study by name, file or folder."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from rankwell.core import RankwellError
from rankwell.studies.file.reading import ExperimentFile, parse_study, read_study
from rankwell.studies.file.values import meant
from rankwell.studies.run.runner import StudyFolder

SUFFIX = ".toml"


def shipped_studies() -> dict[str, ExperimentFile]:
    """All of them by name."""
    return {name: shipped_study(name) for name in shipped_names()}


def shipped_names() -> list[str]:
    """Their names."""
    found = (files("rankwell.studies") / "shipped").iterdir()
    return sorted(file.name.removesuffix(SUFFIX) for file in found if file.name.endswith(SUFFIX))


def shipped_study(name: str) -> ExperimentFile:
    """One of them."""
    text = (files("rankwell.studies") / "shipped" / f"{name}{SUFFIX}").read_text(encoding="utf-8")
    return parse_study(text, f"{name}{SUFFIX}", name)


def find_study(given: str) -> ExperimentFile:
    """A study by its name, by its file, or by the folder that it was run in."""
    path = Path(given)
    if given in shipped_names():
        return shipped_study(given)
    if path.is_dir():
        return StudyFolder(path).file()
    if path.is_file() or path.suffix == SUFFIX:
        return read_study(path)
    known = ", ".join(shipped_names())
    near = meant(given, shipped_names())
    raise RankwellError(
        f"{given}: expected a study ({known}), a file that ends in .toml, or a folder; found none{near}"
    )
