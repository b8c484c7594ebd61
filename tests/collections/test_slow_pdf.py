"""A PDF file that takes too long is told, and does not stop the others."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from made_files import pdf_of
from rankwell.collections import Problems, Reading, read_documents
from rankwell.collections.pdf import read_pdf
from rankwell.core import RankwellError

SLOW = pdf_of(["some words", "more words"])


def test_a_pdf_that_takes_too_long_is_told_with_its_page() -> None:
    content = io.BytesIO(SLOW)
    with pytest.raises(
        RankwellError, match=r"slow.pdf, page 2: expected a PDF file that is read within 0.0 s, found a"
    ):
        list(read_pdf(Path("slow.pdf"), content, Reading(), seconds=0.0).parts)


def test_the_other_files_of_a_folder_are_read_beside_a_slow_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow.pdf").write_bytes(SLOW)
    (tmp_path / "good.pdf").write_bytes(pdf_of(["good words"]))
    monkeypatch.setattr("rankwell.collections.pdf.SECONDS", 0.0)
    reading = Reading(problems=Problems(skip=True))
    assert [document.id for document in read_documents(tmp_path, reading=reading)] == ["good.pdf"]
    assert reading.problems.count == 1
