"""What a column is, told from its values over a sample of rows: text, category, code, number, date, address."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rankwell.collections.column_names import TEXTS, hints_code, hints_id
from rankwell.collections.dates import DateForm, date_form
from rankwell.collections.numbers import COMMA, NumberForm, number_form

TEXT, CATEGORY, CODE, NUMBER, DATE, URL, EMPTY, OTHER = (
    *("text", "category", "code", "number", "date", "url", "empty", "values"),
)
WORDS_OF_A_TEXT = 4.0  # a column with more words than this on average is prose
LONGEST_VALUE = 200  # characters of a value to filter by
LONGEST_CODE = 128
LONGEST_WORD = 12  # letters of a code without digits
MOST_CATEGORIES = 0.5  # of the values differ at most in a category
TIME = re.compile(r"[0-2]?[0-9]:[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?(?: ?[AaPp][Mm])?")
ADDRESS = re.compile(r"(?:(?:https?|ftp)://|www\.)\S+")
UNSPACED = r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"  # scripts without spaces between words
LETTER = re.compile(UNSPACED)
WORD = re.compile(rf"[^\W\d_]{{3}}|{UNSPACED}")
MACHINE = re.compile(r"\S*[@_/\\]\S*|[^A-Z\s]*-[^A-Z\s]*")
LOWER = re.compile(r"[^A-Z0-9]")
CALL_NUMBER = re.compile(r"(?=.*[0-9])(?=.{1,20}$)[A-Z0-9]+[a-z]?(?:[ ./-][A-Z0-9]+[a-z]?)*")  # R HUG 1, I Ca 12/20
SWITCHES = frozenset(
    (
        *(
            "yes",
            "no",
            "true",
            "false",
            "y",
            "n",
            "x",
            "ja",
            "nein",
            "oui",
            "non",
            "si",
            "sì",
            "sí",
            "sim",
            "não",
            "да",
        ),
        *("нет", "on", "off", "none", "null", "nan", "n/a", "na"),
    )
)
ELEMENTS = (
    "a|abbr|article|b|blockquote|body|br|code|dd|div|dl|dt|em|figure|font|h[1-6]|hr|html|i|img|li|ol|p|pre|section|"
)
ELEMENTS += "small|span|strong|sub|sup|table|tbody|td|th|thead|tr|u|ul"
HTML = re.compile(
    rf"</(?:{ELEMENTS})\s*>|<(?:br|hr|img|p|div|li)(?:\s[^<>]*)?/?>|<a\s[^<>]*href|&(?:nbsp|amp|lt|gt|quot|[a-z]+uml|#\d+);",
    re.IGNORECASE,
)
MOST_MARKED = 0.1  # of the values with HTML make a column of HTML
MOSTLY = 0.9
MOST_MACHINE = 0.5
FEW_SHAPES = 3
RUNS = re.compile(r"[0-9]+|[^\W\d_]+")
FEWEST_DIGITS = 4  # of the number of a case or a customer
YEARS = range(1400, 2200)


@dataclass(frozen=True)
class Role:
    """What a column holds, and how its values are written."""

    name: str
    kind: str
    searchable: bool = False
    filterable: bool = True
    html: bool = False
    number: NumberForm | None = None
    date: DateForm | None = None
    unique: bool = False  # every row has a value, all values differ, and only call numbers have spaces
    count: int = 0  # values in the sample
    distinct: int = 0
    words: float = 0.0  # in a value, on average
    digits: float = 0.0  # share of values with a digit
    coded: bool = False  # capital letters and digits of one length or nearly, such as ABE and 00M
    whole: bool = False  # whole numbers only
    rows: bool = False  # 1, 2, 3, ...: it counts the rows
    machine: bool = False  # lists, and texts for programs: mail addresses, paths, lower-case-with-hyphens
    alike: bool = False  # codes of one shape, such as AB-12 and CD-34, or whole numbers of one length
    filled: float = 1.0  # share of the rows with a value
    example: str = ""


def role_of(name: str, values: Sequence[Any], *, typed: bool = False, order: str | None = None) -> Role:
    """The role of a column with these values; `order` is that of day and month where the values leave it open."""
    present = [
        value for value in values if value not in (None, "") and not (isinstance(value, str) and value.isspace())
    ]
    if not present:
        known = name.lower() in TEXTS
        return Role(name, EMPTY, searchable=known or not typed, filterable=False)
    texts = [value for value in present if isinstance(value, str)]
    lists = [value for value in present if isinstance(value, list) and all(isinstance(part, str) for part in value)]
    if texts and name.lower() in TEXTS:  # whatever it holds
        return _of_words(name, texts, _facts(texts, values))
    if len(texts) + len(lists) < len(present):
        return _of_values(name, present, values, texts)
    if lists:
        joined = "; ".join(part for part in (lists[0] or [""]))
        return Role(name, TEXT, searchable=True, machine=True, count=len(present), words=1.0, example=joined)
    return _of_texts(name, texts, values, typed=typed, order=order)


def _of_values(name: str, present: Sequence[Any], values: Sequence[Any], texts: Sequence[str]) -> Role:
    """A column with numbers or objects of its own."""
    numbers = [value for value in present if isinstance(value, (int, float)) and not isinstance(value, bool)]
    whole = bool(numbers) and all(isinstance(value, int) for value in numbers)
    facts: dict[str, Any] = {"count": len(present), "example": str(present[0]), "filled": len(present) / len(values)}
    if whole and len(numbers) == len(present):
        integers = [*map(int, numbers)]
        facts |= {"unique": len(set(numbers)) == len(values), "whole": True, "rows": _counts_rows(integers)}
        facts |= {"alike": _of_one_length(integers)}
    if all(isinstance(value, bool) for value in present):
        return Role(name, CATEGORY, distinct=len(set(present)), **facts)
    plain = all(isinstance(value, (str, int, float)) for value in present)
    if plain and len(texts) > len(numbers):  # words with a number here and there
        return Role(name, TEXT, searchable=True, words=_words(texts), distinct=len(set(texts)), **facts)
    return Role(name, NUMBER if plain else OTHER, distinct=len(set(numbers)), **facts)


def _of_texts(name: str, texts: Sequence[str], values: Sequence[Any], *, typed: bool, order: str | None) -> Role:
    facts = _facts(texts, values)
    whole = all(text.isdecimal() for text in texts)
    numbered = facts["unique"] and hints_id(name) and not whole  # 164.1968 as the number of an object
    if not (typed or numbered or hints_code(name)) and (form := number_form(texts)):
        return Role(name, NUMBER, number=form, whole=whole, rows=whole and _counts_rows([*map(int, texts)]), **facts)
    if dates := date_form(texts, order):
        return Role(name, DATE, date=dates, **facts)
    if sum(ADDRESS.fullmatch(text.strip()) is not None for text in texts) >= MOSTLY * len(texts):
        return Role(name, URL, **facts)
    if all(TIME.fullmatch(text.strip()) for text in texts):
        return Role(name, CATEGORY, **facts)
    return _of_words(name, texts, facts)


def _facts(texts: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    distinct, words = len(set(texts)), _words(texts)
    called = all(map(CALL_NUMBER.fullmatch, texts))
    codes = (words <= 1 or called) and not any(len(text) > LONGEST_CODE for text in texts)
    return {
        "count": len(texts),
        "distinct": distinct,
        "words": words,
        "digits": sum(any(map(str.isdecimal, text)) for text in texts) / len(texts),
        "unique": codes and distinct == len(texts) == len(values),
        "coded": called or _coded(texts),
        "machine": sum(map(bool, map(MACHINE.fullmatch, texts))) > MOST_MACHINE * len(texts),
        "alike": codes and _alike(texts),
        "filled": len(texts) / len(values),
        "example": texts[0],
    }


def _of_words(name: str, texts: Sequence[str], facts: Mapping[str, Any]) -> Role:
    """A column of words: searchable, unless they are only switches (yes, no) or abbreviations (en, de)."""
    known, words, digits = name.lower() in TEXTS, facts["words"], facts["digits"]
    html = sum(map(bool, map(HTML.search, texts))) > MOST_MARKED * len(texts)
    if known or words > WORDS_OF_A_TEXT or html or max(map(len, texts)) > LONGEST_VALUE:
        return Role(name, TEXT, searchable=True, filterable=not known and words <= WORDS_OF_A_TEXT, html=html, **facts)
    if not any(map(WORD.search, texts)) or {text.strip().lower() for text in texts} <= SWITCHES:
        return Role(name, CODE if digits else CATEGORY, searchable=digits > 0, **facts)
    if words <= 1 and digits > MOSTLY:
        return Role(name, CODE, searchable=True, **facts)
    kind = CATEGORY if facts["distinct"] <= MOST_CATEGORIES * len(texts) else TEXT
    return Role(name, kind, searchable=True, **facts)


def _coded(texts: Sequence[str]) -> bool:
    shortest, longest = min(map(len, texts)), max(map(len, texts))
    even = shortest > 1 and longest <= min(shortest + 1, LONGEST_WORD)
    return even and not any(map(LOWER.search, texts))


def _alike(texts: Sequence[str]) -> bool:
    """Whether they are codes of the same few shapes, each with a digit: AB-12 and CD-34, or numbers of one length."""
    if all(map(str.isdecimal, texts)):
        return _of_one_length([*map(int, texts)])
    shapes = {RUNS.sub(lambda run: "9" if run[0][0].isdecimal() else "A", text) for text in texts}
    return len(shapes) <= FEW_SHAPES and all("9" in shape for shape in shapes)


def _of_one_length(numbers: Sequence[int]) -> bool:
    """Whether they look like numbers of cases or customers: of one length, four digits or more, and not years."""
    lengths = {len(str(number)) for number in numbers}
    return len(lengths) == 1 and lengths.pop() >= FEWEST_DIGITS and not all(number in YEARS for number in numbers)


def _words(texts: Sequence[str]) -> float:
    """Words in a text on average; two letters of a script without spaces count as one."""
    return sum(max(len(text.split()), len(LETTER.findall(text)) / 2) for text in texts) / max(1, len(texts))


def _counts_rows(numbers: Sequence[int]) -> bool:
    return numbers[0] in (0, 1) and list(numbers) == list(range(numbers[0], numbers[0] + len(numbers)))


def roles_of(rows: Sequence[Mapping[str, Any]], *, typed: bool = False, order: str | None = None) -> dict[str, Role]:
    """The role of each column; one whose values tell the order of dates or a decimal comma decides for the others."""
    names = dict.fromkeys(name for row in rows for name in row)
    roles = {name: role_of(name, [row.get(name) for row in rows], typed=typed, order=order) for name in names}
    sure = {role.date.order for role in roles.values() if role.date and role.date.order and not role.date.unsure}
    if order is None and len(sure) == 1 and any(role.date and role.date.unsure for role in roles.values()):
        return roles_of(rows, typed=typed, order=sure.pop())
    if any(role.number and role.number.decimal == COMMA for role in roles.values()):
        return {name: _with_comma(role) for name, role in roles.items()}
    return roles


def _with_comma(role: Role) -> Role:
    """The role with a decimal comma where 1,500 left it open, because another column has one."""
    if role.number is None or not role.number.unsure:
        return role
    return replace(role, number=replace(role.number, decimal=COMMA, unsure=False))
