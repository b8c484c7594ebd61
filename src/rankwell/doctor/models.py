"""The models that have been fetched, whether they are whole, and what each can do."""

from __future__ import annotations

from pathlib import Path

import orjson

from rankwell.core import home
from rankwell.doctor.findings import BROKEN, NOTE, Finding, Section, megabytes
from rankwell.doctor.places import folder_size
from rankwell.encode.description import kind_of, task_of
from rankwell.encode.export import PAIRS
from rankwell.encode.folder import ModelFolder
from rankwell.encode.models import RECORD
from rankwell.encode.tokens import Tokenizer

FIRST = "rankwell models add minilm-l6 ms-marco-minilm-l12"


def models() -> Section:
    """A line a model; none at all is worth a note, since everything but BERT works without."""
    records = sorted((home() / "models").glob(f"*/{RECORD}"))
    found = [_model(record) for record in records]
    none = Finding("none", None, "nothing fetched yet: no search by meaning, no re-ranking", NOTE, FIRST)
    return Section("Models", found or [none])


def _model(record: Path) -> Finding:
    name = record.parent.name
    try:
        name = str(orjson.loads(record.read_bytes())["name"])
        folder = _whole(ModelFolder(name, record.parent))
        task = task_of(folder)
        what = f"{kind_of(folder, task)}, {megabytes(folder_size(record.parent) or 0)}: {_use(name, task)}"
        return Finding(name, kind_of(folder, task), what)
    except Exception as error:  # noqa: BLE001 -- a damaged file may fail in any way; the doctor says so and goes on
        why = (str(error).splitlines() or [type(error).__name__])[0]
        way_out = f"rankwell models remove {name}, then rankwell models add {name}"
        return Finding(name, None, f"damaged: {why}", BROKEN, way_out)


def _whole(folder: ModelFolder) -> ModelFolder:
    """The folder, if it has weights and a tokenizer that can be read."""
    folder.choose(None)
    Tokenizer(folder.tokenizer_file)
    return folder


def _use(name: str, task: str) -> str:
    return f"search --rerank {name}" if task == PAIRS else f"encode --model {name}, then search --dense or --hybrid"
