"""int8 models give the same scores on every processor.

Processors with VNNI add int8 products exactly; others cut sums of two products to 16 bits. A plain evaluator of ONNX
graphs does both ways of adding, so that each kind of processor can be tried on any machine.
"""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from math import erf
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from foreign_graphs import quantise_fully, write_bert
from numpy.typing import NDArray
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from needs import require
from rankwell.core import RankwellError
from rankwell.models.base.catalogue import kind_of, make_trainable, task_of
from rankwell.models.base.export import PAIRS, Export, bert_weights, exported, restore_weights
from rankwell.models.base.folder import INT8, ModelFolder, read_weights
from rankwell.models.base.int8 import LARGEST, PAIR, can_saturate, largest_pair, round_columns, to_float
from rankwell.models.base.onnx_file import load_graph

ROWS = np.random.default_rng(1).integers(5, 100, (4, 16))


class Saturating(OpRun):
    """`MatMulInteger` as `vpmaddubsw` does it: neighbouring products are added and cut to 16 bits."""

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


Saturating.__name__ = "MatMulInteger"


class DequantizeLinear(OpRun):
    """The evaluator has none for the version of the operators that these files use."""

    op_domain = ""

    def _run(self, values: NDArray[Any], scale: NDArray[Any], zero: NDArray[Any], **_: Any) -> tuple[NDArray[Any]]:
        return ((values.astype(np.float32) - zero.astype(np.float32)) * scale,)


class EmbedLayerNormalization(OpRun):
    """ONNX Runtime's own: the sum of three embeddings, normalised."""

    op_domain = "com.microsoft"

    def _run(
        self, ids: NDArray[Any], types: NDArray[Any], *weights: NDArray[Any], epsilon: float, **_: Any
    ) -> tuple[Any, Any]:
        words, positions, segments, gamma, beta = weights
        total = words[ids] + positions[: ids.shape[1]] + segments[types]
        total = total - total.mean(axis=-1, keepdims=True)
        spread = np.sqrt((total**2).mean(axis=-1, keepdims=True) + epsilon)
        return (total / spread * gamma + beta).astype(np.float32), np.zeros(len(ids), dtype=np.int32)


class Gelu(OpRun):
    op_domain = "com.microsoft"

    def _run(self, values: NDArray[Any], **_: Any) -> tuple[NDArray[Any]]:
        return ((values * 0.5 * (1 + np.vectorize(erf)(values / np.sqrt(2)))).astype(np.float32),)


def outputs(model: Any, *operators: type[OpRun]) -> NDArray[Any]:
    """The logits of a few rows of tokens, each alone."""
    evaluator = ReferenceEvaluator(
        onnx.load_model_from_string(model.SerializeToString()),
        new_ops=[DequantizeLinear, EmbedLayerNormalization, Gelu, *operators],
    )
    logits = []
    for row in ROWS:
        values = {"input_ids": row[None], "attention_mask": np.ones_like(row)[None], "token_type_ids": row[None] * 0}
        logits.append(evaluator.run(None, {name: values[name] for name in evaluator.input_names})[0][0, 0])
    return np.array(logits)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    require("train", there=find_spec("torch") is not None, how="pip install 'rankwell[train]'")
    file = tmp_path_factory.mktemp("bert") / "plain.onnx"
    return file, write_bert(file)


@pytest.fixture(scope="module")
def foreign(bert: tuple[Path, dict[str, Any]]) -> Path:
    """A folder that has nothing but an int8 file of full range, as packages and hubs have them."""
    folder = bert[0].parent / "foreign"
    folder.mkdir()
    quantise_fully(bert[0], folder / "model.onnx")
    return folder


