"""The run folder of every training: the model, and everything needed to understand and repeat it."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import orjson

from rankwell import __version__
from rankwell.core import FormatError, RankwellError, atomic_write, make_folder, sync_folder, sync_tree
from rankwell.models.base.folder import read_json
from rankwell.models.learning.folders import Checkpoints, is_of_writing


class MetricsLog:
    """The log `metrics.jsonl` of a run.

    A line has `step` and `epoch`, and either `loss`, `lr` and `seconds` (the mean loss since the line
    before), or `validation` with the measures on the validation examples.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, line: Mapping[str, Any]) -> None:
        """Append a line; it is in the file when this returns."""
        try:
            with self.path.open("ab") as file:
                file.write(orjson.dumps(dict(line), option=orjson.OPT_SERIALIZE_NUMPY) + b"\n")
        except OSError as error:
            raise RankwellError(f"{self.path}: not written: {error.strerror}") from error

    def lines(self) -> list[dict[str, Any]]:
        """All lines; an incomplete last line of an interrupted run is left out."""
        if not self.path.is_file():
            return []
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1].splitlines()
        try:
            return [orjson.loads(line) for line in whole]
        except orjson.JSONDecodeError as error:
            raise FormatError(self.path, None, expected="a JSON object on every line", found=str(error)) from error

    def validations(self, measure: str | None) -> list[tuple[int, float]]:
        """The steps and values of a measure; none where no measure was taken."""
        measured = [line for line in self.lines() if measure in line.get("validation", {})]
        return [(int(line["step"]), float(line["validation"][measure])) for line in measured]

    def copy_to(self, path: Path) -> None:
        """Write the lines so far to another file, synced."""
        content = self.path.read_bytes() if self.path.is_file() else b""
        with path.open("wb") as file:
            file.write(content)
            os.fsync(file.fileno())

    def restore(self, copy: Path | None) -> None:
        """Restore a copy (empty without one): later lines belong to steps that are repeated."""
        content = copy.read_bytes() if copy is not None and copy.is_file() else b""
        with atomic_write(self.path) as file:
            file.write(content)


LIBRARIES = ("torch", "transformers", "sentence-transformers", "accelerate", "tokenizers", "numpy", "safetensors")
CONFIGURATION, ENVIRONMENT, RESULT = "configuration.json", "environment.json", "result.json"


