"""The page about OWASP ASVS has every line of level 2, and what it names exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Version 4.0.3, the requirements of levels 1 and 2: the last number of each section, and those of level 3 or deleted.
SECTIONS = {
    "1.1": 7, "1.2": 4, "1.4": 5, "1.5": 4, "1.6": 4, "1.7": 2, "1.8": 2, "1.9": 2, "1.10": 1, "1.11": 2, "1.12": 2,
    "1.14": 6,
    "2.1": 12, "2.2": 3, "2.3": 3, "2.4": 5, "2.5": 7, "2.6": 3, "2.7": 6, "2.8": 7, "2.9": 3, "2.10": 4,
    "3.1": 1, "3.2": 4, "3.3": 4, "3.4": 5, "3.5": 3, "3.7": 1,
    "4.1": 5, "4.2": 2, "4.3": 3,
    "5.1": 5, "5.2": 8, "5.3": 10, "5.4": 3, "5.5": 4,
    "6.1": 3, "6.2": 6, "6.3": 2, "6.4": 2,
    "7.1": 4, "7.2": 2, "7.3": 4, "7.4": 3,
    "8.1": 4, "8.2": 3, "8.3": 8,
    "9.1": 3, "9.2": 4,
    "10.2": 2, "10.3": 3,
    "11.1": 8,
    "12.1": 3, "12.2": 1, "12.3": 6, "12.4": 2, "12.5": 2, "12.6": 1,
    "13.1": 5, "13.2": 6, "13.3": 2, "13.4": 2,
    "14.1": 4, "14.2": 6, "14.3": 3, "14.4": 7, "14.5": 4,
}  # fmt: skip
NOT_IN_LEVEL_2 = {"1.4.2", "1.4.3", "1.12.1", "4.1.4", "7.3.2", "13.1.2", "13.2.4", "14.3.1"}
ANSWERS = re.compile(r"`[\w/.]+\.(py|md)|not applicable, because |left to the (proxy|operator)|no: ")


def lines() -> dict[str, str]:
    page = (ROOT / "docs" / "asvs.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| (\d+\.\d+\.\d+) \| [^|]+ \| ([^|]+) \|$", page, re.MULTILINE)
    assert len(found) == len(dict(found)), "a line stands there twice"
    return dict(found)


def test_every_requirement_of_level_2_has_a_line() -> None:
    wanted = {f"{section}.{number}" for section, last in SECTIONS.items() for number in range(1, last + 1)}
    assert set(lines()) == wanted - NOT_IN_LEVEL_2


def test_every_line_has_one_of_the_answers() -> None:
    assert [number for number, answer in lines().items() if not ANSWERS.match(answer)] == []


def test_every_test_and_page_that_is_named_exists() -> None:
    for page in ("docs/asvs.md", "docs/security.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        for name, test in re.findall(r"`((?:tests|docs)/[\w/.]+|CONTRIBUTING\.md)(?:::(\w+))?`", text):
            assert (ROOT / name).exists(), name
            assert f"def {test}(" in (ROOT / name).read_text(encoding="utf-8") if test else True, f"{name}::{test}"


def test_the_page_about_security_says_how_many_lines_do_not_hold() -> None:
    answers = lines().values()
    told = f'{sum(answer.startswith("no: ") for answer in answers)} of its {len(answers)} lines say "no"'
    assert told in (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