def test_a_foreign_int8_file_depends_on_the_processor_and_ours_of_it_does_not(foreign: Path) -> None:
    theirs = load_graph(foreign / "model.onnx")
    assert can_saturate(theirs)
    assert np.abs(outputs(theirs) - outputs(theirs, Saturating)).max() > 0.01
    ours = load_graph(exported(ModelFolder("foreign", foreign), Export(PAIRS, INT8)))
    assert not can_saturate(ours)
    # Nothing whose sums are made in as many parts as a register has numbers.
    assert not {"Softmax", "Attention", "MultiHeadAttention"} & {node.op_type for node in ours.graph.node}
    assert outputs(ours, Saturating) == pytest.approx(outputs(ours), abs=1e-6)
    plain = outputs(to_float(theirs))
    assert np.abs(outputs(ours) - plain).max() < 0.1 * np.ptp(plain)


def test_neighbouring_weights_fill_the_range_and_never_exceed_it() -> None:
    columns = (np.random.default_rng(5).normal(size=(385, 50)) * np.logspace(-6, 3, 50)).astype(np.float32)
    columns[:, 7], columns[3:, 8], columns[0, 9] = 0, 0, 1e6
    values, scales = round_columns(columns)
    assert PAIR - 2 <= largest_pair(values) <= PAIR
    assert np.abs(values).max() == LARGEST  # where a weight stands alone
    assert np.all(np.abs(values * scales - columns) <= scales * 0.501)


@pytest.mark.parametrize("how", [{}, {"per_channel": True}, {"attention": True}], ids=str)
def test_an_int8_file_back_in_fp32_is_near_what_it_was_made_of(
    bert: tuple[Path, dict[str, Any]], tmp_path: Path, how: dict[str, bool]
) -> None:
    before = load_graph(bert[0])
    after = to_float(load_graph(quantise_fully(bert[0], tmp_path / "int8.onnx", **how)))
    assert not [node.op_type for node in after.graph.node if "Quant" in node.op_type or "Integer" in node.op_type]
    plain = outputs(before)
    assert np.abs(outputs(after) - plain).max() < 0.1 * np.ptp(plain)


def test_a_file_that_cannot_saturate_is_run_as_it_is(bert: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    from rankwell.models.base.int8 import quantise_file

    quantise_file(bert[0], tmp_path / "model.onnx")
    folder = ModelFolder("ours", tmp_path)
    assert folder.choose(None) == (INT8, tmp_path / "model.onnx")
    assert folder.choose("fp32") == ("fp32", None)


def test_the_weights_of_a_bert_come_out_of_an_onnx_file(bert: tuple[Path, dict[str, Any]]) -> None:
    file, weights = bert
    restored, config = restore_weights(file, {}, PAIRS)
    assert config["num_attention_heads"] == 4  # found by trying: the weights do not say it
    assert set(restored) == {name for name in weights if "position_ids" not in name}
    for name, value in restored.items():
        assert np.array_equal(value, weights[name]), name


def test_the_weights_of_an_int8_bert_are_near_the_original_ones(
    bert: tuple[Path, dict[str, Any]], foreign: Path
) -> None:
    restored = bert_weights(to_float(load_graph(foreign / "model.onnx")))
    for name, value in restored.items():
        step = np.abs(bert[1][name]).max() / 127
        assert np.abs(value - bert[1][name]).max() <= step, name


def test_a_body_is_kept_without_the_head_it_was_trained_with(foreign: Path, tmp_path: Path) -> None:
    place = tmp_path / "bert-tiny"
    shutil.copytree(foreign, place)
    make_trainable("bert-tiny", place)
    folder = ModelFolder("bert-tiny", place)
    assert folder.config["architectures"] == ["BertModel"]
    assert not folder.onnx_files
    assert folder.torch_weights is not None
    assert all(name.startswith("bert.") for name in read_weights(folder.torch_weights))
    assert kind_of(folder, task_of(folder)) == "body to train from, without a head"


def test_what_is_no_bert_is_refused(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 14]> g (int64[1, n] input_ids) => (float[1, n] logits)'
        "{ logits = Cast<to=1>(input_ids) }"
    )
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(RankwellError, match=r"expected the weights of a BERT, found none named embeddings\.word"):
        restore_weights(tmp_path / "model.onnx", {}, PAIRS)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"no graph")
    with pytest.raises(RankwellError, match=r"model\.onnx: expected an ONNX model, found"):
        load_graph(tmp_path / "model.onnx")
