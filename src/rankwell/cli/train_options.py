"""Options that all training of models shares."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rankwell.train import TrainingResult

PairsFolder = Annotated[
    Path, typer.Argument(metavar="PAIRS", help="Made by rankwell train pairs.", show_default=False, readable=False)
]
Model = Annotated[
    str, typer.Option(help="The model to start from: a folder, a short name or a hub id.", show_default=False)
]
Out = Annotated[
    Path, typer.Option("--out", "-o", help="The run's folder, a new one.", show_default=False, readable=False)
]
Validation = Annotated[
    str, typer.Option(help="The share of the queries to hold out, or a folder of pairs; 0 for none.")
]
Measure = Annotated[str, typer.Option("--measure", "-m", help="Decides which step is kept: nDCG@10, RR@10, AP, AUC.")]
Epochs = Annotated[float, typer.Option(help="Passes over the pairs.")]
Steps = Annotated[int | None, typer.Option(help="Changes of the weights, instead of --epochs.")]
BatchSize = Annotated[int, typer.Option(help="Pairs that are run together.")]
Accumulate = Annotated[int, typer.Option(help="Batches before the weights are changed.")]
Lr = Annotated[float, typer.Option(help="The highest learning rate of AdamW.")]
Warmup = Annotated[float, typer.Option(help="Steps until the highest learning rate: a share below 1, or a number.")]
WeightDecay = Annotated[float, typer.Option(help="AdamW's weight decay.")]
Dropout = Annotated[float | None, typer.Option(help="The share of dropped units; the model's own by default.")]
Freeze = Annotated[
    str, typer.Option(help="What stays as it is: none, embeddings, layers:N; head trains the head only.")
]
EvaluateEvery = Annotated[int | None, typer.Option(help="Steps between two evaluations; an epoch by default.")]
SaveEvery = Annotated[int | None, typer.Option(help="Steps between two checkpoints; as evaluations by default.")]
Patience = Annotated[int | None, typer.Option(help="Stop after so many evaluations without a new best.")]
Precision = Annotated[str, typer.Option(help="auto, fp32, bf16 or fp16.")]
TrainingSeed = Annotated[int, typer.Option("--seed", help="Of new weights, order, dropout and held-out queries.")]
KeepCheckpoints = Annotated[bool, typer.Option("--keep-checkpoints", help="Do not remove checkpoints at the end.")]
Onnx = Annotated[bool, typer.Option("--onnx/--no-onnx", help="Write an ONNX file beside the weights.")]


def validation_of(told: str) -> float | str:
    """A share, or the name of a folder."""
    try:
        return float(told)
    except ValueError:
        return told


@contextlib.contextmanager
def going_on(out: Path) -> Iterator[None]:
    """Say after Ctrl-C how to go on."""
    try:
        yield
    except Exception:
        raise
    except BaseException as interruption:
        if (out / "configuration.json").is_file():
            interruption.add_note(f"go on with rankwell train resume {out}")
        raise


def tell(result: TrainingResult, *, quiet: bool) -> None:
    """The model's folder, and how good it is."""
    print(result.folder.model)
    if quiet:
        return
    early = ", stopped early" if result.stopped_early else ""
    kept = f", the weights after step {result.best:,} are kept" if result.best is not None else ""
    print(f"{result.steps:,} steps in {result.seconds:,.0f} s{early}{kept}", file=sys.stderr)
    for name, value in result.measures.items():
        before = f" (before training {result.before[name]:.4f})" if name in result.before else ""
        print(f"validation {name}: {value:.4f}{before}", file=sys.stderr)
