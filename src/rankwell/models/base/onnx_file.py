"""ONNX files: read, changed and written with protobuf alone, so that the library `onnx` (35 MB) is not needed.

`SCHEMA` has the messages and fields that we read or write, numbered as in ONNX's `onnx.proto`. Protobuf keeps all other
fields of a file as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rankwell.core import FormatError, RankwellError

FLOAT, INT64 = 1, 7  # types of elements
DTYPES: Mapping[int, Any] = {
    FLOAT: np.float32,
    2: np.uint8,
    3: np.int8,
    4: np.uint16,
    5: np.int16,
    6: np.int32,
    INT64: np.int64,
    9: np.bool_,
    10: np.float16,
    11: np.float64,
    12: np.uint32,
    13: np.uint64,
}
STRING, EXTERNAL = 8, 1
# The field of a tensor that has its elements where `raw_data` has none; others are in `int32_data`.
FIELDS = {FLOAT: "float_data", INT64: "int64_data", 11: "double_data", 12: "uint64_data", 13: "uint64_data"}
# name: (number, type), where "*" means many, "+" many in one block, "|" one of a group.
SCHEMA: Mapping[str, Mapping[str, tuple[int, str]]] = {
    "Model": {
        "ir_version": (1, "int64"),
        "producer_name": (2, "string"),
        "graph": (7, "Graph"),
        "opset_import": (8, "*OperatorSet"),
        "metadata_props": (14, "*Entry"),
        "functions": (25, "*Function"),
    },
    "Graph": {
        "node": (1, "*Node"),
        "name": (2, "string"),
        "initializer": (5, "*Tensor"),
        "input": (11, "*ValueInfo"),
        "output": (12, "*ValueInfo"),
    },
    "Node": {
        "input": (1, "*string"),
        "output": (2, "*string"),
        "name": (3, "string"),
        "op_type": (4, "string"),
        "attribute": (5, "*Attribute"),
        "domain": (7, "string"),
    },
    "Attribute": {
        "name": (1, "string"),
        "f": (2, "float"),
        "i": (3, "int64"),
        "s": (4, "bytes"),
        "t": (5, "Tensor"),
        "floats": (7, "*float"),
        "ints": (8, "*int64"),
        "type": (20, "int32"),
    },
    "Tensor": {
        "dims": (1, "*int64"),
        "data_type": (2, "int32"),
        "float_data": (4, "+float"),
        "int32_data": (5, "+int32"),
        "string_data": (6, "*bytes"),
        "int64_data": (7, "+int64"),
        "name": (8, "string"),
        "raw_data": (9, "bytes"),
        "double_data": (10, "+double"),
        "uint64_data": (11, "+uint64"),
        "external_data": (13, "*Entry"),
        "data_location": (14, "int32"),
    },
    "ValueInfo": {"name": (1, "string"), "type": (2, "Type")},
    "Type": {"tensor_type": (1, "TensorType")},
    "TensorType": {"elem_type": (1, "int32"), "shape": (2, "Shape")},
    "Shape": {"dim": (1, "*Dimension")},
    "Dimension": {"dim_value": (1, "|int64"), "dim_param": (2, "|string")},
    "OperatorSet": {"domain": (1, "string"), "version": (2, "int64")},
    "Entry": {"key": (1, "string"), "value": (2, "string")},
    "Function": {"name": (1, "string")},
}
OF_ATTRIBUTES = {"f": 1, "i": 2, "s": 3, "floats": 6, "ints": 7}  # the type that an attribute says it has


@cache
def _messages() -> dict[str, Any]:
    """A class for each message of `SCHEMA`, in a pool of its own: the library `onnx` may be loaded beside it."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="rankwell-onnx.proto", package="rankwell.onnx", syntax="proto2")
    for name, fields in SCHEMA.items():
        message = file.message_type.add(name=name)
        for key, (number, told) in fields.items():
            kind, label = told.lstrip("*+|"), field.LABEL_REPEATED if told[0] in "*+" else field.LABEL_OPTIONAL
            made = message.field.add(name=key, number=number, label=label)
            if kind in SCHEMA:
                made.type, made.type_name = field.TYPE_MESSAGE, f".rankwell.onnx.{kind}"
            else:
                made.type = getattr(field, f"TYPE_{kind.upper()}")
            if told[0] == "+":
                made.options.packed = True
            if told[0] == "|":
                made.oneof_index = 0
                if not message.oneof_decl:
                    message.oneof_decl.add(name="value")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"rankwell.onnx.{name}")) for name in SCHEMA
    }


def parse(content: bytes) -> Any:
    """The model in the bytes of an ONNX file."""
    return _messages()["Model"].FromString(content)


