from __future__ import annotations

import numpy as np
import pytest

from rankwell.core import ParameterError
from rankwell.report.pictures import boxes


def test_the_words_give_what_a_box_shows() -> None:
    picture = boxes({"old": [1, 1, 1], "new": [2, 4, 6, 8, 10], "none": []}, title="Relevant", y="passages")
    assert picture.alt == (
        "Relevant: passages; old median 1, middle half 1 to 1, from 1 to 1; "
        "new median 6, middle half 4 to 8, from 2 to 10."
    )


def test_a_box_is_drawn_from_the_quartiles_with_outliers_as_dots() -> None:
    picture = boxes({"all": [1, 2, 3, 4, 5, 100]}, title="Spread", y="seconds")
    (axes,) = picture.figure.axes
    corners = axes.patches[0].get_path().vertices[:, 1]
    assert (corners.min(), corners.max()) == tuple(np.quantile([1, 2, 3, 4, 5, 100], [0.25, 0.75]))
    assert [100.0] in [line.get_ydata().tolist() for line in axes.lines]


def test_nothing_to_draw_is_refused() -> None:
    for groups in ({}, {"a": []}, {"a": [float("nan")]}):
        with pytest.raises(ParameterError, match="groups: expected at least one number"):
            boxes(groups, title="Nothing", y="passages")
