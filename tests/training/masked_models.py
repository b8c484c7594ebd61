"""Small models with random weights and a WordPiece tokenizer, in folders as Hugging Face has them."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from needs import require

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
WORDS = ["the", "fever", "of", "patient", "was", "high", "cell", "in", "virus", "and", "mice", "blood"]
PIECES = ["co", "##vid", "##s", "in", "##ter", "##fer", "##on", "."]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = list(dict.fromkeys([*SPECIAL, *WORDS, *PIECES, *LETTERS, *(f"##{letter}" for letter in LETTERS)]))
SMALL = {"vocab_size": len(VOCABULARY), "pad_token_id": 0, "max_position_embeddings": 64}
BERT = {"hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 2, "num_hidden_layers": 2}


def write_model(folder: Path, kind: str = "BertModel", **changes: Any) -> str:
    """Write a model of a class of transformers, with its tokenizer; returns the folder's name."""
    require("train", there=find_spec("transformers") is not None, how="pip install 'rankwell[train]'")
    import torch
    import transformers

    torch.manual_seed(5)
    model = getattr(transformers, kind)
    own = {"dim": 16, "hidden_dim": 32, "n_heads": 2, "n_layers": 2} if kind.startswith("Distil") else BERT
    own = own | ({"embedding_size": 16} if kind.startswith(("Albert", "Electra")) else {})
    model(model.config_class(**SMALL, **own, **changes)).save_pretrained(folder)
    write_tokenizer(folder)
    return str(folder)


def write_tokenizer(folder: Path) -> None:
    """BERT's lower-casing tokenizer over a vocabulary of a few words, some pieces, letters and digits."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    numbers = {word: number for number, word in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))  # noqa: S106 -- a token of words
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.save(str(folder / "tokenizer.json"))
    names = {f"{name.strip('[]').lower()}_token": name for name in SPECIAL}
    config = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 64, **names}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def opened(folder: Path | str) -> Any:
    """The tokenizer of a folder."""
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
