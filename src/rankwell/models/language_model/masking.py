"""Masking (which tokens to predict, and what replaces them), and the head that predicts them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from rankwell.core import Integers, ParameterError, RankwellError, atomic_write
from rankwell.models.base.folder import ModelFolder, read_json, read_weights, write_weights
from rankwell.models.base.torch_model import FROM_FOLDER
from rankwell.models.learning.starting_model import freeze, load_model

IGNORED = -100  # label of a token that is not predicted, as in torch's cross entropy
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Replacement:
    """What replaces a chosen token: [MASK], a random token, or (the rest) itself."""

    mask: float
    random: float

    def __post_init__(self) -> None:
        if not (self.mask >= 0 and self.random >= 0 and self.mask + self.random <= 1):
            raise ParameterError("replacement", expected="shares from 0 to 1, together at most 1", found=self)


REPLACEMENTS: Mapping[str, Replacement] = {
    "bert": Replacement(0.8, 0.1),  # Devlin et al., "BERT", 2019, section 3.1: arXiv 1810.04805
    "all-mask": Replacement(1.0, 0.0),
}


@dataclass(frozen=True)
class MaskedTokens:
    """What masking needs of a vocabulary: its size, the mask's id, and the ids that are never masked."""

    size: int
    mask: int
    special: frozenset[int]


@dataclass(frozen=True, eq=False)
class Masker:
    """Masks a sequence at random; each generator gives other masks.

    Each token that is not special is chosen with `probability`, independently of the others; with `whole_words` each
    word, with all of its tokens. A sequence without a chosen token gets one, because a batch with
    nothing to predict has no loss. Random tokens are drawn uniformly from the vocabulary (as BERT's code does), or in
    proportion to `frequencies`; never a special one.
    """

    tokens: MaskedTokens
    probability: float = 0.15
    replacement: Replacement = REPLACEMENTS["bert"]
    whole_words: bool = False
    frequencies: npt.NDArray[np.float64] | None = None
    _cumulated: npt.NDArray[np.float64] = field(init=False, repr=False)
    _special: Flags = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0 < self.probability < 1:
            raise ParameterError("mask probability", expected="a number between 0 and 1", found=self.probability)
        special = np.zeros(self.tokens.size, dtype=np.bool_)
        special[[number for number in self.tokens.special if number < self.tokens.size]] = True
        weights = np.ones(self.tokens.size) if self.frequencies is None else np.array(self.frequencies, dtype=float)
        weights[special] = 0
        object.__setattr__(self, "_special", special)
        object.__setattr__(self, "_cumulated", np.cumsum(weights) / weights.sum())

    def __call__(
        self, ids: Integers, generator: np.random.Generator, starts: Flags | None = None
    ) -> tuple[Integers, Integers]:
        """The masked sequence, and the labels to predict; `starts` marks the first tokens of words."""
        inputs = ids.astype(np.int64)
        chosen = self._chosen(~self._special[inputs], generator, starts)
        labels = np.where(chosen, inputs, IGNORED)
        places = np.flatnonzero(chosen)
        lots = generator.random(len(places))
        inputs[places[lots < self.replacement.mask]] = self.tokens.mask
        randomised = places[(lots >= self.replacement.mask) & (lots < self.replacement.mask + self.replacement.random)]
        inputs[randomised] = np.searchsorted(self._cumulated, generator.random(len(randomised)), side="right")
        return inputs, labels

    def _chosen(self, possible: Flags, generator: np.random.Generator, starts: Flags | None) -> Flags:
        if not possible.any():
            return possible
        units = np.arange(len(possible))
        if self.whole_words:
            if starts is None:
                raise ParameterError("starts", expected="which tokens begin words, to mask whole ones", found=starts)
            units = np.cumsum(starts | ~possible)  # a special token is a word of its own
        chosen = (generator.random(int(units[-1]) + 1) < self.probability)[units] & possible
        if not chosen.any():
            chosen = (units == generator.choice(units[possible])) & possible
        return chosen


@dataclass(frozen=True)
class MaskTokenizer:
    """A tokenizer of the library `tokenizers`, and its special tokens."""

    tokenizer: Any
    tokens: MaskedTokens
    mask: str
    unknown: int | None
    padding: int


