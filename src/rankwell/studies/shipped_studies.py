"""The studies that come with Rankwell, and finding any study by name, file or folder."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from rankwell.core import RankwellError
from rankwell.studies.file.errors import meant
from rankwell.studies.file.reading import ExperimentFile, parse_study, read_study
from rankwell.studies.run.runner import StudyFolder

SUFFIX = ".toml"


def shipped_studies() -> dict[str, ExperimentFile]:
    """All of them by name."""
    return {name: _shipped_study(name) for name in _shipped_names()}


def _shipped_names() -> list[str]:
    names = [file.name for file in (files("rankwell.studies") / "shipped").iterdir()]
    return sorted(name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX))


def _shipped_study(name: str) -> ExperimentFile:
    text = (files("rankwell.studies") / "shipped" / f"{name}{SUFFIX}").read_text(encoding="utf-8")
    return parse_study(text, f"{name}{SUFFIX}", name)


def find_study(given: str) -> ExperimentFile:
    """A study by its name, by its file, or by the folder that it was run in."""
    path, shipped = Path(given), _shipped_names()
    if given in shipped:
        return _shipped_study(given)
    if path.is_dir():
        return StudyFolder(path).file()
    if path.is_file() or path.suffix == SUFFIX:
        return read_study(path)
    expected = f"a study ({', '.join(shipped)}), a file that ends in .toml, or a folder"
    raise RankwellError(f"{given}: expected {expected}; found none{meant(given, shipped)}")