def load_graph(file: Path, *, external: bool = True) -> Any:
    """Read an ONNX file, with the tensors that it keeps in files beside it unless `external` is False."""
    from google.protobuf.message import DecodeError

    try:
        model = parse(file.read_bytes())
        if external:
            _load_external(file.parent, model)
    except (DecodeError, ValueError, OSError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise FormatError(file, None, expected="an ONNX model", found=reason) from error
    return model


def _load_external(folder: Path, model: Any) -> None:
    for tensor in model.graph.initializer:
        if tensor.data_location != EXTERNAL:
            continue
        where = {entry.key: entry.value for entry in tensor.external_data}
        file = folder / where.get("location", "")
        if not file.resolve().is_relative_to(folder.resolve()):
            raise ValueError(f"a tensor outside the model's folder ({where['location']})")
        with file.open("rb") as opened:
            opened.seek(int(where.get("offset", 0)))
            tensor.raw_data = opened.read(int(where["length"]) if "length" in where else -1)
        tensor.ClearField("data_location")
        tensor.ClearField("external_data")


def make_tensor(values: Any, name: str) -> Any:
    """An array as a tensor."""
    array = np.asarray(values)
    kind = next((kind for kind, dtype in DTYPES.items() if array.dtype == dtype), None)
    if kind is None:
        raise RankwellError(f"{name}: expected numbers or booleans, found {array.dtype}")
    return _messages()["Tensor"](dims=array.shape, data_type=kind, name=name, raw_data=_little_endian(array).tobytes())


def to_array(tensor: Any) -> np.ndarray[Any, Any]:
    """The array of a tensor."""
    kind, shape = tensor.data_type, tuple(tensor.dims)
    if kind == STRING:
        return np.array(list(tensor.string_data), dtype=object).reshape(shape)
    if kind not in DTYPES:
        raise RankwellError(f"{tensor.name}: expected a tensor of numbers or booleans, found ONNX's type {kind}")
    dtype = np.dtype(DTYPES[kind])
    if tensor.HasField("raw_data"):
        return np.frombuffer(tensor.raw_data, dtype.newbyteorder("<")).astype(dtype).reshape(shape)
    values = getattr(tensor, FIELDS.get(kind, "int32_data"))
    if dtype == np.float16:  # bits, as integers
        return np.array(values, dtype=np.uint16).view(np.float16).reshape(shape)
    return np.array(values).astype(dtype).reshape(shape)


def _little_endian(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)


def make_node(operation: str, inputs: Iterable[str], outputs: Iterable[str], **settings: Any) -> Any:
    """An operation; `name` and `domain` are fields, all other settings are attributes."""
    told = {key: settings.pop(key) for key in ("name", "domain") if key in settings}
    node = _messages()["Node"](op_type=operation, input=inputs, output=outputs)
    for key, value in told.items():
        if value is not None:
            setattr(node, key, value)
    node.attribute.extend(_attribute(key, value) for key, value in sorted(settings.items()))
    return node


def _attribute(name: str, value: Any) -> Any:
    made = _messages()["Attribute"](name=name)
    if isinstance(value, str):
        kind, made.s = "s", value.encode()
    elif isinstance(value, int):
        kind, made.i = "i", value
    elif isinstance(value, float):
        kind, made.f = "f", value
    else:
        kind = "ints" if all(isinstance(item, int) for item in value) else "floats"
        getattr(made, kind).extend(value)
    made.type = OF_ATTRIBUTES[kind]
    return made


def make_value(name: str, element: int, shape: Sequence[str | int]) -> Any:
    """An input or output; a dimension is a number, or a name where it is free."""
    made = _messages()["ValueInfo"](name=name)
    made.type.tensor_type.elem_type = element
    for size in shape:
        made.type.tensor_type.shape.dim.add(**{"dim_value" if isinstance(size, int) else "dim_param": size})
    return made


def make_opset(domain: str, version: int) -> Any:
    """A set of operations and its version."""
    return _messages()["OperatorSet"](domain=domain, version=version)


def make_model(  # noqa: PLR0917 -- the parts of a model
    nodes: Iterable[Any],
    name: str,
    inputs: Iterable[Any],
    outputs: Iterable[Any],
    constants: Iterable[Any],
    opsets: Iterable[Any],
    version: int,
) -> Any:
    """A model of these operations; `version` is the one of ONNX's file format."""
    graph = _messages()["Graph"](node=nodes, name=name, input=inputs, output=outputs, initializer=constants)
    return _messages()["Model"](graph=graph, opset_import=opsets, ir_version=version, producer_name="rankwell")


def set_property(model: Any, key: str, value: str) -> None:
    """Write a property into a model, in place of all that it had."""
    del model.metadata_props[:]
    model.metadata_props.add(key=key, value=value)
