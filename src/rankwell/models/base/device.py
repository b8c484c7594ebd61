"""The device that models run on: one setting for the whole process, and for those that it starts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, wraps
from importlib.util import find_spec
from typing import Any, TypeVar, cast

from rankwell.core import ParameterError, Phrase

T = TypeVar("T", bound=Callable[..., Any])

VARIABLE = "RANKWELL_DEVICE"
CPU = "cpu"
DEVICES = (CPU, "cuda", "mps")


def chosen_device() -> str | None:
    """The device that was asked for; None: a GPU of CUDA where there is one."""
    device = os.environ.get(VARIABLE) or None
    if device is not None:
        check_device(device)
    return device


@contextmanager
def use_device(device: str | None) -> Iterator[None]:
    """Run models on a device while the block runs: cpu, cuda or mps. None changes nothing.

        with use_device("cpu"):
            run = pipeline(queries)

    The variable RANKWELL_DEVICE does the same for a whole program.
    """
    if device is None:
        yield
        return
    check_device(device)
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = device
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


@lru_cache(maxsize=len(DEVICES))
def check_device(device: str) -> None:
    """Refuse a device that this machine lacks."""
    if device not in DEVICES:
        raise ParameterError("--device", expected=f"one of {', '.join(DEVICES)}", found=device)
    if device == CPU:
        return
    if find_spec("torch") is None:
        way_out = f"{device}, which needs PyTorch: pip install 'rankwell[train]'"
        raise ParameterError("--device", expected="cpu", found=Phrase(way_out))
    import torch

    there = torch.cuda.is_available() if device == "cuda" else torch.backends.mps.is_available()
    if not there:
        found = f"{device}, which PyTorch {torch.__version__} does not find"
        raise ParameterError("--device", expected="a device of this machine (cpu)", found=Phrase(found))


def refuse_gpu(model: str, why: str) -> None:
    """Refuse to run a model on a GPU that was asked for; where none was, it runs on the CPU."""
    device = chosen_device()
    if device not in (None, CPU):
        raise ParameterError("--device", expected=f"cpu for {model}, {why}", found=device)


def loaded_once(make: T) -> T:
    """A function that gives the same loaded model for the same arguments on the same device."""

    @lru_cache(maxsize=4)
    def load(_device: str | None, *arguments: Any, **settings: Any) -> Any:
        return make(*arguments, **settings)

    @wraps(make, updated=())
    def loaded(*arguments: Any, **settings: Any) -> Any:
        return load(chosen_device(), *arguments, **settings)

    loaded.cache_clear = load.cache_clear  # type: ignore[attr-defined]
    return cast("T", loaded)
