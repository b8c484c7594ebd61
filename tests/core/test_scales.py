from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from rankwell.core.run import sigmoid


def test_the_sigmoid_is_scipys_and_never_overflows() -> None:
    logits = np.array([-1e4, -20.0, -1.5, 0.0, 0.25, 30.0, 1e4], dtype=np.float32)
    found = sigmoid(logits)
    assert found.dtype == np.float64
    assert found == pytest.approx(expit(logits.astype(np.float64)), abs=1e-12)
