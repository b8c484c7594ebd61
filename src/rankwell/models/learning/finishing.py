"""The end of a training run: best weights, report, model card; and the summary of the measurements."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from rankwell.core import RankwellError
from rankwell.models.base.catalogue import task_of
from rankwell.models.base.export import Export, make
from rankwell.models.base.folder import ModelFolder
from rankwell.models.learning.hugging_face import RunTrainer
from rankwell.models.learning.model_card import write_card, write_curves
from rankwell.models.learning.settings import best_step, should_stop
from rankwell.models.learning.trainer import TrainingResult

log = logging.getLogger(__name__)


def finish(trainer: RunTrainer, *, seconds: float) -> TrainingResult:
    """Write all files of a finished run."""
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
    """The content of `result.json`."""
    return {
        "steps": result.steps,
        "best_step": result.best,
        "measures": dict(result.measures),
        "before_training": dict(result.before),
        "stopped_early": result.stopped_early,
        "seconds": round(result.seconds, 1),
    }


def _validation(lines: list[dict[str, Any]], step: int | None) -> dict[str, float]:
    """The validation measures after a step, or the last ones."""
    found = [line for line in lines if "validation" in line and step in (None, line["step"])]
    return dict(found[-1]["validation"]) if found else {}


def _export(place: Path, name: str) -> None:
    """Write an ONNX file into the model's folder, so that it can be served without torch."""
    folder = ModelFolder(name, place)
    try:
        make(folder, Export(task_of(folder), padded=True), place / "onnx" / "model.onnx")
    except RankwellError as error:  # a failed export must not lose the weights
        log.warning("%s: no ONNX file was made: %s", name, error)
