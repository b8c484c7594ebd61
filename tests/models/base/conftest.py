"""Small models of random weights, saved as Hugging Face does, with the tokenizer of a real one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from needs import require

SMALL = {
    "vocab_size": 30522,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}
Save = Callable[..., Path]


@pytest.fixture
def save(models: Path, tmp_path: Path) -> Save:
    """Saves a model of a class of transformers' with a configuration; returns its folder."""
    require("train", there=find_spec("transformers") is not None, how="pip install 'rankwell[train]'")
    import torch
    import transformers

    def made(kind: str = "BertForSequenceClassification", name: str = "model", **config: object) -> Path:
        torch.manual_seed(7)
        config_class = getattr(transformers, kind.split("For", maxsplit=1)[0].removesuffix("Model") + "Config")
        model = getattr(transformers, kind)(config_class(**{**SMALL, "initializer_range": 0.5, **config}))
        model.save_pretrained(tmp_path / name)
        shutil.copy(models / "minilm-l6" / "tokenizer.json", tmp_path / name)
        return tmp_path / name

    return made
