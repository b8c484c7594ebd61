"""Values in SQL: whatever a text holds, it stays one text."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rankwell.clickhouse.engine import Engine, open_engine, parse_address
from rankwell.clickhouse.values import Name, literal, sql

HOSTILE = (
    "'; DROP TABLE x; --",
    "\\'; SELECT 1; --",
    "\\",
    "\\\\'",
    "' OR '1' = '1",
    "a\0b",
    "/* */ -- #",
    "{name:String} {} %s",
    "`x`",
    "\n\t\r\b\x1a",
    "ü漢字🙂'",
    "\\x27",
    "\\u0027",
    "",
)


@pytest.fixture
def engine(chdb: str) -> Engine:
    return open_engine(parse_address(chdb))


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (np.int64(-5), "-5"),
        (np.uint8(7), "7"),
        (np.bool_(True), "1"),
        (np.float32(-0.5), "(-0.5)"),
        ((1, np.int32(2)), "(1, 2)"),
    ],
)
def test_numbers_of_numpy_are_numbers(value: object, written: str) -> None:
    assert literal(value) == written


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_comes_back_as_it_is(engine: Engine, text: str) -> None:
    found = engine.ask(sql("SELECT {text} AS text, {pair} AS pair, 7 AS seven", text=text, pair=text + "'"))
    assert found["text"] == [text]
    assert found["pair"] == [text + "'"]
    assert found["seven"].tolist() == [7]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(), min_size=1, max_size=20))
@example(list(HOSTILE))
def test_any_texts_come_back_as_they_are(engine: Engine, texts: list[str]) -> None:
    found = engine.ask(sql("SELECT arrayJoin({texts}) AS text", texts=texts))
    assert found["text"] == texts


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=20))
def test_numbers_come_back_bit_by_bit(engine: Engine, numbers: list[float]) -> None:
    found = engine.ask(sql("SELECT arrayJoin({numbers}) AS number", numbers=[*numbers, 0.5]))
    assert found["number"].tolist()[:-1] == numbers


def test_what_is_no_number_is_none(engine: Engine) -> None:
    assert math.isnan(engine.ask(sql("SELECT {x} AS x", x=math.nan))["x"][0])


@pytest.mark.parametrize("name", ["a b", "a`b", "a\\", "'; --", "x.y"])
def test_a_name_is_one_name(engine: Engine, name: str) -> None:
    assert engine.ask(sql("SELECT 1 AS {name}", name=Name(name))).keys() == {name}


def test_half_a_character_is_replaced() -> None:
    assert literal("a\ud800b") == "'a\ufffdb'"


@pytest.mark.parametrize("value", [None, {}, object(), ()])
def test_what_is_no_value_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        literal(value)
