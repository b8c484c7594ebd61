"""Titles and author lists in the form in which they are compared."""

from __future__ import annotations

import re
import unicodedata

# Letters that Unicode does not take apart into a plain one and an accent.
PLAIN = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ß": "ss", "æ": "ae", "œ": "oe", "\u0131": "i", "ħ": "h"}
)
BRACKETS = str.maketrans("", "", "[]")
INITIALS = re.compile(r"(?:[A-Z]\.?[\s-]?){1,4}")  # JC, J.C., J C, J-C
NOT_LETTERS = re.compile(r"[^\w\s]|_")
MOST_INITIALS = 4  # capitals in a row, beyond which it is an acronym of a group


def comparable_title(title: str) -> str:
    """A title case-folded, its white space as single spaces, without square brackets and closing full stops.

    PubMed puts a translated title into brackets and a full stop behind every title; reviews do as they like.
    """
    folded = unicodedata.normalize("NFC", title).casefold().translate(BRACKETS)
    return " ".join(folded.split()).rstrip(". ")


def comparable_authors(authors: str) -> str:
    """An author list as one text: surnames and initials, no dashes, no accents, no full stops.

    `Antonicelli Roberto, Abbatecola Angela M`, `Antonicelli, R.; Abbatecola, A. M.` and `Antonicelli R and
    Abbatecola AM` all become `antonicelli r, abbatecola am`.
    """
    names = author_names(authors)
    # `Abbatecola Angela M` and `Beane Freeman LE` look alike: the rest of the list tells which way names are written.
    several = [words for name in names if "," not in name and len(words := name.split()) > 1]
    full = sum(not _are_initials(words[-1]) for words in several) * 2 > len(several)
    parts = (_parts(name, full_names=full) for name in names)
    # Dashes go without a trace, so that García-Tabar and Garcia Tabar differ by a space at most.
    return ", ".join(f"{NOT_LETTERS.sub('', _plain(surname))} {initials}".strip() for surname, initials in parts)


def author_names(authors: str) -> list[str]:
    """The single authors of a list that is separated by semicolons, by `and`, or by commas.

    Where commas also stand between surname and initials (`Varma, T. R., Curzen, P.`) the pieces are put together.
    """
    text = re.sub(r"\s*(?:,?\s+\band\b|&|\bet al\b\.?)\s*", "; ", authors)
    parts = [part.strip() for part in text.split(";") if part.strip(" ,.")]
    if len(parts) > 1 and all("," not in part or _is_surname_first(part) for part in parts):
        return parts
    if len(parts) == 1 and _is_surname_first(parts[0]) and len(_capitalised(parts[0].partition(",")[0])) == 1:
        return parts
    return [name for part in parts for name in _by_commas(part)]


def _by_commas(text: str) -> list[str]:
    pieces = [piece.strip() for piece in text.split(",") if piece.strip(" .")]
    names: list[str] = []
    for piece in pieces:
        if names and "," not in names[-1] and INITIALS.fullmatch(piece):
            names[-1] = f"{names[-1]}, {piece}"
        else:
            names.append(piece)
    return names


def _is_surname_first(part: str) -> bool:
    """`Antonicelli, Roberto` is one author; `Varma TR, Curzen P` are two."""
    before, _, after = part.partition(",")
    return bool(after.strip()) and "," not in after and not INITIALS.fullmatch(before.strip().rpartition(" ")[2])


def _capitalised(text: str) -> list[str]:
    """The words but for particles such as `van der`."""
    return [word for word in text.split() if not word.islower()]


def _parts(name: str, *, full_names: bool) -> tuple[str, str]:
    """Surname and initials. Without a comma the surname comes first, as in all of MEDLINE."""
    before, comma, after = name.partition(",")
    if comma:
        return before.strip(), _initials(after.split())
    words = name.split()
    given = len(words)
    if full_names:
        given = 1 + next((place for place, word in enumerate(words) if not word.islower()), 0)
    else:
        while given > 1 and _are_initials(words[given - 1]):
            given -= 1
    return " ".join(words[:given]), _initials(words[given:])


def _are_initials(word: str) -> bool:
    letters = re.sub(r"[\W_]", "", _without_accents(word))
    return letters.isupper() and len(letters) <= MOST_INITIALS


def _initials(words: list[str]) -> str:
    """The first letters of names; what is a row of initials already stays."""
    parts = [part for word in words for part in re.split(r"[-.]", _without_accents(word))]
    return _plain("".join(part if _are_initials(part) else part[:1] for part in parts))


def _plain(text: str) -> str:
    return _without_accents(" ".join(text.split()).casefold()).translate(PLAIN)


def _without_accents(text: str) -> str:
    parts = unicodedata.normalize("NFKD", text)
    return "".join(character for character in parts if not unicodedata.combining(character))
