"""The data of a training run: opened, split into training and validation, and reopened on resume."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankwell.core import ParameterError, RankwellError
from rankwell.models.base.folder import ModelFolder
from rankwell.models.learning.pairs import Pairs, open_pairs
from rankwell.models.learning.run_folder import RunFolder
from rankwell.models.learning.starting_model import find_trainable


@dataclass(frozen=True)
class Data:
    """Training pairs, and validation pairs where some were held out."""

    training: Pairs
    validation: Pairs | None

    @classmethod
    def of(cls, pairs: Pairs | Path | str, validation: Pairs | Path | str | float | None, seed: int) -> Data:
        """Open the pairs, and hold out a fraction of the queries where asked for."""
        whole = pairs if isinstance(pairs, Pairs) else open_pairs(pairs)
        if validation is None or validation == 0:
            return cls(whole, None)
        if isinstance(validation, (int, float)):
            if not 0 < validation < 1:
                raise ParameterError("validation", expected="a share from 0 to below 1", found=validation)
            return cls(*whole.split(validation, seed))
        return cls(whole, validation if isinstance(validation, Pairs) else open_pairs(validation))

    def run_folder(
        self, out: Path | str, kind: str, settings: Mapping[str, Any], model: ModelFolder, *, resume: bool
    ) -> RunFolder:
        """Create a run folder for these data; or reopen the one there, if it is the same run and may be resumed."""
        if resume and (Path(out) / "configuration.json").is_file():
            return self._same(RunFolder.open(out), kind, settings, model)
        return RunFolder.create(
            out,
            kind,
            settings,
            self.training.fingerprint,
            data=str(self.training.folder.resolve()),
            model=full_name(model.name),
            model_fingerprint=model.fingerprint(),
            details={
                "part": list(self.training.part),
                "pairs": len(self.training),
                "validation": None if self.validation is None else _described(self.validation),
            },
        )

    def _same(self, run: RunFolder, kind: str, settings: Mapping[str, Any], model: ModelFolder) -> RunFolder:
        told = run.configuration
        now = (kind, dict(settings), self.training.fingerprint, model.fingerprint())
        before = (told["kind"], told["settings"], told["data"]["fingerprint"], told["model"]["fingerprint"])
        for name, one, other in zip(("kind", "settings", "data", "model"), now, before, strict=True):
            if one != other:
                raise RankwellError(f"{run.path}: holds a run with another {name}: choose another folder")
        return run

    @classmethod
    def reopen(cls, run: RunFolder) -> Data:
        """The data of a run to resume; refused where they have changed since."""
        told = run.configuration["data"]
        held_out = told.get("validation")
        return cls(_found_again(run, told), None if held_out is None else _found_again(run, held_out))

    @staticmethod
    def model_of(run: RunFolder) -> ModelFolder:
        """The starting model of a run; refused where it has changed since."""
        told = run.configuration["model"]
        folder = find_trainable(str(told["name"]))
        if folder.fingerprint() != told["fingerprint"]:
            raise RankwellError(f"{run.path}: expected the model it was begun from in {folder.path}, found another")
        return folder


def _described(pairs: Pairs) -> dict[str, Any]:
    part = list(pairs.part)
    return {"folder": str(pairs.folder.resolve()), "fingerprint": pairs.fingerprint, "part": part, "pairs": len(pairs)}


def full_name(model: str) -> str:
    """The full path of a user's folder, so that it is found from anywhere; the name of other models."""
    local = Path(model).expanduser()
    return str(local.resolve()) if local.is_dir() else model


def _found_again(run: RunFolder, told: Mapping[str, Any]) -> Pairs:
    pairs = _part(open_pairs(str(told["folder"])), list(told.get("part", [])))
    if pairs.fingerprint != told["fingerprint"]:
        raise RankwellError(f"{run.path}: expected the pairs that it was begun with in {pairs.folder}, found others")
    return pairs


def _part(pairs: Pairs, how: list[Any]) -> Pairs:
    while how:
        step, *how = how
        if step == "split":
            by, share, seed, side, *how = how
            pairs = pairs.split(share, seed, by)[side == "validation"]
        elif step == "fold":
            by, number, count, seed, side, *how = how
            pairs = pairs.folds(count, seed, by)[number][side == "validation"]
        elif step == "limit":
            count, seed, *how = how
            pairs = pairs.limit(count, seed)
        else:
            raise RankwellError(
                f"{pairs.folder}: the run was begun by a program, on single rows of these pairs: go on from there, "
                "with resume=True"
            )
    return pairs
