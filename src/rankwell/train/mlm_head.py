"""Models with a masked-language-model head: the one they came with, or a new one tied to their embeddings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from rankwell.core import RankwellError
from rankwell.encode.folder import ModelFolder
from rankwell.train.freezing import freeze
from rankwell.train.loading import load_model
from rankwell.train.masking import IGNORED

# The parts of a head in the order in which hidden states go through them, by transformers' model types.
HEADS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "albert": ("predictions",),
        "bert": ("cls",),
        "camembert": ("lm_head",),
        "distilbert": ("vocab_transform", "activation", "vocab_layer_norm", "vocab_projector"),
        "electra": ("generator_predictions", "generator_lm_head"),
        "mpnet": ("lm_head",),
        "roberta": ("lm_head",),
        "xlm-roberta": ("lm_head",),
    }
)
BODY = "body"


@dataclass(frozen=True)
class LoadedModel:
    """A model that guesses tokens, and which of its weights are new."""

    model: Any
    new: tuple[str, ...]


def load_masked_model(folder: ModelFolder, seed: int = 0) -> LoadedModel:
    """The model with its head; a body without one gets a new one (dense, layer norm, embeddings again, bias).

    That is how BERT's own head looks (Devlin et al. 2019): its last matrix is the table of embeddings, so that only
    the dense layer, the norm and the bias are new. What a body has besides (a pooler over [CLS]) is kept for whoever
    trains a cross-encoder of it later.
    """
    kind = str(folder.config.get("model_type", "nothing"))
    if kind not in HEADS:
        expected = f"a model type with a masked-language-model head ({', '.join(HEADS)})"
        raise RankwellError(f"{folder.path}: expected {expected}, found {kind}")
    import torch
    import transformers

    torch.manual_seed(seed)
    model, missing = load_model(folder, transformers.AutoModelForMaskedLM)
    body, strange = load_model(folder, transformers.AutoModel)
    if not strange:  # the body as the folder has it is complete, and may be more than the model just loaded
        setattr(model, model.base_model_prefix, body)
        model.tie_weights()
    return LoadedModel(model, tuple(missing))


def freeze_body(model: Any, what: str) -> None:
    """Keep parts as they are: "body" trains the head alone; else as `rankwell.train.freezing` has it.

    The output matrix is the table of embeddings: where these stay, it stays too.
    """
    if what == BODY:
        model.base_model.requires_grad_(requires_grad=False)
    else:
        freeze(model, what)


def masked_logits(model: Any, inputs: Mapping[str, Any], places: Any) -> Any:
    """What the model says of some places of a batch (a mask over its tokens): one row of logits for each.

    The head is asked for these only. Over a whole vocabulary it costs as much as a small body, and 85 % of the places
    are not to be guessed.
    """
    hidden = model.base_model(**inputs).last_hidden_state[places]
    for name in HEADS[model.config.model_type]:
        hidden = getattr(model, name)(hidden)
    return hidden


def masked_loss(model: Any, inputs: Mapping[str, Any], labels: Any) -> Any:
    """Cross entropy over the tokens to be guessed: the mean, in nats."""
    from torch.nn.functional import cross_entropy

    places = labels != IGNORED
    return cross_entropy(masked_logits(model, inputs, places).float(), labels[places])
