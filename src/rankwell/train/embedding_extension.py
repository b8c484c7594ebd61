"""A model with embeddings for new words, each the mean of those of its old pieces."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from rankwell.core import MissingExtraError
from rankwell.encode.folder import ModelFolder
from rankwell.train.loading import load_model
from rankwell.train.tokenizer_extension import ExtendedTokenizer

# How a folder says that it makes vectors of texts: an extended one still does.
SENTENCE_FILES = ("modules.json", "config_sentence_transformers.json", "sentence_bert_config.json")
SENTENCE_FOLDERS = ("1_Pooling",)


def extend_model(folder: ModelFolder, words: ExtendedTokenizer, out: Path) -> None:
    """Write a folder with the model, its tokenizer and the new words; the head, if there is one, stays."""
    try:
        import transformers
    except ImportError as error:
        raise MissingExtraError(f"{folder.name}: new embeddings", extra="train") from error
    known = folder.architecture if hasattr(transformers, folder.architecture) else "AutoModel"
    model, _ = load_model(folder, getattr(transformers, known))
    extend_embeddings(model, words)
    out.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(out)
    words.write(folder.path, out)
    for name in SENTENCE_FILES:
        if (folder.path / name).is_file():
            shutil.copyfile(folder.path / name, out / name)
    for name in SENTENCE_FOLDERS:
        if (folder.path / name).is_dir():
            shutil.copytree(folder.path / name, out / name, dirs_exist_ok=True)


def extend_embeddings(model: Any, words: ExtendedTokenizer) -> None:
    """Grow the embeddings (and the output bias of a masked-language-model head), and fill the new rows.

    A new word starts as the mean of its pieces, so that a text means to the model nearly what it meant before; a word
    that had no pieces ([UNK]) starts there too.
    """
    import torch

    if words.size > model.get_input_embeddings().num_embeddings:  # some models have spare rows
        model.resize_token_embeddings(words.size, mean_resizing=False)
    head = model.get_output_embeddings()
    bias = getattr(head, "bias", None)
    with torch.no_grad():
        for table in _tables(model, head):
            for word, number in words.ids.items():
                table[number] = table[words.pieces[word]].mean(dim=0)
        if bias is not None:
            for word, number in words.ids.items():
                bias[number] = bias[words.pieces[word]].mean()


def _tables(model: Any, head: Any) -> list[Any]:
    """The input embeddings, and the output's where they are not the same tensor."""
    table = model.get_input_embeddings().weight
    return [table] if head is None or head.weight is table else [table, head.weight]
