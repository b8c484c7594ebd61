"""Cells that were planned on another machine: whether this one has the same data, models and libraries."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from rankwell import __version__
from rankwell.core import RankwellError
from rankwell.encode import find_model
from rankwell.studies.cells import Cell
from rankwell.studies.data import Chosen, facts_of
from rankwell.studies.data_jobs import AssessorsJob, PairsJob
from rankwell.studies.jobs import IndexJob, RunJob, VectorsJob
from rankwell.studies.models import check_model, weights_of
from rankwell.studies.steps import STEPS
from rankwell.studies.steps.given import STORED, fingerprint_of_run
from rankwell.studies.training_job import TrainJob

LIBRARIES = ("numpy", "onnxruntime", "tokenizers", "torch", "transformers")


def libraries() -> dict[str, str]:
    """The versions of what results may depend on, as far as it is installed."""
    found = {"rankwell": __version__}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def check_libraries(expected: Mapping[str, str]) -> None:
    """Refuse other versions than those that the study's report will name."""
    found = libraries()
    for name in dict.fromkeys((*expected, *found)):
        if expected.get(name) != found.get(name):
            known = expected.get(name, "no such library")
            raise RankwellError(f"{name}: expected {known} as where the study was begun, found {found.get(name)}")


def check_inputs(cell: Cell) -> None:
    """Refuse to work with other data or models than those that the cell was planned with."""
    job = cell.job
    if isinstance(job, IndexJob | PairsJob | AssessorsJob):
        _check_data(job.chosen)
    elif isinstance(job, TrainJob):
        for chosen in job.collections:
            _check_data(chosen)
        for name, weights in zip(job.recipe.models, job.weights, strict=True):
            _check_same(name, weights, weights_of(find_model(name)))
    elif isinstance(job, VectorsJob | RunJob):
        _check_step(job)


def _check_step(job: VectorsJob | RunJob) -> None:
    use = STEPS[job.step.kind].model(job.step)
    if job.step.kind in STORED:
        _check_same(job.step["file"], job.model, fingerprint_of_run(job.step, job.ground.source))
    elif use is not None and not job.step.beside and use.name not in dict(job.ground.models):
        _check_same(use.name, job.model, check_model(use))


def _check_data(chosen: Chosen) -> None:
    here, planned = facts_of(chosen.open(), chosen.entry), chosen.facts
    _check_same(chosen.source, planned.fingerprint, here.fingerprint)
    if planned.training:
        _check_same(f"{chosen.source} ({chosen.entry.train})", planned.training, here.training)


def _check_same(what: str, expected: str | None, found: str) -> None:
    if found != expected:
        raise RankwellError(f"{what}: expected the same as where the study was begun, found something else")
