"""The array types that Rankwell uses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

TEXT = np.dtypes.StringDType()

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]
# numpy's typing cannot express the element type of variable-width strings yet.
Strings = np.ndarray[Any, Any]


def strings(values: Iterable[str]) -> Strings:
    """Variable-width UTF-8 strings: 16 bytes for a short id, against 60 for a Python string."""
    return np.array(values if isinstance(values, (list, np.ndarray)) else list(values), dtype=TEXT)
