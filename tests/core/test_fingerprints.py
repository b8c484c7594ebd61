from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core.fingerprint import canonical, fingerprint, fingerprint_file

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@dataclass(frozen=True)
class Window:
    size: int


@dataclass(frozen=True)
class Overlap:
    size: int


@given(PLAIN)
def test_any_plain_value_has_a_stable_name(value: Any) -> None:
    assert fingerprint(value) == fingerprint(value)
    assert len(fingerprint(value)) == 64


@given(st.dictionaries(st.text(), st.integers(), min_size=2))
def test_the_order_of_keys_does_not_matter(value: dict[str, int]) -> None:
    assert fingerprint(value) == fingerprint(dict(reversed(value.items())))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (None, float("inf")),
        (float("nan"), None),
        (float("inf"), -float("inf")),
        (1, 1.5),
        (1, "1"),
        (True, 1),
        ([1, 2], [2, 1]),
        ([[1], 2], [1, [2]]),
        (2**70, 2**70 + 1),
        (Window(5), Overlap(5)),
        (Window(5), {"size": 5}),
        (np.array([1.0, np.inf]), np.array([1.0, -np.inf])),
    ],
)
def test_different_values_have_different_names(one: Any, other: Any) -> None:
    assert fingerprint(one) != fingerprint(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((1, 2), [1, 2]),
        (np.int64(3), 3),
        (np.array([[1, 2]]), [[1, 2]]),
        ({"b", "a"}, {"a", "b"}),
        (MappingProxyType({"a": 1}), {"a": 1}),
        (Path("x") / "y", "x/y"),
    ],
)
def test_the_same_thing_in_another_dress_has_the_same_name(one: Any, other: Any) -> None:
    assert fingerprint(one) == fingerprint(other)


def test_names_do_not_change_between_versions_of_rankwell() -> None:
    assert canonical({"b": [1, 2.5, None], "a": "é"}) == '{"a":"é","b":[1,2.5,null]}'.encode()


def test_what_has_no_plain_form_is_refused() -> None:
    with pytest.raises(TypeError, match="not complex"):
        fingerprint({"z": 1j})


def test_a_file_is_named_by_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abc")
    assert fingerprint_file(tmp_path / "f") == hashlib.sha256(b"abc").hexdigest()
