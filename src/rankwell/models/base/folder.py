"""A model's folder: weights, tokenizer, configuration and intended use."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from rankwell.core import Floats, FormatError, ParameterError, RankwellError, atomic_write, fingerprint
from rankwell.core.errors import Phrase
from rankwell.core.fingerprint import fingerprint_file
from rankwell.models.base.int8 import SAFE_INT8
from rankwell.models.base.loading import reason, wrong_value
from rankwell.models.base.sentence_folder import SentenceFolder
from rankwell.models.base.sources import RECORD, KnownModel, find_model, known_as
from rankwell.models.base.tokens import Tokenizer

FP32, INT8 = "fp32", "int8"
PRECISIONS = (FP32, INT8)
RANKER_RECORD, RANKER_FORMAT = "ranker.json", "rankwell ranker"
NEXT_SENTENCE = ("NextSentencePrediction", "ForPreTraining")  # heads that were trained to tell the next sentence
LONGEST = 512  # tokens by default
QUANTISED = b"QuantizeLinear"  # part of the name of an operation that every int8 graph has
TOKENIZER = (  # the files of a tokenizer, of whatever kind
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("vocab.txt", "vocab.json", "merges.txt", "spiece.model", "sentencepiece.bpe.model"),
)
TORCH_WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
PICKLES = "pytorch_model*.bin"  # never loaded: a pickle can run code


@dataclass(frozen=True)
class RankerRecord:
    """`ranker.json`: the kind of a ranker that is no plain transformer (`parade`, `duo`, ...), and its settings."""

    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write the record into the model's folder."""
        content = {"format": RANKER_FORMAT, "kind": self.kind, "settings": dict(self.settings)}
        with atomic_write(folder / RANKER_RECORD) as file:
            file.write(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")


def read_record(folder: Path) -> RankerRecord | None:
    """The record of a folder, or None for a plain transformer or a linear model."""
    file = folder / RANKER_RECORD
    if not file.is_file():
        return None
    content = read_json(file)
    if content.get("format") != RANKER_FORMAT or not isinstance(content.get("kind"), str):
        raise FormatError(file, None, expected=f'"format": "{RANKER_FORMAT}" and a kind', found=str(content)[:60])
    return RankerRecord(content["kind"], content.get("settings") or {})


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
        """The content of `config.json`, whose numbers are checked; empty where there is none."""
        config = self._json("config.json")
        wrong = wrong_value(config)
        if wrong:
            raise FormatError(self.path / "config.json", None, expected=wrong[0], found=Phrase(wrong[1]))
        return config

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

    @property
    def other_weights(self) -> str:
        """What the folder has in place of weights that can be loaded: "none", or a pickle and the way out."""
        pickles = sorted(self.path.glob(PICKLES))
        if not pickles:
            return "none"
        return (
            f"{pickles[0].name}, a pickle, which is not loaded because it can run code: "
            f"write its numbers as safetensors with `rankwell models convert {self.path}`"
        )

    @cached_property
    def tokenizer_file(self) -> Path:
        """The path of `tokenizer.json`."""
        return self.path / "tokenizer.json"

    @property
    def architecture(self) -> str:
        """The class that the weights were saved from: `BertForSequenceClassification`."""
        return str((self.config.get("architectures") or [""])[0])

    @cached_property
    def record(self) -> RankerRecord | None:
        """The content of `ranker.json`; None for a plain transformer."""
        return read_record(self.path)

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
        numbers = [number for number in told if number]
        if not all(isinstance(number, int | float) and number >= 1 for number in numbers):
            expected = '"max_seq_length" and "model_max_length" to be numbers from 1'
            raise FormatError(self.path, None, expected=expected, found=Phrase(", ".join(map(repr, numbers))))
        return min(map(int, numbers), default=LONGEST)

    @cached_property
    def sentence(self) -> SentenceFolder:
        """What sentence-transformers says of the model."""
        return SentenceFolder(self.path)

    @property
    def pooling(self) -> str:
        """The pooling of token vectors: the folder's, else that of `models.toml`, else the mean."""
        return self.sentence.pooling or (self.known.pooling if self.known else "") or "mean"

    @property
    def query_prompt(self) -> str:
        """The prefix of queries."""
        return self.sentence.query_prompt or (self.known.prompt if self.known else "")

    def load_tokenizer(self) -> Tokenizer:
        """Load the tokenizer; an error if it does not fit the model."""
        tokenizer = Tokenizer(self.tokenizer_file)
        self.check_tokenizer(tokenizer.vocabulary)
        return tokenizer

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
            raise RankwellError(
                f"{self.path}: expected weights (*.onnx, {', '.join(TORCH_WEIGHTS)}), found {self.other_weights}"
            )
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
        return read_json(self.path / name)


def read_json(file: Path) -> dict[str, Any]:
    """The object in a JSON file; empty where there is no file."""
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


# Weights in safetensors files, read and written without torch. The format (huggingface.co/docs/safetensors): 8 bytes
# with the length of a JSON header, which gives each tensor's type, shape and place; then the numbers, little-endian.
SIZE = 8
INDEX = ".index.json"  # of a model in several files


def read_weights(path: Path) -> dict[str, Floats]:
    """All tensors of a `model.safetensors`, or of the files that a `model.safetensors.index.json` lists, in float32."""
    if not path.name.endswith(INDEX):
        return _read_file(path)
    table = read_json(path).get("weight_map")
    if not isinstance(table, dict) or not all(isinstance(part, str) for part in table.values()):
        raise FormatError(path, None, expected='"weight_map": a file for each weight', found=table)
    parts = sorted(set(table.values()))
    return {name: tensor for part in parts for name, tensor in _read_file(path.parent / Path(part).name).items()}


def _read_file(path: Path) -> dict[str, Floats]:
    try:
        content = np.memmap(path, dtype=np.uint8, mode="r")
        length = int(content[:SIZE].view("<u8")[0])
        header = orjson.loads(content[SIZE : SIZE + length].tobytes())
        data = content[SIZE + length :]
        return {name: _tensor(data, entry) for name, entry in header.items() if name != "__metadata__"}
    except OSError as error:
        raise FormatError(path, None, expected="a file with weights", found=Phrase(error.strerror or error)) from error
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
        raise FormatError(path, None, expected="weights in the safetensors format", found=reason(error)) from error


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
