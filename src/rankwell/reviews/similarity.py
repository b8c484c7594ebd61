"""Gestalt similarity (Ratcliff-Obershelp) of two texts, as Python's difflib has it, and many times faster."""

from __future__ import annotations

import importlib
import logging
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwell.core import home

logger = logging.getLogger(__name__)


def gestalt(a: str, b: str) -> float:
    """2 M / T: the share of characters in matching blocks, from 0 to 1; 1 for two empty texts.

    Blocks are found as in J. W. Ratcliff and D. E. Metzener, "Pattern matching: the Gestalt approach" (Dr. Dobb's
    Journal, 1988): the longest common block, and the same again left and right of it. The value is exactly that of
    `difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()`. The order matters where several blocks are equally
    long: the earliest in `a` is taken. Rankwell always puts the review's text first and the candidate's second.
    """
    if a == b:
        return 1.0
    if not a or not b:
        return 0.0
    return 2.0 * _kernel()(_characters(a), _characters(b)) / (len(a) + len(b))


def _characters(text: str) -> npt.NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


@cache
def _kernel() -> Callable[[Any, Any], int]:
    """The compiled loop; compiled when it first runs on a machine, and kept under RANKWELL_HOME."""
    config: Any = importlib.import_module("numba").config
    before, config.CACHE_DIR = config.CACHE_DIR, str(_cache_folder())
    try:
        module = importlib.import_module("rankwell.reviews.gestalt_kernel")
    finally:
        config.CACHE_DIR = before
    kernel: Callable[[Any, Any], int] = module.matching_characters
    return kernel


def _cache_folder() -> Path:
    folder = home() / "kernels" / "gestalt"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK)
    except OSError:
        writable = False
    if writable:
        return folder
    logger.warning("%s cannot be written to: the similarity is compiled anew in every process", folder)
    return Path(tempfile.mkdtemp(prefix="rankwell-kernels-"))