def open_mask_tokenizer(folder: ModelFolder) -> MaskTokenizer:
    """The tokenizer of a model's folder, without truncation and padding."""
    import transformers
    from tokenizers import Tokenizer

    if not folder.tokenizer_file.is_file():
        raise RankwellError(f"{folder.path}: expected a file tokenizer.json in the model's folder, found none")
    try:
        tokenizer = Tokenizer.from_file(str(folder.tokenizer_file))
        special = transformers.AutoTokenizer.from_pretrained(folder.path, **FROM_FOLDER)
    except Exception as error:  # the library raises plain Exception for any problem with the file
        raise RankwellError(
            f"{folder.tokenizer_file}: expected a tokenizer, found {str(error).splitlines()[0]}"
        ) from error
    if special.mask_token_id is None:
        raise RankwellError(f"{folder.tokenizer_file}: expected a tokenizer with a mask token, found none")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    size = tokenizer.get_vocab_size(with_added_tokens=True)
    folder.check_tokenizer(size)
    tokens = MaskedTokens(size, special.mask_token_id, frozenset(special.all_special_ids))
    return MaskTokenizer(tokenizer, tokens, special.mask_token, special.unk_token_id, special.pad_token_id or 0)


# The parts of a head in the order of the forward pass, by transformers' model types.
HEADS: Mapping[str, tuple[str, ...]] = {
    "albert": ("predictions",),
    "bert": ("cls",),
    "camembert": ("lm_head",),
    "distilbert": ("vocab_transform", "activation", "vocab_layer_norm", "vocab_projector"),
    "electra": ("generator_predictions", "generator_lm_head"),
    "mpnet": ("lm_head",),
    "roberta": ("lm_head",),
    "xlm-roberta": ("lm_head",),
}
BODY = "body"
NEXT_SENTENCE = "cls.seq_relationship."  # prefix of the weights of BERT's next-sentence head


@dataclass(frozen=True)
class LoadedModel:
    """A masked language model, and the names of its new weights."""

    model: Any
    new: tuple[str, ...]


def load_masked_model(folder: ModelFolder, seed: int = 0) -> LoadedModel:
    """Load the model with its head; a body without one gets a new one (dense, layer norm, tied embeddings, bias).

    This is BERT's own head (Devlin et al. 2019): its last matrix is the table of embeddings, so that only
    the dense layer, the norm and the bias are new. Other parts of a body (a pooler over [CLS]) are kept for
    training a cross-encoder later.
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
    if not strange:  # the body in the folder is complete, and may have more than the loaded model
        setattr(model, model.base_model_prefix, body)
        model.tie_weights()
    return LoadedModel(model, tuple(missing))


def keep_next_sentence(start: ModelFolder, place: Path) -> None:
    """Give a written model the next-sentence head of the model it began with, if that has one.

    The training does not use this head, so transformers leaves it out; a cross-encoder can begin with it.
    """
    if not start.next_sentence or start.torch_weights is None:
        return
    head = {name: value for name, value in read_weights(start.torch_weights).items() if name.startswith(NEXT_SENTENCE)}
    file, config = place / "model.safetensors", place / "config.json"
    write_weights(file, read_weights(file) | head)
    with atomic_write(config) as written:
        written.write(orjson.dumps({**read_json(config), "architectures": ["BertForPreTraining"]}))


def freeze_body(model: Any, what: str) -> None:
    """Freeze parts: "body" trains the head alone; else as in `rankwell.models.learning.starting_model`.

    The output matrix is the table of embeddings: where these are frozen, it is too.
    """
    if what == BODY:
        model.base_model.requires_grad_(requires_grad=False)
    else:
        freeze(model, what)


def masked_logits(model: Any, inputs: Mapping[str, Any], places: Any) -> Any:
    """One row of logits for each selected position of a batch (a mask over its tokens).

    Only these go through the head. Over a whole vocabulary it costs as much as a small body, and 85 % of the
    positions are not predicted.
    """
    hidden = model.base_model(**inputs).last_hidden_state[places]
    for name in HEADS[model.config.model_type]:
        hidden = getattr(model, name)(hidden)
    return hidden


def masked_loss(model: Any, inputs: Mapping[str, Any], labels: Any) -> Any:
    """Mean cross entropy over the tokens to predict, in nats."""
    from torch.nn.functional import cross_entropy

    places = labels != IGNORED
    return cross_entropy(masked_logits(model, inputs, places).float(), labels[places])
