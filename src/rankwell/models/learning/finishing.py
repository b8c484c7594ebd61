"""The end of a training run: its best weights, its summary, its model card and its learning curves."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwell.core import MissingExtraError, RankwellError, atomic_write
from rankwell.models.base.catalogue import task_of
from rankwell.models.base.export import Export, make
from rankwell.models.base.folder import ModelFolder
from rankwell.models.learning.run_folder import RunFolder
from rankwell.models.learning.settings import best_step, should_stop
from rankwell.models.learning.trainer import TrainingResult
from rankwell.models.review_rankers.architectures import ARCHITECTURES, architecture
from rankwell.report import Column, Heading, Page, PicturePart, Table, TablePart, Text
from rankwell.report.pictures import Line, Picture, lines

if TYPE_CHECKING:
    from rankwell.models.learning.hugging_face import RunTrainer

log = logging.getLogger(__name__)


def finish(trainer: RunTrainer, *, seconds: float) -> TrainingResult:
    """Write all files of a finished run."""
    folder, job, settings = trainer.folder, trainer.job, trainer.settings
    history = folder.metrics.validations(job.measure)
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
    summary = {
        "steps": result.steps,
        "best_step": result.best,
        "measures": dict(result.measures),
        "before_training": dict(result.before),
        "stopped_early": result.stopped_early,
        "seconds": round(result.seconds, 1),
    }
    write_curves(folder, job.measure)
    write_card(folder, summary)
    folder.finish(summary)
    if not settings.keep_checkpoints:
        checkpoints.keep(set())
    return result


def _validation(lines: list[dict[str, Any]], step: int | None) -> dict[str, float]:
    """The validation measures after a step, or the last ones."""
    measured = [line["validation"] for line in lines if "validation" in line and step in (None, line["step"])]
    return dict(measured[-1]) if measured else {}


def _export(place: Path, name: str) -> None:
    """Write an ONNX file into the model's folder, so that it can be served without torch."""
    folder = ModelFolder(name, place)
    try:
        make(folder, Export(task_of(folder), padded=True), place / "onnx" / "model.onnx")
    except RankwellError as error:  # a failed export must not lose the weights
        log.warning("%s: no ONNX file was made: %s", name, error)


CARD = "README.md"
NAMES = {"parade": "PARADE model", "duo": "duo model"}  # of kinds that are no nouns
NAMES |= {kind: f"ranker of the kind {kind}" for kind in ARCHITECTURES}


CLASSIFIER = "It is a Hugging Face folder: `AutoModelForSequenceClassification.from_pretrained(...)` loads it."
PAIR_USE = f"""Give it a query and a document; the one logit ranks.

    rankwell rerank RUN --index DIR --queries QUERIES --model {{model}} -o NEW_RUN{{budget}}

{CLASSIFIER}"""
REVIEW_RANKER_USE = """Give it a query and a document; the one logit ranks. It reads {inputs}.

    rankwell rerank RUN --index DIR --queries QUERIES --model {model} -o NEW_RUN{example}

Each folder in it is a Hugging Face folder with an encoder, the head is in `head.safetensors`, how texts are read is in
`ranker.json`, and `onnx/model.onnx` has all of it in one graph."""
OTHER_USE = "It is a Hugging Face folder: `transformers.AutoModel.from_pretrained({model!r})` loads it."
USES: Mapping[str, str] = {
    "cross-encoder": PAIR_USE,
    "bi-encoder": """Texts become vectors of length 1; the dot product ranks.

    rankwell encode DIR --model {model}

`sentence_transformers.SentenceTransformer(...)` loads it.""",
    "distilled cross-encoder": f"""It has learnt from `{{teacher}}`, its teacher, by the method {{method}}.

{PAIR_USE}""",
    "parade": """Give it a query and a whole document, which it splits into passages itself; the one logit ranks.

    rankwell rerank RUN --index DIR --queries QUERIES --model {model} -o NEW_RUN

The body is a Hugging Face folder, what stands above it is in `aggregator.safetensors`, how documents are split and read
is in `ranker.json`, and `onnx/model.onnx` has all of it in one graph.""",
    "duo": f"""Give it a query and two documents; the one logit says whether the first is the more relevant one.
It re-orders a few of the best documents of another re-ranker's run, each compared with each other.

    rankwell rerank RUN --index DIR --queries QUERIES --model {{model}} -k 20 --aggregate sum -o NEW_RUN

{CLASSIFIER} Segments are 0 for the
query, 1 for the first document and 2 for the second.""",
    **dict.fromkeys(ARCHITECTURES, REVIEW_RANKER_USE),
}


def _use(folder: RunFolder) -> str:
    """How the model is used, as its card says."""
    settings = folder.settings
    budgets = {"max_tokens": "--max-tokens", "query_tokens": "--query-tokens"}
    budget = "".join(f" {option} {settings[name]}" for name, option in budgets.items() if settings.get(name))
    told: dict[str, Any] = {"model": str(folder.model), "budget": budget}
    told |= {name: settings.get(name) for name in ("teacher", "method")}
    if folder.kind in ARCHITECTURES:
        kind = architecture(folder.kind, settings.get("texts"))
        told |= {"inputs": ", ".join(kind.inputs), "example": " --relevant QRELS" if kind.reads_relevant else ""}
    return USES.get(folder.kind, OTHER_USE).format(**told)


