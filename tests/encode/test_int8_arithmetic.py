"""int8 scores depend on the processor: with VNNI products are summed exactly, older ones saturate pairs of them.

A plain evaluator of the model's own graph, with both ways of multiplying, says what each kind of processor should give.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import tokenizers
from numpy.typing import NDArray
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from needs import require
from rankwell.encode import PairScorer

QUERY = "How many people live in Berlin?"
PEOPLE = "Berlin had a population of 3,520,031 registered inhabitants in an area of 891.82 square kilometers."
YORK = "New York City is famous for the Metropolitan Museum of Art."
MUSEUMS = "Berlin is well known for its museums."
PAIRS = [(QUERY, PEOPLE), (QUERY, YORK), (QUERY, MUSEUMS)]


class DequantizeLinear(OpRun):
    """The evaluator has none for this model's version of the operators."""

    op_domain = ""

    def _run(self, values: NDArray[Any], scale: NDArray[Any], zero: NDArray[Any], **_: Any) -> tuple[NDArray[Any]]:
        return ((values.astype(np.float32) - zero.astype(np.float32)) * scale,)


class MatMulInteger(OpRun):
    """Unsigned by signed bytes as `vpmaddubsw` does it: neighbouring products are added and cut to 16 bits."""

    op_domain = ""

    def _run(
        self, left: NDArray[Any], right: NDArray[Any], left_zero: NDArray[Any], right_zero: NDArray[Any]
    ) -> tuple[NDArray[Any]]:
        rows, columns = left.reshape(-1, left.shape[-1]).astype(np.int64), right.astype(np.int64)
        total = np.zeros((len(rows), columns.shape[1]), np.int64)
        for place in range(0, len(columns), 2):
            total += (rows[:, place : place + 2] @ columns[place : place + 2]).clip(-32768, 32767)
        zero, zeros = int(left_zero.ravel()[0]), right_zero.ravel().astype(np.int64)
        total += len(columns) * zero * zeros - zero * columns.sum(0) - rows.sum(1)[:, None] * zeros
        return (total.reshape(*left.shape[:-1], -1).astype(np.int32),)


@pytest.fixture(scope="module")
def folder(models: Path) -> Path:
    found = models / "ms-marco-minilm-l12"
    require("models", there=found.is_dir(), how="rankwell models add ms-marco-minilm-l12")
    return found


def evaluated(folder: Path, operators: list[type[OpRun]]) -> list[float]:
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    evaluator = ReferenceEvaluator(onnx.load(folder / "model.onnx"), new_ops=operators)
    found = []
    for query, document in PAIRS:
        made = tokenizer.encode(query, document)
        values = {"input_ids": made.ids, "attention_mask": made.attention_mask, "token_type_ids": made.type_ids}
        logits = evaluator.run(None, {name: np.array([values[name]]) for name in evaluator.input_names})[0]
        found.append(float(logits[0, 0]))
    return found


def test_scores_are_those_of_one_of_the_two_arithmetics(folder: Path) -> None:
    scorer = PairScorer(str(folder))
    scores = scorer.scores(scorer.logits(PAIRS))
    exact, saturated = evaluated(folder, [DequantizeLinear]), evaluated(folder, [DequantizeLinear, MatMulInteger])
    # Measured by others with plain ONNX Runtime: they must have had a processor without VNNI.
    assert saturated == pytest.approx([8.88, -11.0, -4.2], abs=0.05)
    assert exact != pytest.approx(saturated, abs=0.05)
    assert scores == pytest.approx(exact, abs=1e-3) or scores == pytest.approx(saturated, abs=0.05)
