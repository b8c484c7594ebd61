"""Dates as people write them, as ISO text: 2020-05-03, which compares in the order of time.

A whole column decides whether 01/02/2020 is in January or in February.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

DAY_FIRST, MONTH_FIRST = "day/month/year", "month/day/year"
ORDERS = {"dmy": DAY_FIRST, "mdy": MONTH_FIRST}
TIME = (
    r"(?:[T, ]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?(?: ?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}))?)?"
)
ISO = re.compile(r"\d{4}-\d{2}(?:-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?)?")
YEAR = re.compile(r"[12]\d{3}")
YEAR_FIRST = re.compile(rf"(?P<year>\d{{4}})(?P<sign>[-/.])(?P<month>\d{{1,2}})(?P=sign)(?P<day>\d{{1,2}}){TIME}")
NUMERIC = re.compile(rf"(?P<one>\d{{1,2}})(?P<sign>[/-]|\. ?)(?P<two>\d{{1,2}})(?P=sign)(?P<year>\d{{4}}){TIME}")
EAST_ASIAN = re.compile(rf"(?P<year>\d{{4}})[年년] ?(?P<month>\d{{1,2}})[月월] ?(?P<day>\d{{1,2}})[日일]{TIME}")
SHORT_YEAR = re.compile(rf"(?P<one>\d{{1,2}})/(?P<two>\d{{1,2}})/(?P<year>\d{{2}}){TIME}")
SHORT_DOTS = re.compile(rf"(?P<one>\d{{2}})(?P<sign>[.-])(?P<two>\d{{2}})(?P=sign)(?P<year>\d{{2}}){TIME}")
DIGIT = re.compile(r"\d")
DOTTED = re.compile(r"\d{1,2}\.")
WEEKDAY = r"(?:[^\W\d]{2,10}\.?, ?)?"
DAY_NAMED = re.compile(
    rf"{WEEKDAY}(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|º|\.)?[ /-]+(?:of |de |d')?(?P<name>[^\W\d]{{3,12}})\.?,?"
    rf"[ /-]+(?:de )?(?P<year>\d{{4}}|\d{{2}}){TIME}"
)
NAMED_DAY = re.compile(
    rf"{WEEKDAY}(?P<name>[^\W\d]{{3,12}})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>\d{{4}}){TIME}"
)
NAMED = re.compile(r"(?P<name>[^\W\d]{3,12})\.?,? (?:de )?(?P<year>\d{4})")
MONTHS = (
    "jan january januar janvier enero ene gennaio gen janeiro januari",
    "feb february februar février fév févr fevrier febrero febbraio fevereiro fev februari",
    "mar march märz mär mrz mars marzo março maart mrt",
    "apr april avril avr abril abr aprile",
    "may mai mayo maggio mag maio mei",
    "jun june juni juin junio giugno giu junho",
    "jul july juli juillet juil julio luglio lug julho",
    "aug august août aou aout agosto ago augustus",
    "sep sept september septembre septiembre settembre set setembro",
    "oct october oktober okt octobre octubre ottobre ott outubro out",
    "nov november novembre noviembre novembro",
    "dec december dezember dez décembre déc decembre diciembre dic dicembre dezembro",
)
BY_NAME = {name: number for number, names in enumerate(MONTHS, 1) for name in names.split()}
ENOUGH = 0.9  # of the values are dates; fewer where the others are a few repeated words
FEW_OTHERS = 3
PIVOT = 69  # 68 is 2068, 69 is 1969


@dataclass(frozen=True)
class DateForm:
    """The order of day and month in a column; "" where no value needs it, `unsure` where both would do."""

    order: str = ""
    unsure: bool = False

    def read(self, text: str) -> str | None:
        """An ISO date; None for other text."""
        return iso_date(text, self.order or DAY_FIRST)


def date_form(values: Sequence[str], preferred: str | None = None) -> DateForm | None:
    """How these values (none empty) write dates; None for a column of something else.

    `preferred` is the order for a column in which every date would do in both.
    """
    first = values[:50]
    if not any(iso_date(value, order) for value in first for order in ORDERS.values() if not YEAR.fullmatch(value)):
        return None
    days = [iso_date(value, DAY_FIRST) for value in values]
    months = [iso_date(value, MONTH_FIRST) for value in values]
    fitting = {DAY_FIRST: sum(map(bool, days)), MONTH_FIRST: sum(map(bool, months))}
    best = max(fitting.values())
    others = {value for value, one, two in zip(values, days, months, strict=True) if not one and not two}
    if best < ENOUGH * len(values) and (
        2 * best <= len(values) or len(others) > FEW_OTHERS or any(map(DIGIT.search, others))
    ):
        return None
    if days == months:
        return DateForm()
    if fitting[DAY_FIRST] != fitting[MONTH_FIRST]:
        return DateForm(max(fitting, key=lambda order: fitting[order]))
    if any(DOTTED.match(value) for value in values):  # points stand in countries that write the day first
        return DateForm(DAY_FIRST)
    return DateForm(preferred or MONTH_FIRST, unsure=preferred is None)


def iso_date(text: str, order: str) -> str | None:
    """A date (or year and month, or year) as ISO text, with its time where it has one; None for other text."""
    text = text.strip()
    if ISO.fullmatch(text):
        return text if _is_date(text[:4], text[5:7], text[8:10] or "1") else None
    if YEAR.fullmatch(text):
        return text
    for pattern in (YEAR_FIRST, NUMERIC, EAST_ASIAN, SHORT_YEAR, SHORT_DOTS, DAY_NAMED, NAMED_DAY):
        if match := pattern.fullmatch(text):
            found = match.groupdict()
            if "one" in found:
                names = ("day", "month") if order == DAY_FIRST else ("month", "day")
                found |= dict(zip(names, (found["one"], found["two"]), strict=True))
            elif "name" in found:
                found["month"] = str(BY_NAME.get(found["name"].lower(), 0))
            return _iso(found)
    if (match := NAMED.fullmatch(text)) and (month := BY_NAME.get(match["name"].lower())):
        return f"{match['year']}-{month:02d}"
    return None


def _iso(found: dict[str, str | None]) -> str | None:
    year, month, day = (int(found[name] or 0) for name in ("year", "month", "day"))
    if len(found["year"] or "") == 2:  # noqa: PLR2004 -- digits of a short year
        year += 1900 if year >= PIVOT else 2000
    if not _is_date(str(year), str(month), str(day)):
        return None
    return f"{year:04d}-{month:02d}-{day:02d}{_time(found)}"


def _time(found: dict[str, str | None]) -> str:
    """`T10:30:00`; nothing for midnight, which spreadsheets add to plain dates."""
    hour, minute, second = (int(found[name] or 0) for name in ("hour", "minute", "second"))
    if half := (found["half"] or "").lower():
        hour = hour % 12 + (12 if half == "p" else 0)
    return f"T{hour:02d}:{minute:02d}:{second:02d}" if hour or minute or second else ""


def _is_date(year: str, month: str, day: str) -> bool:
    try:
        date(int(year), int(month), int(day))
    except ValueError:
        return False
    return True
