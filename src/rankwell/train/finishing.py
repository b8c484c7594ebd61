"""The end of a run: the best weights into `model/`, pictures, the report, the card; and last of all the result."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from rankwell.core import RankwellError
from rankwell.encode.description import task_of
from rankwell.encode.export import Export, make
from rankwell.encode.folder import ModelFolder
from rankwell.train.curves import write_curves
from rankwell.train.early_stopping import best_step, should_stop
from rankwell.train.hugging_face import RunTrainer
from rankwell.train.model_card import write_card
from rankwell.train.trainer import TrainingResult

log = logging.getLogger(__name__)


def finish(trainer: RunTrainer, *, seconds: float) -> TrainingResult:
    """Write everything that a finished run has."""
    folder, job, settings = trainer.folder, trainer.job, trainer.settings
    history = folder.metrics.validations(job.measure) if job.measure else []
    best = best_step(history, higher_is_better=job.higher_is_better)
    checkpoints = folder.checkpoints
    chosen = checkpoints.at(best) if best is not None else checkpoints.newest()
    if chosen is None or not chosen.is_dir():
        raise RankwellError(f"{folder.path}: expected the checkpoint {chosen}, found none: it was removed meanwhile")
    trainer.load_weights(chosen)
    job.model.eval()
    with folder.writing_model() as place:
        job.write_model(job.model, place)
        if settings.onnx:
            _export(place, str(folder.model))
    result = TrainingResult(
        folder=folder,
        steps=max(checkpoints.steps()),
        best=best,
        measures=_validation(folder.metrics.lines(), best),
        before=_validation(folder.metrics.lines(), 0),
        stopped_early=should_stop(history, settings.patience, higher_is_better=job.higher_is_better),
        seconds=seconds,
    )
    summary = summary_of(result)
    write_curves(folder, job.measure)
    write_card(folder, summary)
    folder.finish(summary)
    if not settings.keep_checkpoints:
        checkpoints.keep(set())
    return result


def summary_of(result: TrainingResult) -> dict[str, Any]:
    """What `result.json` says."""
    return {
        "steps": result.steps,
        "best_step": result.best,
        "measures": dict(result.measures),
        "before_training": dict(result.before),
        "stopped_early": result.stopped_early,
        "seconds": round(result.seconds, 1),
    }


def _validation(lines: list[dict[str, Any]], step: int | None) -> dict[str, float]:
    """What was measured after a step, or last of all."""
    found = [line for line in lines if "validation" in line and step in (None, line["step"])]
    return dict(found[-1]["validation"]) if found else {}


def _export(place: Path, name: str) -> None:
    """An ONNX file in the model's folder, so that it can be served without torch."""
    folder = ModelFolder(name, place)
    try:
        make(folder, Export(task_of(folder), padded=True), place / "onnx" / "model.onnx")
    except RankwellError as error:  # the weights are worth more than their copy
        log.warning("%s: no ONNX file was made: %s", name, error)
