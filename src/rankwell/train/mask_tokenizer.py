"""A model's tokenizer with what masking must know of it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankwell.core import RankwellError
from rankwell.encode.folder import TOKENIZER, ModelFolder
from rankwell.encode.torch_model import FROM_FOLDER
from rankwell.train.masking import Tokens


@dataclass(frozen=True)
class MaskTokenizer:
    """A tokenizer of the library `tokenizers`, and its special tokens."""

    tokenizer: Any
    tokens: Tokens
    mask: str
    unknown: int | None
    padding: int


def open_mask_tokenizer(folder: ModelFolder) -> MaskTokenizer:
    """The tokenizer of a model's folder; nothing is cut or padded."""
    import transformers
    from tokenizers import Tokenizer

    if not folder.tokenizer_file.is_file():
        raise RankwellError(f"{folder.path}: expected a file tokenizer.json in the model's folder, found none")
    try:
        tokenizer = Tokenizer.from_file(str(folder.tokenizer_file))
        special = transformers.AutoTokenizer.from_pretrained(folder.path, **FROM_FOLDER)
    except Exception as error:  # the library raises plain Exception for whatever is wrong with the file
        raise RankwellError(
            f"{folder.tokenizer_file}: expected a tokenizer, found {str(error).splitlines()[0]}"
        ) from error
    if special.mask_token_id is None:
        raise RankwellError(f"{folder.tokenizer_file}: expected a tokenizer with a mask token, found none")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    size = tokenizer.get_vocab_size(with_added_tokens=True)
    folder.check_tokenizer(size)
    tokens = Tokens(size, special.mask_token_id, frozenset(special.all_special_ids))
    return MaskTokenizer(tokenizer, tokens, special.mask_token, special.unk_token_id, special.pad_token_id or 0)


def copy_tokenizer(source: Path, out: Path) -> None:
    """The files of a tokenizer, as they are."""
    for name in TOKENIZER:
        if (source / name).is_file():
            shutil.copyfile(source / name, out / name)
