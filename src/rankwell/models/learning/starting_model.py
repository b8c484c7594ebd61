"""The starting model of a training: load it, add a head, set dropout, freeze layers."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import Any

import orjson

from rankwell.core import ParameterError, RankwellError
from rankwell.models.base.folder import TOKENIZER, ModelFolder, read_json
from rankwell.models.base.loading import reason
from rankwell.models.base.torch_model import FROM_FOLDER
from rankwell.models.learning.settings import USUAL_TOKENS


def load_model(folder: ModelFolder, kind: Any, **options: Any) -> tuple[Any, list[str]]:
    """Load the model into a class of transformers, with the names of weights missing in the folder.

    The missing weights are initialised at random. `options` go to `from_pretrained`.
    """
    import transformers

    verbosity: Any = transformers.logging
    level = verbosity.get_verbosity()
    verbosity.set_verbosity_error()
    verbosity.disable_progress_bar()
    try:
        model, said = kind.from_pretrained(
            folder.path, use_safetensors=True, output_loading_info=True, **FROM_FOLDER, **options
        )
    except Exception as error:  # the library raises anything for a folder that is not as it expects
        raise RankwellError(f"{folder.path}: expected a model for torch, found {reason(error)}") from error
    finally:
        verbosity.set_verbosity(level)
    return model, sorted({*said["missing_keys"], *(name for name, *_ in said["mismatched_keys"])})


# BERT and its kin; DistilBERT; ModernBERT; ALBERT; DeBERTa
NAMES = (
    *("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout"),
    *("dropout", "attention_dropout", "seq_classif_dropout"),
    *("embedding_dropout", "mlp_dropout"),
    *("classifier_dropout_prob",),
    *("pooler_dropout", "cls_dropout"),
)


def with_dropout(config: Any, dropout: float | None) -> Any:
    """A model's configuration with this dropout in all places; None keeps it."""
    if dropout is not None:
        for name in NAMES:
            if hasattr(config, name):
                setattr(config, name, dropout)
    return config


log = logging.getLogger(__name__)

LONGEST = 512  # default number of tokens


def find_trainable(name: str) -> ModelFolder:
    """The folder of a model with PyTorch weights and a tokenizer."""
    folder = ModelFolder.find(name)
    if folder.torch_weights is None:
        found = f"only ONNX ({', '.join(folder.onnx_files)})" if folder.onnx_files else folder.other_weights
        raise RankwellError(f"{name}: expected PyTorch's weights (model.safetensors) to start from, found {found}")
    return folder


def load_classifier(folder: ModelFolder, dropout: float | None) -> Any:
    """Load a cross-encoder with one logit; a body without such a head gets a new one."""
    import transformers

    config = _encoder_config(folder, "an encoder that can classify", "MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING")
    config.num_labels = 1
    return load(folder, transformers.AutoModelForSequenceClassification, with_dropout(config, dropout))


def load_body(folder: ModelFolder, dropout: float | None) -> Any:
    """Load the model without a head: one vector per token."""
    import transformers

    config = _encoder_config(folder, "an encoder")
    return load(folder, transformers.AutoModel, with_dropout(config, dropout))


def _encoder_config(folder: ModelFolder, expected: str, *mappings: str) -> Any:
    """The configuration of an encoder; `mappings` are transformers' tables of models that must have it too."""
    import transformers

    kinds: Any = transformers.models.auto.modeling_auto
    try:
        config = transformers.AutoConfig.from_pretrained(folder.path, **FROM_FOLDER)
    except Exception as error:  # the library raises anything for a configuration that is not as it expects
        found = folder.config.get("model_type", "no model type")
        raise RankwellError(
            f"{folder.name}: expected a model type that transformers {transformers.__version__} knows, found {found}"
        ) from error
    known = all(type(config) in getattr(kinds, mapping) for mapping in ("MODEL_FOR_MASKED_LM_MAPPING", *mappings))
    if not known or getattr(config, "is_encoder_decoder", False):
        raise RankwellError(
            f"{folder.name}: expected {expected} (BERT, RoBERTa, ALBERT, DistilBERT, ELECTRA, ...), "
            f"found the model type {config.model_type}"
        )
    return config


