"""A model's folder: weights, configuration and intended use."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from rankwell.core.errors import FormatError, ParameterError, RankwellError
from rankwell.core.fingerprint import fingerprint, fingerprint_file
from rankwell.models.base.int8 import SAFE_INT8
from rankwell.models.base.sources import RECORD, KnownModel, find_model, known_as

FP32, INT8 = "fp32", "int8"
PRECISIONS = (FP32, INT8)
POOLINGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
}
NEXT_SENTENCE = ("NextSentencePrediction", "ForPreTraining")  # heads that were trained to tell the next sentence
LONGEST = 512  # tokens by default
QUANTISED = b"QuantizeLinear"  # part of the name of an operation that every int8 graph has
TOKENIZER = (  # the files of a tokenizer, of whatever kind
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("vocab.txt", "vocab.json", "merges.txt", "spiece.model", "sentencepiece.bpe.model"),
)
TORCH_WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin")


@dataclass(frozen=True)
class ModelFolder:
    """A Hugging Face folder; only an ONNX file and a tokenizer are needed."""

    name: str
    path: Path

    @classmethod
    def find(cls, name: str) -> ModelFolder:
        """The folder of a model by any of its names."""
        return cls(name, find_model(name))

    @cached_property
    def config(self) -> dict[str, Any]:
        """The content of `config.json`; empty where there is none."""
        return self._json("config.json")

    @cached_property
    def known(self) -> KnownModel | None:
        """The model's entry in `models.toml`, if it has one."""
        return known_as(str(self._json(RECORD).get("name", self.path.resolve().name)))

    @cached_property
    def onnx_files(self) -> dict[str, Path]:
        """The ONNX files by precision: the plainest name first."""
        found: dict[str, Path] = {}
        for file in sorted([*self.path.glob("*.onnx"), *self.path.glob("onnx/*.onnx")], key=_plainest):
            # Detected by its operations, not by its name.
            found.setdefault(INT8 if contains(file, QUANTISED) else FP32, file)
        return found

    @cached_property
    def torch_weights(self) -> Path | None:
        """The file with PyTorch's weights, if there is one."""
        return next((self.path / name for name in TORCH_WEIGHTS if (self.path / name).is_file()), None)

    @cached_property
    def tokenizer_file(self) -> Path:
        """The path of `tokenizer.json`."""
        return self.path / "tokenizer.json"

    @property
    def architecture(self) -> str:
        """The class that the weights were saved from: `BertForSequenceClassification`."""
        return str((self.config.get("architectures") or [""])[0])

    @property
    def ranker(self) -> str:
        """The kind of ranker in `ranker.json` (parade, duo, ...); "" for a plain transformer."""
        return str(self._json("ranker.json").get("kind", ""))

    @property
    def ranker_settings(self) -> dict[str, Any]:
        """The settings in `ranker.json`."""
        return dict(self._json("ranker.json").get("settings") or {})

    @property
    def next_sentence(self) -> bool:
        """Whether the head is BERT's next-sentence prediction."""
        return any(part in self.architecture for part in NEXT_SENTENCE)

    @property
    def longest(self) -> int:
        """The model's limit of tokens."""
        told = [
            self._json("sentence_bert_config.json").get("max_seq_length"),
            self._json("tokenizer_config.json").get("model_max_length"),
            self.config.get("max_position_embeddings"),
        ]
        return min((int(number) for number in told if number), default=LONGEST)

    @property
    def pooling(self) -> str:
        """The pooling of token vectors: the folder's, else that of `models.toml`, else the mean."""
        told = self._json("1_Pooling/config.json")
        for name, pooling in POOLINGS.items():
            if told.get(name):
                return pooling
        return (self.known.pooling if self.known else "") or "mean"

    @property
    def query_prompt(self) -> str:
        """The prefix of queries."""
        prompts = self._json("config_sentence_transformers.json").get("prompts") or {}
        return str(prompts.get("query") or (self.known.prompt if self.known else ""))

    def check_tokenizer(self, vocabulary: int) -> None:
        """Raise an error if the tokenizer has more entries than the model has embeddings."""
        embeddings = self.config.get("vocab_size")
        if embeddings is not None and vocabulary > int(embeddings):
            raise RankwellError(
                f"{self.tokenizer_file}: expected a tokenizer of at most {int(embeddings):,} entries, as many as the "
                f"model has embeddings, found {vocabulary:,}: it belongs to another model"
            )

    @property
    def usual_precision(self) -> str:
        """The default precision: int8 where the weights come from int8."""
        told = self._json(RECORD).get("precision")
        if told in PRECISIONS:
            return str(told)
        return INT8 if set(self.onnx_files) == {INT8} and self.torch_weights is None else FP32

    def choose(self, precision: str | None) -> tuple[str, Path | None]:
        """The precision to run at, and its ONNX file; None where one must be made from other weights."""
        if precision is not None and precision not in PRECISIONS:
            raise ParameterError("precision", expected=" or ".join(PRECISIONS), found=precision)
        if not self.onnx_files and self.torch_weights is None:
            raise RankwellError(f"{self.path}: expected weights (*.onnx, {', '.join(TORCH_WEIGHTS)}), found none")
        wanted = precision or self.usual_precision
        file = self.onnx_files.get(wanted)
        if wanted == INT8 and file is not None and not contains(file, SAFE_INT8.encode()):
            return wanted, None
        return wanted, file

    def fingerprint(self, weights: Path | None = None) -> str:
        """Fingerprint of weights, tokenizer and configuration."""
        files = [weights or self.torch_weights, self.tokenizer_file, self.path / "config.json"]
        return fingerprint([fingerprint_file(file) if file and file.is_file() else None for file in files])

    def _json(self, name: str) -> dict[str, Any]:
        file = self.path / name
        if not file.is_file():
            return {}
        try:
            content = orjson.loads(file.read_bytes())
        except orjson.JSONDecodeError as error:
            raise FormatError(file, None, expected="JSON", found=str(error)) from error
        if not isinstance(content, dict):
            raise FormatError(file, None, expected="a JSON object", found=type(content).__name__)
        return content


def contains(file: Path, part: bytes) -> bool:
    """Whether a file contains these bytes."""
    if not file.stat().st_size:
        return False
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(part) >= 0


def _plainest(file: Path) -> tuple[int, int, str]:
    """`model.onnx` before `model_O2.onnx` before everything else."""
    return (not file.stem.startswith("model"), len(file.stem), str(file))
