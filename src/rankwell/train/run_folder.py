"""The folder that every training leaves: the model, and everything that is needed to understand and to repeat it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from rankwell import __version__
from rankwell.core import FormatError, RankwellError, atomic_write
from rankwell.core.files import sync_folder
from rankwell.train.checkpoints import Checkpoints, is_of_writing, sync_tree
from rankwell.train.metrics_log import MetricsLog

CONFIGURATION, ENVIRONMENT, RESULT = "configuration.json", "environment.json", "result.json"


@dataclass(frozen=True)
class RunFolder:
    """A run of training on disk.

    configuration.json   the kind, every setting, the seed, the model it started from, the data and their fingerprints
    environment.json     versions, machine, threads
    metrics.jsonl        loss, learning rate and validation measures, step by step
    checkpoints/         what `rankwell train resume` goes on from; empty after a run that was finished
    model/               the result: the best by the validation measure, else the last
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
        """A new run. A folder that holds one already, or anything else, is left alone.

        `configuration`: every setting by name. `details`: what else is to be known of the data, such as which part of
        them was trained on.
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
        run.path.mkdir(parents=True, exist_ok=True)
        write_json(run.path / CONFIGURATION, content)
        return run

    @classmethod
    def open(cls, path: Path | str) -> RunFolder:
        """A run that was begun."""
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
        content = _read_json(self.path / CONFIGURATION)
        missing = [name for name in ("kind", "model", "data", "settings") if name not in content]
        if missing:
            raise FormatError(self.path / CONFIGURATION, None, expected=f'"{missing[0]}"', found=", ".join(content))
        return content

    @property
    def kind(self) -> str:
        """What was trained: `cross-encoder`, `bi-encoder`, `mlm`, ..."""
        return str(self.configuration["kind"])

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting by name."""
        return dict(self.configuration["settings"])

    @property
    def model(self) -> Path:
        """The result; loads in transformers, and in `rankwell rerank --model` or `rankwell encode --model`."""
        return self.path / "model"

    @property
    def checkpoints(self) -> Checkpoints:
        """What to go on from."""
        return Checkpoints(self.path / "checkpoints")

    @property
    def metrics(self) -> MetricsLog:
        """What was measured."""
        return MetricsLog(self.path / "metrics.jsonl")

    @property
    def environment(self) -> dict[str, Any]:
        """The content of `environment.json`; empty before the run has got that far."""
        file = self.path / ENVIRONMENT
        return _read_json(file) if file.is_file() else {}

    def write_environment(self, content: Mapping[str, Any]) -> None:
        """Note versions, machine and threads."""
        write_json(self.path / ENVIRONMENT, content)

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return (self.path / RESULT).is_file()

    @property
    def result(self) -> dict[str, Any]:
        """What came out: steps, seconds, the best step and its measures; empty for a run that is not finished."""
        return _read_json(self.path / RESULT) if self.finished else {}

    @contextmanager
    def preparing(self) -> Iterator[None]:
        """Leave no trace of a run that cannot begin, because its data or settings are no good."""
        try:
            yield
        except RankwellError:
            if not self.metrics.path.exists() and self.checkpoints.newest() is None:
                (self.path / CONFIGURATION).unlink(missing_ok=True)
                with suppress(OSError):  # somebody else put something there
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
            for file in staging.rglob("*.safetensors"):  # which the library makes for its owner's eyes only
                shutil.copymode(self.path / CONFIGURATION, file)
            sync_tree(staging)
            shutil.rmtree(self.model, ignore_errors=True)  # of a run that was killed between here and its end
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
        """Say what came out; from now on the run is finished."""
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
    """A readable JSON file, in its place when it is whole."""
    with atomic_write(path) as file:
        file.write(orjson.dumps(dict(content), option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY) + b"\n")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise FormatError(path, None, expected="JSON", found=str(error)) from error
    if not isinstance(content, dict):
        raise FormatError(path, None, expected="a JSON object", found=type(content).__name__)
    return content