def load(folder: ModelFolder, kind: Any, config: Any) -> Any:
    """Load a folder's weights into a class of transformers; missing ones are initialised from the seed."""
    model, new = load_model(folder, kind, config=config, ignore_mismatched_sizes=True, dtype="float32")
    if new:
        log.warning("%s has no weights for %s: they start at random", folder.name, ", ".join(new))
    return model


def token_budget(folder: ModelFolder, wanted: int | None) -> int:
    """Tokens per example: as asked for, or 256 if the model takes that many."""
    longest = longest_input(folder)
    if wanted is not None and not 1 <= wanted <= longest:
        raise ParameterError("max_tokens", expected=f"a number up to {longest} for {folder.name}", found=wanted)
    return wanted or min(USUAL_TOKENS, longest)


def longest_input(folder: ModelFolder) -> int:
    """The number of positions of the model; its authors may recommend less."""
    told = [_tokenizer_config(folder.path).get("model_max_length"), folder.config.get("max_position_embeddings")]
    return min((int(number) for number in told if isinstance(number, int | float) and number >= 1), default=LONGEST)


def copy_tokenizer(source: Path, target: Path, max_tokens: int | None = None) -> None:
    """Copy a tokenizer beside new weights, with the number of tokens used in training where one is given."""
    for name in TOKENIZER:
        if (source / name).is_file():
            shutil.copyfile(source / name, target / name)
    if max_tokens is None:
        return
    config = {**_tokenizer_config(source), "model_max_length": max_tokens}
    (target / "tokenizer_config.json").write_bytes(orjson.dumps(config, option=orjson.OPT_INDENT_2) + b"\n")


def _tokenizer_config(folder: Path) -> dict[str, Any]:
    return read_json(folder / "tokenizer_config.json")


NONE, HEAD, EMBEDDINGS, LAYERS = "none", "head", "embeddings", "layers:"
EXPECTED = "none, head (train the head only), embeddings, or layers:N (embeddings and the first N layers)"


def freeze(model: Any, what: str) -> int:
    """Freeze part of the weights. Returns the number of trained weights.

    `head`: the embeddings and all layers are frozen; the pooler, if there is one, and the classifier are
    trained. `layers:N`: the embeddings and the first N layers are frozen.
    """
    if what == EMBEDDINGS:
        _still(_embeddings(model))
    elif what == HEAD:
        _still(model.base_model)
        for name, module in model.base_model.named_children():
            module.requires_grad_(requires_grad=name == "pooler")
    elif what.startswith(LAYERS):
        _still(_embeddings(model), *_first_layers(model, what))
    elif what != NONE:
        raise ParameterError("freeze", expected=EXPECTED, found=what)
    return sum(weights.numel() for weights in model.parameters() if weights.requires_grad)


def transformer_layers(model: Any) -> list[Any]:
    """The layers of a model in order, whatever their name.

    A model that repeats one layer (ALBERT) has only that one.
    """
    from torch.nn import ModuleList

    body = model.base_model
    lists = [module for module in body.modules() if isinstance(module, ModuleList)]
    wanted = int(getattr(model.config, "num_hidden_layers", 0))
    exact = [layers for layers in lists if len(layers) == wanted]
    return list(exact[0] if exact else lists[0]) if lists else []


def _first_layers(model: Any, what: str) -> list[Any]:
    layers, told = transformer_layers(model), what.removeprefix(LAYERS)
    count = int(getattr(model.config, "num_hidden_layers", 0))
    if len(layers) != count:
        expected = "none, head or embeddings for a model whose layers share their weights"
        raise ParameterError("freeze", expected=expected, found=what)
    if not (told.isdecimal() and 1 <= int(told) <= count):
        raise ParameterError("freeze", expected=f"layers:1 to layers:{count} for this model", found=what)
    return layers[: int(told)]


def _embeddings(model: Any) -> Any:
    return getattr(model.base_model, "embeddings", None) or model.get_input_embeddings()


def _still(*modules: Any) -> None:
    for module in modules:
        module.requires_grad_(requires_grad=False)
