"""A study's figures as pictures."""

from __future__ import annotations

import logging

from rankwell.core import MissingExtraError
from rankwell.plots import Line, Picture, bars, lines
from rankwell.studies.figures import Drawing

logger = logging.getLogger(__name__)
DIGITS = 3


def drawn(drawing: Drawing) -> Picture | None:
    """The picture; None where matplotlib is not installed, which is said."""
    try:
        if drawing.bars:
            series = {drawing.x: list(drawing.bars.values())}
            return bars(list(drawing.bars), series, title=drawing.title, x=drawing.x, digits=DIGITS)
        curves = [Line(curve.name, curve.x, curve.y, curve.low, curve.high) for curve in drawing.curves]
        return lines(curves, title=drawing.title, x=drawing.x, y=drawing.y, level=drawing.level)
    except MissingExtraError as error:
        logger.warning("the report has no figures: %s", error)
        return None
