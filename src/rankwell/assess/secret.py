"""Codes and tokens that are handed out once and of which only a hash is kept."""

from __future__ import annotations

import hashlib
import secrets

# Crockford's alphabet: no I, L, O and U, so that a code can be read out and typed in.
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
CODE_LENGTH = 16  # 80 bits: nobody guesses one
GROUP = 4
MISREAD = str.maketrans({"O": "0", "I": "1", "L": "1", "-": None, " ": None})


def new_code() -> str:
    """A code that people can type: four groups of four characters."""
    letters = "".join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH))
    return "-".join(letters[at : at + GROUP] for at in range(0, CODE_LENGTH, GROUP))


def code_hash(code: str) -> str:
    """The hash of a code, however it was typed. A plain hash will do: a code is random and long."""
    return digest(code.strip().upper().translate(MISREAD))


def new_token() -> str:
    """A token for a link."""
    return secrets.token_urlsafe(32)


def digest(text: str) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
