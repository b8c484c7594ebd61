"""int8 scores and vectors do not depend on the processor: here, and as QEMU runs them on one without VNNI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from emulated import ENVIRONMENT, QEMU
from needs import require
from rankwell.models.base import PairScorer, TextEncoder
from rankwell.models.base.catalogue import DOCUMENTS, QUERIES

PAIRS = [(query, document) for query in QUERIES[:1] for document in DOCUMENTS]
LONG = [" ".join(DOCUMENTS) * 2]
PROGRAM = """
import sys
import numpy
import test_processors
numpy.save(sys.argv[3], test_processors.numbers(sys.argv[1], sys.argv[2]))
"""


def numbers(cross_encoder: str, bi_encoder: str) -> NDArray[np.float32]:
    """Scores of a cross-encoder and a vector of a bi-encoder, of short and long texts."""
    scorer = PairScorer(cross_encoder, precision="int8")
    logits = scorer.logits([*PAIRS, (QUERIES[0], LONG[0])])
    return np.concatenate([logits.ravel(), TextEncoder(bi_encoder, precision="int8").encode(LONG).ravel()])


@pytest.mark.slow
def test_int8_gives_the_same_on_a_processor_without_vnni(models: Path, tmp_path: Path) -> None:
    require("qemu", there=shutil.which(QEMU) is not None, how="install Debian's qemu-user")
    folders = [str(models / name) for name in ("ms-marco-minilm-l12", "bge-small-en")]
    require("models", there=all(Path(folder).is_dir() for folder in folders), how="run `make setup`")
    expected = numbers(*folders)
    here = Path(__file__).parent
    environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": f"{here}{os.pathsep}{here.parents[1]}"}
    command = [QEMU, "-cpu", "Haswell", sys.executable, "-c", PROGRAM, *folders, str(tmp_path / "numbers.npy")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    # The same to the last bit where both processors multiply and add in one step, as all have since 2013.
    assert np.load(tmp_path / "numbers.npy") == pytest.approx(expected, abs=1e-5)
