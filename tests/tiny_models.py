"""Transformers of a few thousand weights, made on the spot: real folders, random weights, no network."""

from __future__ import annotations

import json
import random
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from needs import require

if TYPE_CHECKING:
    from rankwell.index import Index
    from rankwell.models.learning.pairs import Pairs

TOPICS = [
    *("fever", "cough", "aspirin", "penicillin", "throat", "heart", "blood", "pressure", "salt", "bees"),
    *("honey", "sleep", "night", "telescope", "moon", "jupiter", "mirror", "cold", "flu", "virus"),
]
FILLERS = [
    *("vaccine", "dose", "trial", "patient", "drug", "child", "old", "new", "high", "low", "long", "short"),
    *("day", "week", "the", "a", "of", "and", "in", "for", "is"),
]
WORDS = [*TOPICS, *FILLERS]


def needs_torch() -> None:
    """Skip the whole module where training is not installed."""
    names = ("torch", "transformers", "sentence_transformers", "accelerate")
    try:
        require("train", there=all(map(find_spec, names)), how="pip install 'rankwell[train]'")
    except pytest.skip.Exception as skipped:
        pytest.skip(str(skipped), allow_module_level=True)


def topic_pairs(folder: Path, *, queries: int = 40, documents: int = 5, seed: int = 1) -> Pairs:
    """Pairs that can be learnt: of each query's documents the first is relevant, and is told by its words."""
    from rankwell.models.learning.pairs import Pair, open_pairs
    from rankwell.models.learning.pairs_writer import PairsWriter

    lots = random.Random(seed)  # noqa: S311 -- texts, not secrets
    with PairsWriter(folder, made={"from": "a test"}) as writer:
        for query in range(queries):
            word = lots.choice(TOPICS)
            others = [other for other in TOPICS if other != word]
            for document in range(documents):
                first = word if document == 0 else lots.choice(others)
                words = FILLERS[:10] if document == 0 else FILLERS[10:]
                text = " ".join([first, *lots.choices(words, k=lots.randint(3, 12))])
                label = float(document == 0)
                writer.add(Pair(f"q{query}", f"d{query}-{document}", word, text, label))
    return open_pairs(folder)


def topic_index(folder: Path, documents: int = 30) -> Index:
    """An index of documents with titles and sentences, each about a topic."""
    from rankwell.core import Document
    from rankwell.index import Index, IndexWriter

    lots = random.Random(2)  # noqa: S311 -- texts, not secrets
    with IndexWriter(folder) as writer:
        for number in range(documents):
            topic = TOPICS[number % len(TOPICS)]
            text = " ".join(f"The {topic} of {' '.join(lots.choices(FILLERS, k=6))}." for _ in range(3))
            writer.add(Document(f"d{number}", {"title": f"{topic} {lots.choice(FILLERS)}", "text": text}))
    return Index.open(folder)


def tiny_bert(folder: Path, *, seed: int = 0, layers: int = 2, head: str | None = None, **changes: Any) -> Path:
    """A BERT with random weights: without a head, or saved from the class of transformers that is named."""
    sizes = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 64}
    sizes |= {"num_hidden_layers": layers}
    return tiny_model(folder, "BertConfig", head or "BertModel", seed=seed, **{**sizes, **changes})


def tiny_model(folder: Path, config: str, kind: str, *, seed: int = 0, **settings: Any) -> Path:
    """Random weights in any class of transformers, with a WordPiece tokenizer."""
    import torch
    import transformers

    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *"abcdefghijklmnopqrstuvwxyz"]
    vocabulary += [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    vocabulary = list(dict.fromkeys(vocabulary))
    torch.manual_seed(seed)
    transformers.logging.disable_progress_bar()
    made = getattr(transformers, config)(vocab_size=len(vocabulary), pad_token_id=0, **settings)
    getattr(transformers, kind)(made).save_pretrained(folder)
    write_tokenizer(folder, vocabulary)
    return folder


def write_tokenizer(folder: Path, vocabulary: list[str]) -> None:
    """A WordPiece tokenizer as BERT has it."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordPiece({word: place for place, word in enumerate(vocabulary)}, unk_token="[UNK]"))  # noqa: S106 -- the token for unknown words
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = [("[CLS]", vocabulary.index("[CLS]")), ("[SEP]", vocabulary.index("[SEP]"))]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=special
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    names = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    config = {f"{name}_token": token for name, token in names.items()}
    config |= {"tokenizer_class": "BertTokenizer", "model_max_length": 64}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
