"""Weights in safetensors files, read and written without torch.

The format (huggingface.co/docs/safetensors): eight bytes with the length of a JSON header, which gives each tensor's
type, shape and place; then the numbers, little-endian. It holds no code.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from rankwell.core.arrays import Floats
from rankwell.core.errors import FormatError
from rankwell.core.files import atomic_write

SIZE = 8  # bytes of the header's length
INDEX = ".index.json"  # of a model in several files


def read_weights(path: Path) -> dict[str, Floats]:
    """All tensors of a `model.safetensors`, or of the files that a `model.safetensors.index.json` lists, in float32."""
    if not path.name.endswith(INDEX):
        return _read_file(path)
    parts = sorted(set(orjson.loads(path.read_bytes())["weight_map"].values()))
    return {name: tensor for part in parts for name, tensor in _read_file(path.parent / Path(part).name).items()}


def _read_file(path: Path) -> dict[str, Floats]:
    try:
        content = np.memmap(path, dtype=np.uint8, mode="r")
        length = int(content[:SIZE].view("<u8")[0])
        header = orjson.loads(content[SIZE : SIZE + length].tobytes())
        data = content[SIZE + length :]
        return {name: _tensor(data, entry) for name, entry in header.items() if name != "__metadata__"}
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise FormatError(path, None, expected="weights in the safetensors format", found=str(error)) from error


def _tensor(data: np.ndarray[Any, Any], entry: dict[str, Any]) -> Floats:
    start, end = entry["data_offsets"]
    if not 0 <= start <= end <= len(data):
        raise ValueError(f"a tensor that ends at byte {end:,} of {len(data):,}")
    numbers = data[start:end]
    if entry["dtype"] == "BF16":  # the upper half of a float32
        wide = numbers.view("<u2").astype(np.uint32) << 16
        return wide.view(np.float32).reshape(entry["shape"])
    kinds = {"F32": "<f4", "F16": "<f2", "F64": "<f8", "I64": "<i8", "I32": "<i4"}
    return numbers.view(kinds[entry["dtype"]]).astype(np.float32, copy=False).reshape(entry["shape"])


def write_weights(path: Path, weights: Mapping[str, Floats]) -> None:
    """Write tensors as one `model.safetensors` of 32-bit floats."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}  # needed by transformers
    end = 0
    for name, tensor in weights.items():
        start, end = end, end + tensor.size * 4
        header[name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": [start, end]}
    written = orjson.dumps(header)
    written += b" " * (-len(written) % SIZE)  # aligns the numbers to eight bytes
    with atomic_write(path) as file:
        file.write(len(written).to_bytes(SIZE, "little"))
        file.write(written)
        for tensor in weights.values():
            file.write(np.ascontiguousarray(tensor, dtype="<f4").data)
