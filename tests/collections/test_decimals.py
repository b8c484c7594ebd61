from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.collections.formats.trec_run import decimals

PLAIN = st.from_regex(r"-?[0-9]{1,7}\.[0-9]{1,8}", fullmatch=True).filter(lambda text: len(text.strip("-")) <= 16)


def found_in(texts: list[str]) -> list[float] | None:
    """Parse numbers that stand in a buffer among other things."""
    line = b"q.1 "
    buffer, starts = b"", []
    for text in texts:
        buffer += line
        starts.append(len(buffer))
        buffer += text.encode() + b" t.g\n"
    lengths = np.array([len(text) for text in texts])
    found = decimals(np.frombuffer(buffer, dtype=np.uint8), np.array(starts), lengths)
    return None if found is None else found.tolist()


@given(st.lists(PLAIN, min_size=1))
def test_plain_numbers_are_read_as_python_reads_them(texts: list[str]) -> None:
    assert found_in(texts) == [float(text) for text in texts]


NOT_PLAIN = "1e5 12 1. .5 - 1.5e-3 123456789.0 0.123456789 1x.5 1.5x 1.2.3 nan +1.5 1,5"


@pytest.mark.parametrize("text", NOT_PLAIN.split())
def test_what_is_not_plain_is_left_to_others(text: str) -> None:
    assert found_in(["1.5", text, "2.5"]) is None


@given(st.lists(st.text(st.sampled_from("0123456789.-+e "), min_size=1, max_size=12), min_size=1))
def test_nothing_that_is_no_number_is_read_as_one(texts: list[str]) -> None:
    texts = [text.replace(" ", "x") for text in texts]
    found = found_in(texts)
    if found is not None:
        assert found == [float(text) for text in texts]
