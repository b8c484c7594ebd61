"""The model that training starts from: any encoder that transformers knows, with one logit on top."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import Any

import orjson

from rankwell.core import ParameterError, RankwellError
from rankwell.encode.folder import TOKENIZER, ModelFolder
from rankwell.encode.torch_model import FROM_FOLDER
from rankwell.train.dropout import with_dropout
from rankwell.train.loading import load_model

log = logging.getLogger(__name__)

LONGEST, USUAL = 512, 256  # tokens, where nothing else is said


def find_trainable(name: str) -> ModelFolder:
    """The folder of a model that has PyTorch's weights, and a tokenizer."""
    folder = ModelFolder.find(name)
    if folder.torch_weights is None:
        found = f"only ONNX ({', '.join(folder.onnx_files)})" if folder.onnx_files else "none"
        raise RankwellError(f"{name}: expected PyTorch's weights (model.safetensors) to start from, found {found}")
    return folder


def load_classifier(folder: ModelFolder, dropout: float | None) -> Any:
    """The model as a cross-encoder with one logit; a body without such a head gets a new one."""
    import transformers

    config = load_config(folder)
    kinds: Any = transformers.models.auto.modeling_auto
    encoder = type(config) in kinds.MODEL_FOR_MASKED_LM_MAPPING and not getattr(config, "is_encoder_decoder", False)
    if type(config) not in kinds.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING or not encoder:
        raise RankwellError(
            f"{folder.name}: expected an encoder that can classify (BERT, RoBERTa, ALBERT, DistilBERT, ELECTRA, ...), "
            f"found the model type {config.model_type}"
        )
    config.num_labels = 1
    return load(folder, transformers.AutoModelForSequenceClassification, with_dropout(config, dropout))


def load_body(folder: ModelFolder, dropout: float | None) -> Any:
    """The model without a head: a vector a token."""
    import transformers

    config = load_config(folder)
    kinds: Any = transformers.models.auto.modeling_auto
    if type(config) not in kinds.MODEL_FOR_MASKED_LM_MAPPING or getattr(config, "is_encoder_decoder", False):
        raise RankwellError(
            f"{folder.name}: expected an encoder (BERT, RoBERTa, ALBERT, DistilBERT, ELECTRA, ...), found the model "
            f"type {config.model_type}"
        )
    return load(folder, transformers.AutoModel, with_dropout(config, dropout))


def load_config(folder: ModelFolder) -> Any:
    """The configuration of a folder."""
    import transformers

    try:
        return transformers.AutoConfig.from_pretrained(folder.path, **FROM_FOLDER)
    except (OSError, ValueError, KeyError) as error:
        found = folder.config.get("model_type", "no model type")
        raise RankwellError(
            f"{folder.name}: expected a model type that transformers {transformers.__version__} knows, found {found}"
        ) from error


def load(folder: ModelFolder, kind: Any, config: Any) -> Any:
    """The weights of a folder in a class of transformers; new ones, from the seed, where the folder has none."""
    model, new = load_model(folder, kind, config=config, ignore_mismatched_sizes=True, dtype="float32")
    if new:
        log.warning("%s has no weights for %s: they start at random", folder.name, ", ".join(new))
    return model


def token_budget(folder: ModelFolder, wanted: int | None) -> int:
    """How many tokens an example has at most: as asked, or 256 where the model takes so many."""
    longest = longest_input(folder)
    if wanted is not None and not 1 <= wanted <= longest:
        raise ParameterError("max_tokens", expected=f"a number up to {longest} for {folder.name}", found=wanted)
    return wanted or min(USUAL, longest)


def longest_input(folder: ModelFolder) -> int:
    """How many tokens the model has positions for; what its makers advise may be less."""
    told = [_tokenizer_config(folder.path).get("model_max_length"), folder.config.get("max_position_embeddings")]
    return min((int(number) for number in told if number), default=LONGEST)


def copy_tokenizer(source: Path, target: Path, max_tokens: int) -> None:
    """Put a tokenizer beside new weights; it says how many tokens they were trained with."""
    for name in TOKENIZER:
        if (source / name).is_file():
            shutil.copy(source / name, target / name)
    config = {**_tokenizer_config(source), "model_max_length": max_tokens}
    (target / "tokenizer_config.json").write_bytes(orjson.dumps(config, option=orjson.OPT_INDENT_2) + b"\n")


def _tokenizer_config(folder: Path) -> dict[str, Any]:
    file = folder / "tokenizer_config.json"
    return dict(orjson.loads(file.read_bytes())) if file.is_file() else {}
