"""A model reads records once: what was read is kept, through stops, kills and other projects."""

from __future__ import annotations

import itertools
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from rankwell.core import RankwellError
from rankwell.core.progress import Progress
from rankwell.models.base import load_text_encoder
from rankwell.reviews.screening.reader import AT_ONCE, Reader, StoppedError, VectorCache

MODEL = "minilm-l3"
TEXTS = ["Fever in children", "Steel bridges", "Cough and fever", "Fever in children"]


class Letters:
    """Stands for a model where none is needed: counts letters, and what it was asked."""

    dimensions = 2

    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode(self, texts: list[str]) -> np.ndarray:
        self.asked += texts
        return np.array([[text.count("a"), text.count("e")] for text in texts], dtype=np.float32)


@pytest.fixture
def letters() -> Letters:
    return Letters()


@pytest.fixture
def reader(letters: Letters, tmp_path: Path) -> Reader:
    return Reader(letters, VectorCache("letters", 2, tmp_path / "vectors"))  # type: ignore[arg-type]


@pytest.mark.usefixtures("use_models")
def test_vectors_are_those_of_the_model() -> None:
    encoder = load_text_encoder(MODEL)
    expected = encoder.encode(TEXTS)
    for _ in range(2):  # read, and then from the disk
        assert Reader.open(MODEL).read(TEXTS) == pytest.approx(expected, abs=1e-6)


def test_no_text_is_read_twice(reader: Reader, letters: Letters) -> None:
    reader.read(TEXTS)
    assert reader.read([*TEXTS, "New"]).tolist() == [[0, 3], [0, 3], [1, 2], [0, 3], [0, 1]]
    assert letters.asked == [*TEXTS[:3], "New"]


def test_reading_goes_on_where_it_was_stopped(reader: Reader, letters: Letters) -> None:
    texts = [f"text {number}" for number in range(3 * AT_ONCE)]
    looks = itertools.count()
    with pytest.raises(StoppedError):
        reader.read(texts, stopped=lambda: next(looks) == 2)
    assert letters.asked == texts[: 2 * AT_ONCE]
    progress = Progress("reading", quiet=True)
    assert len(reader.read(texts, progress)) == progress.count == len(texts)
    assert letters.asked == texts


def test_nothing_to_read_is_no_row(reader: Reader) -> None:
    assert reader.read([]).shape == (0, 2)


def test_a_vector_of_another_length_is_read_again(reader: Reader, letters: Letters) -> None:
    reader.read(["a"])
    with sqlite3.connect(reader.cache.path) as file:
        file.execute("UPDATE vectors SET vector = x'00'")
    file.close()
    assert reader.read(["a"]).tolist() == [[1, 0]]
    assert letters.asked == ["a", "a"]


def test_texts_themselves_are_not_kept(reader: Reader) -> None:
    reader.read(["A text of somebody's review"])
    assert b"somebody" not in reader.cache.path.read_bytes()


def test_a_file_that_is_no_cache_is_named(reader: Reader) -> None:
    reader.cache.path.parent.mkdir()
    reader.cache.path.write_text("not a database, but a long enough text to be one " * 50)
    with pytest.raises(RankwellError, match=r"letters.sqlite: cannot be used for vectors"):
        reader.read(["a"])


def test_a_model_that_is_not_here_says_how_to_get_it() -> None:
    with pytest.raises(RankwellError, match="rankwell models add minilm-l6"):
        Reader.open("minilm-l6")
