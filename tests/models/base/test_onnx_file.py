"""ONNX files without the library `onnx`, which is the second implementation here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from rankwell.core import FormatError, RankwellError
from rankwell.models.base import onnx_file

DTYPES = ("f4", "u1", "i1", "u2", "i2", "i4", "i8", "f2", "f8", "u4", "u8")
ARRAYS = [np.arange(6, dtype=dtype).reshape(2, 3) for dtype in DTYPES] + [
    np.array([True, False]),
    np.array(0),
    np.zeros((0, 3), np.float32),
    np.arange(6.0).reshape(2, 3).T,
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{array.shape}")
def test_a_tensor_is_the_librarys_byte_for_byte(array: np.ndarray) -> None:
    ours = onnx_file.make_tensor(array, "x")
    assert ours.SerializeToString() == numpy_helper.from_array(array, "x").SerializeToString()
    assert np.array_equal(onnx_file.to_array(ours), array)


@pytest.mark.parametrize("kind", [kind for kind in onnx_file.DTYPES if kind != 10])
def test_elements_that_are_not_raw_are_read(kind: int) -> None:
    theirs = helper.make_tensor("x", kind, [2], [0, 1])
    read = onnx_file.parse(onnx.ModelProto(graph=onnx.GraphProto(initializer=[theirs])).SerializeToString())
    found = onnx_file.to_array(read.graph.initializer[0])
    assert found.dtype == numpy_helper.to_array(theirs).dtype
    assert found.tolist() == [0, 1]


def test_half_precision_is_read_from_its_bits() -> None:
    theirs = helper.make_tensor("x", onnx.TensorProto.FLOAT16, [2], [0.5, -2])
    read = onnx_file.parse(onnx.ModelProto(graph=onnx.GraphProto(initializer=[theirs])).SerializeToString())
    assert onnx_file.to_array(read.graph.initializer[0]).tolist() == [0.5, -2]


def test_a_model_is_the_librarys_byte_for_byte() -> None:
    def parts(nodes, values, tensors):
        node = nodes("Gemm", ["x", "w"], ["y"], name="g", domain="", transB=1, alpha=0.5, axes=[0, 1])
        put = values("x", 1, ["batch", 3]), values("y", 1, ["batch", 2])
        return [node], "graph", [put[0]], [put[1]], [tensors(np.ones((2, 3), np.float32), "w")]

    ours = onnx_file.make_model(
        *parts(onnx_file.make_node, onnx_file.make_value, onnx_file.make_tensor), [onnx_file.make_opset("", 17)], 8
    )
    nodes, name, inputs, outputs, constants = parts(
        helper.make_node, helper.make_tensor_value_info, numpy_helper.from_array
    )
    graph = helper.make_graph(nodes, name, inputs, outputs, constants)
    opsets = [helper.make_opsetid("", 17)]
    theirs = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="rankwell")
    assert ours.SerializeToString() == theirs.SerializeToString()


def test_what_we_do_not_know_in_a_file_stays(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 14]> g (float[1, n] x) => (float[1, n] y) { y = Relu(x) }'
    )
    model.doc_string, model.graph.node[0].doc_string = "of the model", "of the node"
    onnx.save(model, tmp_path / "model.onnx")
    read = onnx_file.load_graph(tmp_path / "model.onnx")
    assert onnx.load_model_from_string(read.SerializeToString()) == model


def external(folder: Path, location: str) -> Path:
    tensor = numpy_helper.from_array(np.arange(3, dtype=np.float32), "w")
    onnx.external_data_helper.set_external_data(tensor, location, offset=4, length=12)
    tensor.ClearField("raw_data")
    model = helper.make_model(helper.make_graph([], "g", [], [], [tensor]))
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    return folder / "model.onnx"


def test_tensors_beside_the_file_are_read(tmp_path: Path) -> None:
    (tmp_path / "model.onnx.data").write_bytes(b"skip" + np.arange(3, dtype=np.float32).tobytes() + b"more")
    file = external(tmp_path, "model.onnx.data")
    assert onnx_file.to_array(onnx_file.load_graph(file).graph.initializer[0]).tolist() == [0, 1, 2]
    assert len(onnx_file.load_graph(file, external=False).graph.initializer[0].external_data) == 3


@pytest.mark.parametrize("location", ["../secret", "/etc/passwd", "gone"])
def test_tensors_elsewhere_are_refused(tmp_path: Path, location: str) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(b"0123456789abcdef")
    with pytest.raises(FormatError, match=r"model\.onnx: expected an ONNX model, found"):
        onnx_file.load_graph(external(folder, location))


def test_a_type_that_numpy_does_not_have_is_named() -> None:
    with pytest.raises(RankwellError, match="w: expected a tensor of numbers or booleans, found ONNX's type 16"):
        onnx_file.to_array(
            onnx_file.parse(
                onnx.ModelProto(
                    graph=onnx.GraphProto(initializer=[onnx.TensorProto(name="w", data_type=16)])
                ).SerializeToString()
            ).graph.initializer[0]
        )
