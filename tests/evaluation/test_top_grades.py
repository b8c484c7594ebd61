from __future__ import annotations

import pytest

from rankwell.core import Judgments, ParameterError, Run
from rankwell.evaluation import join, top_grades


def test_the_top_is_broken_down_by_grade() -> None:
    judgments = Judgments.from_dict({"1": {"a": 2, "b": 0, "c": 1}, "2": {"a": 1}, "not in the run": {"a": 2}})
    run = Run.from_dict({"1": {"a": 4.0, "x": 3.0, "b": 2.0, "c": 1.0}, "2": {"x": 1.0}})
    found = top_grades(join(judgments, run), depth=3)
    assert found.grades == {2: 1, 1: 0, 0: 1}
    assert (found.unjudged, found.empty, found.documents, found.queries) == (2, 5, 4, 3)
    assert found.share(None) == 0.5
    assert found.share(2) == 0.25


def test_a_depth_of_nothing_is_refused() -> None:
    view = join(Judgments([("q", "a", 1)]), Run.from_dict({"q": {"a": 1.0}}))
    with pytest.raises(ParameterError, match="depth"):
        top_grades(view, depth=0)
