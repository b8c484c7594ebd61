"""How training went, as pictures and as a page: the loss and the ranking measures over the steps."""

from __future__ import annotations

from typing import Any

from rankwell.core import MissingExtraError, atomic_write
from rankwell.plots import Line, Picture, lines
from rankwell.report import Column, Heading, Page, PicturePart, Table, TablePart, Text
from rankwell.train.run_folder import RunFolder

LOSS = "loss"


def loss_picture(metrics: list[dict[str, Any]]) -> Picture | None:
    """The loss on training and on validation examples; None where there is none yet."""
    curves = [_line("training", [(x["step"], x[LOSS]) for x in metrics if LOSS in x])]
    curves += [_line("validation", _validation(metrics, LOSS))]
    curves = [curve for curve in curves if len(curve.x)]
    return lines(curves, title="Loss", x="step", y="loss") if curves else None


def measure_picture(metrics: list[dict[str, Any]]) -> Picture | None:
    """The measures on validation queries; None where nothing was measured."""
    names = dict.fromkeys(name for x in metrics for name in x.get("validation", {}) if name != LOSS)
    curves = [_line(name, _validation(metrics, name)) for name in names]
    curves = [curve for curve in curves if len(curve.x)]
    return lines(curves, title="Validation", x="step", y="value") if curves else None


def write_curves(folder: RunFolder, measure: str | None) -> None:
    """`curves-loss.png`, `curves-measures.png` and `report.html`; nothing where matplotlib is not installed."""
    metrics = folder.metrics.lines()
    try:
        pictures = {"loss": loss_picture(metrics), "measures": measure_picture(metrics)}
        drawn = {name: picture for name, picture in pictures.items() if picture is not None}
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


def _validation(metrics: list[dict[str, Any]], name: str) -> list[tuple[int, float]]:
    measured = [(x["step"], x["validation"].get(name)) for x in metrics if "validation" in x]
    return [(step, value) for step, value in measured if value is not None]


def _line(name: str, points: list[tuple[int, float]]) -> Line:
    return Line(name, [step for step, _ in points], [value for _, value in points])
