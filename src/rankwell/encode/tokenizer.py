"""Counting WordPiece tokens without torch: how long texts are for a transformer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rankwell.core.errors import RankwellError
from rankwell.encode.models import find_model


class TokenCounter:
    """Counts a text's tokens without the special ones ([CLS], [SEP])."""

    def __init__(self, model: str) -> None:
        self.model = model
        self._tokenizer = _load(model)

    def __call__(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text; nothing is cut."""
        encodings = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [len(encoding.ids) for encoding in encodings]


def _load(model: str) -> Any:
    from tokenizers import Tokenizer

    path = Path(model).expanduser()
    file = path if path.is_file() else find_model(model) / "tokenizer.json"
    if not file.is_file():
        raise RankwellError(f"{model}: expected a file tokenizer.json in the model's folder, found none")
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises plain Exception for whatever is wrong with the file
        raise RankwellError(f"{file}: expected a tokenizer, found {str(error).splitlines()[0]}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