@dataclass(frozen=True)
class RunFolder:
    """A run of training on disk.

    configuration.json   the kind, every setting, the seed, the model it started from, the data and their fingerprints
    environment.json     versions, machine, threads
    metrics.jsonl        loss, learning rate and validation measures, step by step
    checkpoints/         where `rankwell train resume` continues; empty after a finished run
    model/               the result: the best step by the validation measure, else the last
    curves.png, report.html, README.md (the model card)
    result.json          written last: a run that has it is finished
    """

    path: Path

    @classmethod
    def create(
        cls,
        path: Path | str,
        kind: str,
        configuration: Mapping[str, Any],
        data_fingerprint: str,
        *,
        data: str = "",
        model: str = "",
        model_fingerprint: str = "",
        details: Mapping[str, Any] | None = None,
    ) -> RunFolder:
        """Create a new run. Refuses a folder with content.

        `configuration`: every setting by name. `details`: further facts about the data, such as which part of
        them is trained on.
        """
        run = cls(Path(path))
        run._refuse_what_is_there()
        content = {
            "kind": kind,
            "rankwell": __version__,
            "model": {"name": model, "fingerprint": model_fingerprint},
            "data": {"folder": data, "fingerprint": data_fingerprint, **(details or {})},
            "settings": dict(configuration),
        }
        make_folder(run.path)
        write_json(run.path / CONFIGURATION, content)
        return run

    @classmethod
    def open(cls, path: Path | str) -> RunFolder:
        """Open an existing run."""
        run = cls(Path(path))
        if not (run.path / CONFIGURATION).is_file():
            found = "none" if run.path.is_dir() else "no folder"
            raise RankwellError(
                f"{run.path}: expected the folder of a training run, with {CONFIGURATION}, found {found}"
            )
        return run

    @cached_property
    def configuration(self) -> dict[str, Any]:
        """The content of `configuration.json`."""
        content = read_json(self.path / CONFIGURATION)
        missing = [name for name in ("kind", "model", "data", "settings") if name not in content]
        if missing:
            raise FormatError(self.path / CONFIGURATION, None, expected=f'"{missing[0]}"', found=", ".join(content))
        return content

    @property
    def kind(self) -> str:
        """The kind of training: `cross-encoder`, `bi-encoder`, `mlm`, ..."""
        return str(self.configuration["kind"])

    @property
    def settings(self) -> dict[str, Any]:
        """All settings by name."""
        return dict(self.configuration["settings"])

    @property
    def model(self) -> Path:
        """The trained model; loads in transformers, and in `rankwell rerank --model` or `rankwell encode --model`."""
        return self.path / "model"

    @property
    def checkpoints(self) -> Checkpoints:
        """The checkpoints of the run."""
        return Checkpoints(self.path / "checkpoints")

    @property
    def metrics(self) -> MetricsLog:
        """The metrics log of the run."""
        return MetricsLog(self.path / "metrics.jsonl")

    @property
    def environment(self) -> dict[str, Any]:
        """The content of `environment.json`; empty before it is written."""
        return read_json(self.path / ENVIRONMENT)

    def write_environment(self, threads: int) -> None:
        """Write versions, machine and threads."""
        import torch

        content = {
            "rankwell": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "processor": platform.machine(),
            "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
            "threads": threads,
            "libraries": {name: _version(name) for name in LIBRARIES},
        }
        write_json(self.path / ENVIRONMENT, content)

    @property
    def finished(self) -> bool:
        """Whether the run is finished."""
        return (self.path / RESULT).is_file()

    @property
    def result(self) -> dict[str, Any]:
        """The result: steps, seconds, the best step and its measures; empty for an unfinished run."""
        return read_json(self.path / RESULT)

    @contextmanager
    def preparing(self) -> Iterator[None]:
        """Remove the folder of a run that cannot begin, because its data or settings are invalid."""
        try:
            yield
        except RankwellError:
            if not self.metrics.path.exists() and self.checkpoints.newest() is None:
                (self.path / CONFIGURATION).unlink(missing_ok=True)
                with suppress(OSError):  # another process has put something there
                    self.path.rmdir()
            raise

    @contextmanager
    def writing_model(self) -> Iterator[Path]:
        """A folder to write the model into, which becomes `model/` when the block ends without an error."""
        staging = self.path / ".model"
        shutil.rmtree(staging, ignore_errors=True)
        try:
            staging.mkdir(parents=True)
            yield staging
            for file in staging.rglob("*.safetensors"):  # the library makes it readable by its owner only
                shutil.copymode(self.path / CONFIGURATION, file)
            sync_tree(staging)
            shutil.rmtree(self.model, ignore_errors=True)  # from a run that was interrupted between here and its end
            staging.rename(self.model)
            sync_folder(self.path)
        except Exception as error:
            if isinstance(error, RankwellError) or not is_of_writing(error):
                raise
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error).splitlines()[0]
            raise RankwellError(
                f"{self.model}: not written: {reason}: make room, then rankwell train resume {self.path}"
            ) from error
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def finish(self, result: Mapping[str, Any]) -> None:
        """Write the result; from now on the run is finished."""
        write_json(self.path / RESULT, result)

    def _refuse_what_is_there(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise RankwellError(f"{self.path}: expected a new folder, found a file")
        if self.finished:
            raise RankwellError(f"{self.path}: holds a finished run, which is not overwritten: choose another folder")
        if (self.path / CONFIGURATION).is_file():
            raise RankwellError(
                f"{self.path}: holds a run that is not finished: go on with rankwell train resume {self.path}, "
                "or remove the folder"
            )
        if self.path.is_dir() and any(self.path.iterdir()):
            raise RankwellError(f"{self.path}: expected a new or empty folder, found something in it")


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a readable JSON file atomically."""
    with atomic_write(path) as file:
        file.write(orjson.dumps(dict(content), option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY) + b"\n")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
