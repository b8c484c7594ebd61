"""For years: with few descriptors and constant writing nothing is refused, all is seen, and nothing grows."""

from __future__ import annotations

from pathlib import Path

import pytest

from soak import soak

pytestmark = pytest.mark.slow
MEGABYTE = 1 << 20


# When versions were left to the garbage collector, 128 descriptors were used up after 5 seconds, 256 after 15.
@pytest.mark.parametrize(("seconds", "descriptors"), [(15, 128), pytest.param(120, 256, marks=pytest.mark.long)])
def test_constant_writing_with_few_descriptors(
    tmp_path: Path, shared_home: Path, seconds: float, descriptors: int
) -> None:
    done = soak(tmp_path, seconds, descriptors=descriptors, RANKWELL_HOME=str(shared_home))
    assert done.refused == []
    assert done.unseen == []
    assert min(done.acknowledged, done.searches, done.killed) > 10
    assert "cannot be opened" not in done.said
    third = len(done.samples) // 3
    middle, last = done.samples[third : 2 * third], done.samples[2 * third :]
    assert max(sample.descriptors for sample in done.samples) < descriptors // 2
    assert max(sample.descriptors for sample in last) <= max(sample.descriptors for sample in middle) + 20
    lowest = [min(sample.memory for sample in samples) for samples in (middle, last)]
    assert lowest[1] < lowest[0] + 20 * MEGABYTE
