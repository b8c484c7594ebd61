"""E-mail addresses: what we take for one, and the form in which two are the same."""

from __future__ import annotations

import re
import unicodedata

LONGEST = 254  # RFC 5321, 4.5.3.1.3: a path has 256 octets with its brackets
SHAPE = re.compile(r"[^\s@<>()\[\]\\,;:\"]{1,64}@[^\s@<>()\[\]\\,;:\"]+\.[^\s@<>()\[\]\\,;:\".]+")


def normalised_address(text: str) -> str | None:
    """The address without what people add by accident (blanks, capitals), or None where it is no address.

    Whether somebody reads mail there, only a mail can tell; this check refuses what would not be one address.
    """
    address = unicodedata.normalize("NFC", text.strip()).lower()
    harmless = all(unicodedata.category(character)[0] not in "CZ" for character in address)
    return address if harmless and len(address.encode()) <= LONGEST and SHAPE.fullmatch(address) else None
