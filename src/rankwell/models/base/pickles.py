"""Weights in `pytorch_model.bin`, which is a pickle, written as safetensors. Nothing in the pickle is ever run.

A pickle is a program: unpickling calls the functions that it names. Here its instructions are only listed (by Python's
`pickletools`) and followed by a machine that has no functions to call. It knows dictionaries, lists, tuples, numbers,
texts, and torch's description of a tensor; a pickle that names anything else is refused before any of it is used.
"""

from __future__ import annotations

import pickletools
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np

from rankwell.core import Floats, FormatError, RankwellError
from rankwell.models.base.folder import PICKLES, read_weights, write_weights
from rankwell.models.base.loading import loads_model

MOST_BYTES = 100_000_000  # of the instructions, without the numbers
STORAGES = {
    "torch.FloatStorage": "<f4",
    "torch.HalfStorage": "<f2",
    "torch.DoubleStorage": "<f8",
    "torch.BFloat16Storage": "<u2",
    "torch.LongStorage": "<i8",
    "torch.IntStorage": "<i4",
    "torch.BoolStorage": "|b1",
    "torch.ByteStorage": "|u1",
}
MARK = object()


@loads_model
def convert_weights(folder: str) -> Path:
    """Write the weights of a folder's `pytorch_model*.bin` as `model.safetensors` beside it, and check that file.

    Tensors of whole numbers (positions, counters) are left out: models make them anew.
    """
    target = Path(folder) / "model.safetensors"
    if target.exists():
        raise RankwellError(f"{target}: expected a folder without safetensors, found one that needs no conversion")
    files = sorted(Path(folder).glob(PICKLES))
    if not files:
        raise RankwellError(f"{folder}: expected a file {PICKLES} to convert, found none")
    weights = {name: tensor for file in files for name, tensor in read_pickled_weights(file).items()}
    write_weights(target, weights)
    read_weights(target)
    return target


def read_pickled_weights(file: Path) -> dict[str, Floats]:
    """The tensors of floating-point numbers in a file that `torch.save` wrote (from torch 1.6), in float32."""
    try:
        with zipfile.ZipFile(file) as archive:
            names = [name for name in archive.namelist() if PurePosixPath(name).name == "data.pkl"]
            if len(names) != 1 or archive.getinfo(names[0]).file_size > MOST_BYTES:
                raise FormatError(file, None, expected="one data.pkl of at most 100 MB", found=", ".join(names))
            root = PurePosixPath(names[0]).parent
            content = _Machine(file).run(archive.read(names[0]))
            if not isinstance(content, dict):
                raise FormatError(file, None, expected="a dictionary of weights", found=type(content).__name__)
            tensors = {str(name): value for name, value in content.items() if isinstance(value, _Tensor)}
            made = {name: _numbers(archive, root, tensor) for name, tensor in tensors.items()}
    except zipfile.BadZipFile as error:
        raise FormatError(file, None, expected="weights written by torch 1.6 or later", found=str(error)) from error
    return {name: values for name, values in made.items() if values is not None}


class _Name(str):
    """The name of a class or function in a pickle; it stays a name."""

    __slots__ = ()


class _Storage(NamedTuple):
    kind: str
    key: str


