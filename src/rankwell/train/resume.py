"""Going on with a run that was killed, whatever its kind."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from rankwell.core import RankwellError
from rankwell.rerank.architectures import ARCHITECTURES
from rankwell.train.run_folder import RunFolder
from rankwell.train.trainer import TrainingResult

# Kind: the module and the function that goes on with it. By name, because they load torch.
KINDS = {
    "cross-encoder": ("rankwell.train.cross_encoder", "resume_cross_encoder"),
    "bi-encoder": ("rankwell.train.bi_encoder", "resume_bi_encoder"),
    "mlm": ("rankwell.train.mlm", "resume_mlm"),
    "duo": ("rankwell.train.duo", "resume_duo"),
    "parade": ("rankwell.train.parade", "resume_parade"),
    **dict.fromkeys(ARCHITECTURES, ("rankwell.train.architecture", "resume_architecture")),
    "distilled cross-encoder": ("rankwell.train.distillation", "resume_distillation"),
}


def resume_training(path: Path | str, *, quiet: bool = False) -> TrainingResult:
    """Go on from the newest complete checkpoint, or from the start where there is none."""
    run = RunFolder.open(path)
    if run.finished:
        raise RankwellError(f"{run.path}: is finished: there is nothing to go on with")
    if run.kind not in KINDS:
        raise RankwellError(f"{run.path}: expected a run of {', '.join(KINDS)}, found {run.kind}")
    module, name = KINDS[run.kind]
    go_on: Callable[..., Any] = getattr(import_module(module), name)
    result: TrainingResult = go_on(run, quiet=quiet)
    return result