def write_card(folder: RunFolder, result: Mapping[str, Any]) -> None:
    """Write the card as `README.md` into the run's folder and the model's."""
    with atomic_write(folder.path / CARD) as file:
        file.write(card(folder, result).encode())
    shutil.copy(folder.path / CARD, folder.model / CARD)


def card(folder: RunFolder, result: Mapping[str, Any]) -> str:
    """The model card as Markdown."""
    configuration, settings = folder.configuration, folder.settings
    model, data = configuration["model"], configuration["data"]
    use, kind = _use(folder), NAMES.get(folder.kind, folder.kind)
    rows = "\n".join(f"| {name} | {'' if value is None else value} |" for name, value in settings.items())
    return f"""---
library_name: transformers
tags: [rankwell, {folder.kind}]
---

# {folder.path.resolve().name}

A {kind} that was trained with Rankwell {configuration["rankwell"]}, begun from `{model["name"]}`.

## Use

{use}

## Measured

{_measured(result)}

## Training

{result["steps"]:,} steps. Every setting is in `configuration.json`, versions and machine are in `environment.json`,
every step is in `metrics.jsonl`.

| setting | value |
|---|---|
{rows}
| data | `{data["folder"]}` |
| fingerprint of the data | `{data["fingerprint"]}` |
| fingerprint of the first weights | `{model["fingerprint"]}` |

## Limits

It knows the data it was trained on, their language, their errors and their bias; no other use was tried. The figures
above are over held-out examples of the same data, which also chose the step that is kept: measure it on queries of your
own before you rely on it.
"""


def _measured(result: Mapping[str, Any]) -> str:
    if not result["measures"]:
        return "Nothing was held out to measure with."
    when = f"step {result['best_step']:,}" if result["best_step"] is not None else "the last step"
    before = result["before_training"]
    rows = [
        f"| {name} | {_figure(before.get(name))} | {_figure(value)} |" for name, value in result["measures"].items()
    ]
    return "\n".join([f"| on validation examples | before training | after {when} |", "|---|---|---|", *rows])


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


LOSS = "loss"


def _pictures(metrics: list[dict[str, Any]]) -> dict[str, Picture]:
    """The losses and the validation measures as charts, where there are any yet."""
    curves: dict[str, list[tuple[int, float]]] = {}
    for line in metrics:
        for name, value in line.get("validation", {}).items():
            if value is not None:
                curves.setdefault(name, []).append((line["step"], value))
    losses = {"training": [(x["step"], x[LOSS]) for x in metrics if LOSS in x], "validation": curves.pop(LOSS, [])}
    drawn = {}
    for name, title, y, shown in (("loss", "Loss", "loss", losses), ("measures", "Validation", "value", curves)):
        drawable = [Line(of, *map(list, zip(*points, strict=True))) for of, points in shown.items() if points]
        if drawable:
            drawn[name] = lines(drawable, title=title, x="step", y=y)
    return drawn


def write_curves(folder: RunFolder, measure: str | None) -> None:
    """Write `curves-loss.png`, `curves-measures.png` and `report.html`; nothing without matplotlib."""
    metrics = folder.metrics.lines()
    try:
        drawn = _pictures(metrics)
        for name, picture in drawn.items():
            picture.save(folder.path / f"curves-{name}.png")
    except MissingExtraError:
        drawn = {}
    page = Page(
        f"Training of {folder.path.name}",
        [
            Text(f"A run of rankwell train {folder.kind}, begun from {folder.configuration['model']['name']}."),
            *(PicturePart(picture) for picture in drawn.values()),
            Heading("Validation"),
            *_validation_table(metrics, measure),
            Heading("Settings"),
            TablePart(_settings_table(folder)),
        ],
    )
    with atomic_write(folder.path / "report.html") as file:
        file.write(page.html().encode())


def _validation_table(metrics: list[dict[str, Any]], measure: str | None) -> list[Text | TablePart]:
    measured = [x for x in metrics if x.get("validation")]
    if not measured:
        return [Text("Nothing was held out.")]
    names = list(dict.fromkeys(name for x in measured for name in x["validation"]))
    rows = [[x["step"], x["epoch"], *(x["validation"].get(name) for name in names)] for x in measured]
    columns = [Column("step"), Column("epoch", digits=2), *(Column(name, digits=4) for name in names)]
    told = [Text(f"The weights that are kept are those with the best {measure}.")] if measure else []
    return [*told, TablePart(Table("Measured while training", columns, rows))]


def _settings_table(folder: RunFolder) -> Table:
    told = {**folder.settings, "data": folder.configuration["data"]["folder"]}
    told |= {"fingerprint of the data": folder.configuration["data"]["fingerprint"]}
    told |= {name: str(value) for name, value in folder.environment.items() if not isinstance(value, dict)}
    told |= dict(folder.environment.get("libraries", {}))
    rows = [[name, "" if value is None else str(value)] for name, value in told.items()]
    return Table("Settings and environment", [Column("name", "left"), Column("value", "left")], rows)