class _Tensor(NamedTuple):
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Machine:
    """Follows a pickle's instructions without calling anything."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._steps: Mapping[str, Callable[[Any], object]] = {
            "EMPTY_DICT": lambda _: self._stack.append({}),
            "EMPTY_LIST": lambda _: self._stack.append([]),
            "EMPTY_TUPLE": lambda _: self._stack.append(()),
            "MARK": lambda _: self._stack.append(MARK),
            "NONE": lambda _: self._stack.append(None),
            "NEWTRUE": lambda _: self._stack.append(True),
            "NEWFALSE": lambda _: self._stack.append(False),
            "GLOBAL": lambda name: self._stack.append(_Name(name.replace(" ", "."))),
            "STACK_GLOBAL": lambda _: self._stack.append(_Name(".".join(self._take(2)))),
            "TUPLE": lambda _: self._stack.append(tuple(self._since_mark())),
            "TUPLE1": lambda _: self._stack.append(tuple(self._take(1))),
            "TUPLE2": lambda _: self._stack.append(tuple(self._take(2))),
            "TUPLE3": lambda _: self._stack.append(tuple(self._take(3))),
            "SETITEM": lambda _: self._set(self._take(2)),
            "SETITEMS": lambda _: self._set(self._since_mark()),
            "APPEND": lambda _: self._append(self._take(1)),
            "APPENDS": lambda _: self._append(self._since_mark()),
            "MEMOIZE": lambda _: self._memo.__setitem__(len(self._memo), self._stack[-1]),
            "BUILD": lambda _: self._take(1),  # attributes of an OrderedDict (versions of modules): not needed
            "REDUCE": lambda _: self._stack.append(self._reduce(*self._take(2))),
            "BINPERSID": lambda _: self._stack.append(self._storage(*self._take(1))),
        }

    def run(self, program: bytes) -> Any:
        """The value that the pickle describes."""
        for code, argument, _ in pickletools.genops(program):
            if code.name in {"PROTO", "FRAME"}:
                continue
            if code.name == "STOP":
                return self._stack[-1]
            if code.name in {"BINPUT", "LONG_BINPUT", "PUT"}:
                self._memo[int(argument or 0)] = self._stack[-1]
            elif code.name in {"BINGET", "LONG_BINGET", "GET"}:
                self._stack.append(self._memo[int(argument or 0)])
            elif code.name in self._steps:
                self._steps[code.name](argument)
            elif code.stack_before == [] and isinstance(argument, (int, float, str)):
                self._stack.append(argument)
            else:
                raise self._refusal(f"the instruction {code.name}")
        raise self._refusal("no end")

    def _take(self, count: int) -> list[Any]:
        values = self._stack[-count:]
        if len(values) < count:
            raise self._refusal("an instruction without its values")
        del self._stack[-count:]
        return values

    def _since_mark(self) -> list[Any]:
        start = max(place for place, value in enumerate(self._stack) if value is MARK)
        values = self._stack[start + 1 :]
        del self._stack[start:]
        return values

    def _set(self, items: list[Any]) -> None:
        self._stack[-1].update(zip(items[::2], items[1::2], strict=True))

    def _append(self, items: list[Any]) -> None:
        self._stack[-1].extend(items)

    def _reduce(self, called: Any, given: Any) -> Any:
        if isinstance(called, _Name) and isinstance(given, tuple):
            if called == "collections.OrderedDict" and not given:
                return {}
            if called == "torch._utils._rebuild_tensor_v2":
                return _Tensor(*given[:4])
            if called == "torch._utils._rebuild_parameter":
                return given[0]
        raise self._refusal(f"a call of {called}")

    def _storage(self, told: Any) -> _Storage:
        if isinstance(told, tuple) and len(told) > 2 and told[0] == "storage" and told[1] in STORAGES:  # noqa: PLR2004 -- kind and key
            return _Storage(told[1], str(told[2]))
        raise self._refusal(f"stored {told}")

    def _refusal(self, found: str) -> FormatError:
        expected = "a pickle of nothing but weights"
        return FormatError(self._file, None, expected=expected, found=f"{found}; nothing of it was run")


def _numbers(archive: zipfile.ZipFile, root: PurePosixPath, tensor: _Tensor) -> Floats | None:
    """A tensor's numbers as float32; None for whole numbers."""
    kind = STORAGES[tensor.storage.kind]
    if kind[1] in "ib" or kind == "|u1":
        return None
    stored = np.frombuffer(archive.read(str(root / "data" / tensor.storage.key)), dtype=kind)
    if not (len(tensor.shape) == len(tensor.strides) and all(type(n) is int and n >= 0 for n in tensor.shape)):
        raise ValueError(f"a tensor of the shape {tensor.shape} with the strides {tensor.strides}")
    size = int(np.prod(tensor.shape, dtype=object))
    last = tensor.offset + sum((n - 1) * step for n, step in zip(tensor.shape, tensor.strides, strict=True))
    if min((tensor.offset, *tensor.strides)) < 0 or size > len(stored) or (size and last >= len(stored)):
        raise ValueError(f"a tensor outside of its {len(stored):,} stored numbers")
    if not size:
        return np.zeros(tensor.shape, dtype=np.float32)
    steps = tuple(step * stored.itemsize for step in tensor.strides)
    shaped = np.lib.stride_tricks.as_strided(stored[tensor.offset :], tensor.shape, steps, writeable=False)
    if kind == "<u2":  # bfloat16: the upper half of a float32
        return (shaped.astype(np.uint32) << 16).view(np.float32)
    return shaped.astype(np.float32)
