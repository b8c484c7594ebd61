from __future__ import annotations

import pytest

from rankwell.core import ParameterError, RankwellError, Run
from rankwell.evaluation import rank_movement


def ranking(docnos: str) -> dict[str, float]:
    return {docno: float(-place) for place, docno in enumerate(docnos)}


def test_places_are_counted_up_and_down() -> None:
    before = Run.from_dict({"still": ranking("abc"), "turned": ranking("abc"), "only here": ranking("ab")})
    after = Run.from_dict({"still": ranking("abc"), "turned": ranking("cba")})
    found = rank_movement(before, after)
    assert found.places == {"still": 0.0, "turned": pytest.approx(4 / 3)}
    assert found.mean == pytest.approx(2 / 3)
    assert (found.moved, found.lost) == (6, 0)


def test_only_the_top_is_followed_and_lost_documents_are_counted() -> None:
    found = rank_movement(Run.from_dict({"q": ranking("abcd")}), Run.from_dict({"q": ranking("xyza")}), depth=2)
    assert found.places == {"q": 3.0}
    assert (found.moved, found.lost) == (1, 1)


def test_runs_with_nothing_in_common_are_refused() -> None:
    with pytest.raises(RankwellError, match="expected a document in both, found none"):
        rank_movement(Run.from_dict({"q": ranking("a")}), Run.from_dict({"q": ranking("b")}))
    with pytest.raises(ParameterError, match="depth"):
        rank_movement(Run.from_dict({"q": ranking("a")}), Run.from_dict({"q": ranking("a")}), depth=0)
