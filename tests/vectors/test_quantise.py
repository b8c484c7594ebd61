"""Vectors as whole numbers: close to what they were made of, and never further from a score than is said."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import RankwellError
from rankwell.vectors.quantise import SHIFT, bounds, planes, query_codes, restored, unit

pytestmark = pytest.mark.numeric

SHAPES = st.tuples(st.integers(1, 40), st.integers(1, 70), st.integers(0, 10_000))


def vectors(shape: tuple[int, int, int]) -> np.ndarray:
    """Of length 1, some of them with one component that outshines the others."""
    generator = np.random.default_rng(shape[2])
    made = generator.standard_normal(shape[:2]) * generator.exponential(size=(shape[0], 1))
    made[generator.random(shape[:2]) < 0.02] *= 30
    return unit(made.astype(np.float32))


@given(SHAPES)
def test_a_stored_vector_is_off_by_half_a_step_at_most(shape: tuple[int, int, int]) -> None:
    given_vectors = vectors(shape)
    made = planes(given_vectors)
    scales = np.repeat([group.scale for group in made.groups], [group.rows for group in made.groups])
    found = restored(made.high, made.low) * scales[:, None]
    error = np.abs(found - given_vectors[made.order])
    largest = np.abs(given_vectors[made.order]).max(axis=1, keepdims=True)
    assert (error <= scales[:, None] * 0.51).all()
    assert (error <= largest / 32_639 * 2**0.25 * 0.51 + 1e-12).all()


@given(SHAPES, st.integers(0, 10_000))
def test_a_search_of_the_upper_planes_is_never_further_off_than_its_bound(
    shape: tuple[int, int, int], seed: int
) -> None:
    made = planes(vectors(shape))
    queries = query_codes(vectors((5, shape[1], seed)))
    scales = np.repeat([group.scale for group in made.groups], [group.rows for group in made.groups])
    exact = (queries.fine * queries.fine_scale[:, None]) @ (restored(made.high, made.low) * scales[:, None]).T
    upper = (made.high.astype(float) - SHIFT) * 256 * scales[:, None]
    approximate = (queries.coarse * queries.coarse_scale[:, None]) @ upper.T
    allowed = np.repeat(
        [bounds(queries, group) for group in made.groups], [group.rows for group in made.groups], axis=0
    )
    assert (np.abs(exact - approximate) <= allowed.T).all()


def test_zeros_stay_zeros() -> None:
    made = planes(unit(np.zeros((2, 8), dtype=np.float32)))
    assert (restored(made.high, made.low) == 0).all()


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(RankwellError, match="expected finite numbers"):
        unit(np.array([[1.0, np.nan]], dtype=np.float32))
