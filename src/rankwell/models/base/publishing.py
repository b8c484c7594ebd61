"""Describe a model, and write a copy of its folder in another precision."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from rankwell.core.errors import RankwellError
from rankwell.models.base.export import PAIRS, TEXTS, Export, make
from rankwell.models.base.folder import TOKENIZER, ModelFolder
from rankwell.models.base.runtime import OnnxModel
from rankwell.models.base.sources import RECORD, model_folder, model_record
from rankwell.models.base.tokens import Tokenizer


class Fact(NamedTuple):
    """One line of a description."""

    name: str
    value: str


def describe(name: str) -> list[Fact]:
    """Facts about a model: kind, intended use, source and files."""
    folder = ModelFolder.find(name)
    record, known = model_record(folder.path), folder.known
    task = task_of(folder)
    facts = [("model", name), ("what", known.what if known else ""), ("kind", kind_of(folder, task))]
    config = {"layers": "num_hidden_layers", "hidden size": "hidden_size", "heads": "num_attention_heads"}
    facts += [(told, str(folder.config.get(key, ""))) for told, key in config.items()]
    facts += [("vocabulary", f"{Tokenizer(folder.tokenizer_file).vocabulary:,}"), ("most tokens", f"{folder.longest}")]
    if folder.ranker:
        facts += [("settings", _settings(folder.ranker_settings))]
    elif task == PAIRS:
        facts += [("labels", str(labels_of(folder) or ""))]
    else:
        facts += [
            ("pooling", folder.pooling),
            ("query prompt", repr(folder.query_prompt) if folder.query_prompt else ""),
        ]
    weights = [f"{precision} ({file.relative_to(folder.path)})" for precision, file in folder.onnx_files.items()]
    weights += [f"torch ({folder.torch_weights.name})"] if folder.torch_weights else []
    facts += [("weights", ", ".join(weights))]
    facts += [("licence", known.licence if known else ""), ("hub", known.hub if known else "")]
    facts += [("source", str(record.get("source", ""))), ("hash", str(record.get("sha256", "")))]
    facts += [
        ("folder", str(folder.path)),
        ("size", f"{size_of(folder.path) / 1e6:,.0f} MB"),
        ("files", _files(folder.path)),
    ]
    return [Fact(*fact) for fact in facts if fact[1]]


def task_of(folder: ModelFolder) -> str:
    """Whether a model scores pairs or encodes texts."""
    if folder.architecture:
        return PAIRS if folder.next_sentence or "SequenceClassification" in folder.architecture else TEXTS
    if folder.known:
        return PAIRS if folder.known.kind == "cross-encoder" else TEXTS
    file = next(iter(folder.onnx_files.values()), None)
    return PAIRS if file is not None and "logits" in OnnxModel(file).outputs else TEXTS


def kind_of(folder: ModelFolder, task: str) -> str:
    """The kind of a model in words; `ranker.json` names the kinds other than a transformer with a head."""
    if folder.ranker:
        return folder.ranker
    if task == TEXTS:
        return "bi-encoder"
    return "cross-encoder (next-sentence head)" if folder.next_sentence else "cross-encoder"


def labels_of(folder: ModelFolder) -> int | None:
    """The number of a cross-encoder's labels."""
    if folder.next_sentence:
        return 2
    if folder.config:
        return int(folder.config.get("num_labels") or len(folder.config.get("id2label") or {}) or 2)
    file = next(iter(folder.onnx_files.values()), None)
    return None if file is None else OnnxModel(file).use(PAIRS)


def size_of(folder: Path) -> int:
    """The bytes of a folder's files."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _settings(settings: Mapping[str, Any]) -> str:
    """Names and values as text, nested ones in brackets."""
    told = ((key, f"({_settings(value)})" if isinstance(value, dict) else value) for key, value in settings.items())
    return ", ".join(f"{key} {value}" for key, value in told if value is not None)


def _files(folder: Path) -> str:
    return ", ".join(sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()))


COPIED = ("config.json", "config_sentence_transformers.json", "sentence_bert_config.json", "modules.json", "1_Pooling")


def export_model(model: str, precision: str, out: Path | None = None) -> tuple[str, str]:
    """Write a model as a folder that needs no torch. Returns its name, and its task ("pairs" or "texts").

    Without `out` it is put beside the fetched models, named after the model and the precision. The
    graph takes padded batches too, so that other programs can use it.
    """
    folder = ModelFolder.find(model)
    task = task_of(folder)
    name = str(out) if out else f"{folder.path.resolve().name}-{precision}"
    target = out or model_folder(name)
    if out and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise RankwellError(f"{out}: expected a new or empty folder to write to, found something in it")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".exporting-") as scratch:
        made = Path(scratch) / "model"
        make(folder, Export(task, precision, padded=True), made / "onnx" / "model.onnx")
        _copy_files(folder.path, made)
        if out is None:
            record = {"name": name, "source": f"{model} in {precision}", "sha256": ""}
            (made / RECORD).write_bytes(orjson.dumps(record, option=orjson.OPT_INDENT_2))
        if target.exists():
            shutil.rmtree(target)
        made.rename(target)
    return name, task


def _copy_files(source: Path, target: Path) -> None:
    for name in (*COPIED, *TOKENIZER):
        if (source / name).is_dir():
            shutil.copytree(source / name, target / name)
        elif (source / name).is_file():
            shutil.copy(source / name, target / name)
