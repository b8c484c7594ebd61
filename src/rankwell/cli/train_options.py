"""Options that all training of models shares."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from rankwell.cli import options

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


class Shared(NamedTuple):
    """An option of all training: what it is, and its default."""

    option: Any
    default: Any


SHARED: Mapping[str, Shared] = MappingProxyType(
    {
        "validation": Shared(Validation, "0.1"),
        "measure": Shared(Measure, "nDCG@10"),
        "epochs": Shared(Epochs, 3),
        "steps": Shared(Steps, None),
        "batch_size": Shared(BatchSize, 16),
        "accumulate": Shared(Accumulate, 1),
        "lr": Shared(Lr, 2e-5),
        "warmup": Shared(Warmup, 0.1),
        "weight_decay": Shared(WeightDecay, 0.01),
        "dropout": Shared(Dropout, None),
        "freeze": Shared(Freeze, "none"),
        "evaluate_every": Shared(EvaluateEvery, None),
        "save_every": Shared(SaveEvery, None),
        "patience": Shared(Patience, None),
        "precision": Shared(Precision, "auto"),
        "seed": Shared(TrainingSeed, 42),
        "keep_checkpoints": Shared(KeepCheckpoints, False),
        "onnx": Shared(Onnx, True),
        "threads": Shared(options.Threads, None),
        "quiet": Shared(options.Quiet, False),
    }
)
Command = Callable[..., None]


def with_training_options(**changed: Any) -> Callable[[Command], Command]:
    """Give a command the options of all training, behind its own; it gets those that are settings as `**settings`.

    `changed` has other defaults by name, or a `Shared` where the help differs too. The command line is made of a
    function's signature, so that is what is added to.
    """
    chosen = dict(SHARED)
    for name, change in changed.items():
        chosen[name] = change if isinstance(change, Shared) else SHARED[name]._replace(default=change)

    def add(command: Command) -> Command:
        whole = inspect.signature(command, eval_str=True)
        own = [part for name, part in whole.parameters.items() if name not in SHARED and name != "settings"]
        added = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=shared.default, annotation=shared.option)
            for name, shared in chosen.items()
        ]
        parameters = [*(part.replace(kind=inspect.Parameter.KEYWORD_ONLY) for part in own), *added]
        command.__signature__ = whole.replace(parameters=parameters)  # type: ignore[attr-defined]  # inspect looks there
        command.__annotations__ = {part.name: part.annotation for part in parameters}
        return command

    return add


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
