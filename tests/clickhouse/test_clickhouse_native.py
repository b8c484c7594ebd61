"""The engine's binary format, there and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.clickhouse.engine import open_engine, parse_address
from rankwell.clickhouse.values import (
    block,
    numbers,
    optional_texts,
    packed,
    read_blocks,
    repeated_texts,
    sql,
    texts,
    vectors,
)
from rankwell.core import RankwellError


@given(st.lists(st.tuples(st.text(), st.integers(0, 2**32 - 1))))
def test_texts_and_numbers_are_read_as_they_were_written(rows: list[tuple[str, int]]) -> None:
    written = block({"text": texts(text for text, _ in rows), "number": numbers("UInt32", [n for _, n in rows])})
    found = read_blocks(written + written)
    assert found["text"] == 2 * [text for text, _ in rows]
    assert found["number"].tolist() == 2 * [number for _, number in rows]


def test_a_long_text_has_a_long_length() -> None:
    assert read_blocks(block({"text": texts(["x" * 300, "y"])}))["text"] == ["x" * 300, "y"]


def test_the_engine_reads_every_kind_of_column(chdb: str) -> None:
    engine = open_engine(parse_address(chdb))
    columns = {
        "word": repeated_texts([packed("ab"), packed("c")], [2, 1]),
        "number": numbers("UInt32", [1, 2, 3]),
        "float": numbers("Float64", [0.5, np.nan, -1]),
        "maybe": optional_texts(["x", None, ""]),
        "vector": vectors(np.array([[1, 2], [3, 4], [5, 6]])),
    }
    kinds = ", ".join(f"{name} {column.kind}" for name, column in columns.items())
    engine.run_each(sql("CREATE DATABASE IF NOT EXISTS kinds"))
    engine.run_each(sql("CREATE TABLE kinds.t (" + kinds + ") ENGINE = MergeTree ORDER BY number"))
    engine.insert(sql("kinds.t"), columns)
    found = engine.ask(
        sql("SELECT word, float, isNull(maybe) AS none, assumeNotNull(maybe) AS sure, vector[2] AS second FROM kinds.t")
    )
    assert found["word"] == ["ab", "ab", "c"]
    assert found["float"].tolist()[::2] == [0.5, -1]
    assert found["none"].tolist() == [0, 1, 0]
    assert found["sure"] == ["x", "", ""]
    assert found["second"].tolist() == [2, 4, 6]


def test_an_unknown_type_is_named(chdb: str) -> None:
    with pytest.raises(RankwellError, match="Date"):
        open_engine(parse_address(chdb)).ask(sql("SELECT today() AS day"))


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="expected 1 rows, found 2"):
        block({"a": numbers("UInt8", [1]), "b": numbers("UInt8", [1, 2])})
