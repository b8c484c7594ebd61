"""A model's folder made of another: ONNX weights of the wanted precision, the tokenizer and the configuration."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import orjson

from rankwell.core.errors import RankwellError
from rankwell.encode.description import task_of
from rankwell.encode.export import Export, make
from rankwell.encode.folder import TOKENIZER, ModelFolder
from rankwell.encode.models import RECORD, model_folder

COPIED = ("config.json", "config_sentence_transformers.json", "sentence_bert_config.json", "modules.json", "1_Pooling")


def export_model(model: str, precision: str, out: Path | None = None) -> tuple[str, str]:
    """Write a model as a folder that needs no torch. Returns its name, and its task ("pairs" or "texts").

    Without `out` it lies beside the fetched models, and its name is the model's with the precision behind it. The
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
        _copy(folder.path, made)
        if out is None:
            record = {"name": name, "source": f"{model} in {precision}", "sha256": ""}
            (made / RECORD).write_bytes(orjson.dumps(record, option=orjson.OPT_INDENT_2))
        if target.exists():
            shutil.rmtree(target)
        made.rename(target)
    return name, task


def _copy(source: Path, target: Path) -> None:
    for name in (*COPIED, *TOKENIZER):
        if (source / name).is_dir():
            shutil.copytree(source / name, target / name)
        elif (source / name).is_file():
            shutil.copy(source / name, target / name)
