"""Numbers as people write them: decimal commas, thousands separators, currency signs, per cent.

A whole column decides what a comma means: in `1,500` alone it cannot be told.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

POINT, COMMA = ".", ","
# As programs write them: no leading zeros, an exponent only with its sign, at most the digits of 64 bits.
PLAIN = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,20}(e[+-][0-9]{2,3})?|e[+-][0-9]{2,3})?", re.IGNORECASE)
POINT_GROUPED = re.compile(
    r"-?[1-9][0-9]{0,2}(?:(?P<group>[,'\u2019 \u00a0\u202f])[0-9]{3}(?:(?P=group)[0-9]{3}){0,4})(\.[0-9]{1,20})?"
)
COMMA_PLAIN = re.compile(r"-?(0|[1-9][0-9]{0,17})(,[0-9]{1,20})?")
COMMA_GROUPED = re.compile(
    r"-?[1-9][0-9]{0,2}(?:(?P<group>[.'\u2019 \u00a0\u202f])[0-9]{3}(?:(?P=group)[0-9]{3}){0,4})(,[0-9]{1,20})?"
)
CODE = re.compile(r"[+-]?0[0-9]+")  # 007 is no number
GROUPS = str.maketrans("", "", ",'\u2019 \u00a0\u202f")
COMMA_GROUPS = str.maketrans({",": ".", **dict.fromkeys(".'\u2019 \u00a0\u202f", "")})
CURRENCIES = "EUR USD GBP CHF JPY CNY INR RUB SEK NOK DKK PLN CZK HUF CAD AUD NZD BRL MXN ZAR TRY KRW Fr\\. kr zł Kč"
UNIT = rf"[$€£¥₹₽₩%]|US\$|{CURRENCIES.replace(' ', '|')}"
BEFORE, AFTER = (
    re.compile(rf"(-?)({UNIT})[ \u00a0\u202f]?(?=[-0-9])"),
    re.compile(rf"(?<=[0-9])[ \u00a0\u202f]?({UNIT})"),
)
ENOUGH = 0.8  # of the values are numbers; fewer where the others are a few repeated words, such as n/a
FEW_OTHERS = 3
SHORT = 18  # digits that fit in 64 bits


@dataclass(frozen=True)
class NumberForm:
    """How a column writes numbers: its decimal sign, its unit (a currency or %), and whether both signs would do."""

    decimal: str = POINT
    unit: str = ""
    unsure: bool = False

    def read(self, text: str) -> int | float | None:
        """A number; None for other text."""
        if self.decimal == POINT and not self.unit:
            if text.isdecimal() and text[0] in "123456789" and len(text) <= SHORT:
                return int(text)
            if PLAIN.fullmatch(text):
                return finite(text)
        return _read(text.strip(), self.decimal)


def finite(text: str) -> int | float | None:
    """The number of a text in Python's own spelling; None where it is too large."""
    value = float(text) if "." in text or "e" in text or "E" in text else int(text)
    return value if math.isfinite(value) else None


def number_form(values: Sequence[str]) -> NumberForm | None:
    """How these values (none empty) write numbers; None for a column of something else, codes such as 007 included."""
    bodies = [_parts(value.strip()) for value in values]
    numbers = [(unit, body) for unit, body in bodies if _is_number(body)]
    if not numbers or any(CODE.fullmatch(body) for _, body in bodies):
        return None
    others = {value for value, (_, body) in zip(values, bodies, strict=True) if not _is_number(body)}
    enough = len(numbers) >= ENOUGH * len(values) or (2 * len(numbers) > len(values) and len(others) <= FEW_OTHERS)
    units = {unit for unit, _ in numbers} - {""}
    if not enough or len(units) > 1:  # dollars and euros are not one scale
        return None
    point = sum(_fits(body, POINT) for _, body in numbers)
    comma = sum(_fits(body, COMMA) for _, body in numbers)
    grouped = any("," in body for _, body in numbers)
    decimal = COMMA if comma > point else POINT
    return NumberForm(decimal, units.pop() if units else "", unsure=point == comma and grouped)


def _read(text: str, decimal: str) -> int | float | None:
    body = _parts(text)[1]
    if decimal == COMMA:
        if COMMA_PLAIN.fullmatch(body) or COMMA_GROUPED.fullmatch(body):
            return finite(body.translate(COMMA_GROUPS))
        return finite(body) if PLAIN.fullmatch(body) else None
    if PLAIN.fullmatch(body):
        return finite(body)
    return finite(body.translate(GROUPS)) if POINT_GROUPED.fullmatch(body) else None


def _parts(text: str) -> tuple[str, str]:
    """The unit of a number and the number itself."""
    if text[:1].isdecimal() and text[-1:].isdecimal():
        return "", text
    if before := BEFORE.match(text):
        return before[2], before[1] + text[before.end() :]
    if (after := AFTER.search(text)) and after.end() == len(text):
        return after[1], text[: after.start()]
    return "", text


def _is_number(body: str) -> bool:
    return _fits(body, POINT) or _fits(body, COMMA)


def _fits(body: str, decimal: str) -> bool:
    if decimal == COMMA:
        return bool(COMMA_PLAIN.fullmatch(body) or COMMA_GROUPED.fullmatch(body))
    return bool(PLAIN.fullmatch(body) or POINT_GROUPED.fullmatch(body))
