from __future__ import annotations

from pathlib import Path

import pytest

from rankwell.core import RankwellError
from rankwell.models.base import TokenCounter


def test_tokens_are_counted_as_bert_splits_them_and_never_cut(models: Path) -> None:
    count = TokenCounter(str(models / "minilm-l6"))
    assert count(["", "fever", "the embedding"]) == [0, 1, 4]  # em ##bed ##ding
    assert count(["word " * 2000]) == [2000]


def test_a_folder_without_tokenizer_is_said(tmp_path: Path) -> None:
    with pytest.raises(RankwellError, match=r"expected a file tokenizer\.json"):
        TokenCounter(str(tmp_path))


def test_a_damaged_tokenizer_is_said(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(RankwellError, match="expected a tokenizer, found"):
        TokenCounter(str(tmp_path))
