"""Which documents are held out: the same ones for every command that is given the same share and seed."""

from __future__ import annotations

from hashlib import blake2b

from rankwell.core import ParameterError

DEFAULT_SHARE = 0.05


def unit_hash(*parts: str | int) -> float:
    """A number in [0, 1) that depends on nothing but the parts: the same on every machine and in every order."""
    text = "\0".join(map(str, parts)).encode()
    return int.from_bytes(blake2b(text, digest_size=6).digest()) / 2.0**48


def is_held_out(document_id: str, share: float = DEFAULT_SHARE, seed: int = 0) -> bool:
    """Whether a document is kept away from training. Other documents of the collection do not matter."""
    if not 0 <= share < 1:
        raise ParameterError("held_out", expected="a share from 0 to less than 1", found=share)
    return unit_hash("held out", seed, document_id) < share
