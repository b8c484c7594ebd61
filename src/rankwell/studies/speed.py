"""What a row costs: pairs, seconds, and how large its models are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rankwell.core import RankwellError
from rankwell.encode import find_model
from rankwell.studies.cells import SHORT
from rankwell.studies.figures import Figure
from rankwell.studies.measured import Measured
from rankwell.studies.model_sizes import ModelSize, size_of_model
from rankwell.studies.plan import PlannedRow
from rankwell.studies.steps import STEPS, Chain
from rankwell.studies.training_job import MODEL, TrainJob

SIZE = ("M parameters", "MB")
SPEED = ("pairs", "pairs/s", "seconds", *SIZE)


def speed_of(measured: Measured, row: PlannedRow) -> dict[str, Figure]:
    """How many pairs the last step read, how many a second, how long that takes, and the size of the models."""
    record = measured.store.record(row.place.key)
    cell = row.place.key[:SHORT]
    pairs, speed = record.get("pairs"), record.get("pairs_per_second")
    if pairs is None:
        found = {"seconds": Figure(record.get("stage_seconds", 0.0), cell, digits=1)}
    else:
        found = {"pairs": Figure(pairs, cell, digits=0)}
        if speed:
            found |= {"pairs/s": Figure(speed, cell, digits=1), "seconds": Figure(pairs / speed, cell, digits=1)}
    return found | size_of(measured, row)


def size_of(measured: Measured, row: PlannedRow) -> dict[str, Figure]:
    """Parameters and megabytes of all models of a row; nothing where it has none, or one is no longer here."""
    cell = row.place.key[:SHORT]
    try:
        sizes = [size_of_model(folder, precision) for folder, precision in _models(measured, row)]
    except (RankwellError, OSError):
        return {}
    if not sizes:
        return {}
    whole = ModelSize(sum(size.parameters for size in sizes), sum(size.bytes for size in sizes))
    told = (whole.parameters / 1e6, whole.bytes / 1e6)
    return {name: Figure(value, cell, digits=1) for name, value in zip(SIZE, told, strict=True)}


def _models(measured: Measured, row: PlannedRow) -> set[tuple[Path, str | None]]:
    """Where the models of a row lie, and at which precision they run."""
    found = set()
    for name, precision in _used(row.chain):
        found.add((trained_folder(measured, row, name) or find_model(name), precision))
    return found


def _used(chain: Chain) -> Iterator[tuple[str, str | None]]:
    for step in chain:
        use = STEPS[step.kind].model(step)
        if use is not None and not step.beside:
            yield use.name, step.settings.get("precision")
        for line in step.beside:
            yield from _used(line)


def trained_folder(measured: Measured, row: PlannedRow, name: str) -> Path | None:
    """Where a model lies that the study trains: its cell is among those that the row's run was made of."""
    recipe = measured.plan.file.models().get(name)
    wanted = {row.place.key} if recipe is not None else set()
    while wanted:
        cell = measured.plan.cells[wanted.pop()]
        if isinstance(cell.job, TrainJob) and cell.job.recipe == recipe:
            return measured.store.path(cell.key) / MODEL
        wanted |= set(cell.parents)
    return None
