"""Tell the encoding of a text file: UTF-8, UTF-16, a code page of Windows, Japanese, Chinese or Korean.

A file that is not in UTF-8 is brought to UTF-8 while it is read (`Recoded`), so that every reader can split lines by
bytes.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import re
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, cast

UTF8, UTF16, UTF32 = "utf-8", "utf-16", "utf-32"
WESTERN, CENTRAL, TURKISH = "cp1252", "cp1250", "cp1254"
AUTO = "auto"
MARKS = (
    (codecs.BOM_UTF32_LE, UTF32),
    (codecs.BOM_UTF32_BE, UTF32),
    (codecs.BOM_UTF16_LE, UTF16),
    (codecs.BOM_UTF16_BE, UTF16),
)
BLOCK = 1 << 20
MOST_SEARCHED = 1 << 28  # bytes that are looked through for the first letter that is not ASCII
BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
SEQUENCE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
HIGH = re.compile(rb"[\x80-\xff]")
# Letters beside letters, words of one letter (à, è, ó), and the signs of Western text: quotes, dashes, the euro.
PLAUSIBLE = re.compile(
    rb"(?<=[A-Za-z\xc0-\xfe])[\xc0-\xfe]|[\xc0-\xfe](?=[A-Za-z\xc0-\xfe])"
    rb"|(?<=[\s;,\"'(])[\xc0-\xc5\xc8-\xca\xd2-\xd6\xd8-\xda\xe0-\xe5\xe8-\xea\xec\xed\xf2-\xf6\xf8-\xfa](?=[\s;,.])"
    rb"|[\x80\x82\x84\x85\x8a\x8c\x8e\x91-\x97\x99\x9a\x9c\x9e\xa0\xa1\xa3\xa7\xa9\xab\xae\xb0-\xb5\xb7\xb9\xba\xbb-\xbf]"
)
# Letters of Polish, Czech and their neighbours: š, ť, ž beside a letter; ą, ł, ż, ş (Western ¹, ³, ¿, º) inside words;
# ą and ł at the end of longer ones (not m³); Ł, Ż (£, ¯) before a letter.
CENTRAL_LETTER = re.compile(
    rb"(?<=[A-Za-z\xc0-\xfe])[\x9a\x9d\x9e]|[\x8a\x8e\x9a\x9e](?=[A-Za-z\xc0-\xfe])"
    rb"|(?<=[A-Za-z\xc0-\xfe])[\xb3\xb9\xba\xbf](?=[A-Za-z\xc0-\xfe])"
    rb"|(?<=[a-z\xe0-\xfe]{3})[\xb3\xb9]|[\xa3\xaf](?=[a-z\xe0-\xfe])"
)
# Letters of one code page that the other languages of Western Europe have only beside the letters after them.
HUNGARIAN = re.compile(rb"[\xd5\xf5]")  # ő
NOT_HUNGARIAN = re.compile(rb"[\xc0\xc3\xc8\xca\xe0\xe3\xe4\xe7\xe8\xea\xee\xf4\xf9]")
TURKISH_LETTER, NOT_TURKISH = re.compile(rb"[\xdd\xde\xf0\xfd\xfe]"), re.compile(rb"[\xe1\xe6\xe9\xed\xf3\xfa]")
SOME, FEW = 0.1, 0.03
WORD = re.compile(rb"[\xa1-\xff]{3,}")
# The most frequent letters of languages in other scripts, by their code pages.
FREQUENT = {
    "cp1251": "оеаинтсрвл",
    "koi8_r": "оеаинтсрвл",
    "cp1253": "αοιετσνηρς",
    "cp1255": "יוהלארתבשמ",
    "cp1256": "اليمونرتبع",
    "cp874": "านรกอเงมย่",
}
FREQUENT_SHARE = 0.4
MOSTLY = 0.8
# The letters of Japanese; these pairs of bytes are no words in other code pages.
JAPANESE = {"shift_jis": re.compile(rb"[\x82\x83][\x40-\xf1]"), "euc_jp": re.compile(rb"[\xa4\xa5][\xa1-\xf6]")}
FEW_KANA = 3
# Pairs of bytes of usual letters: the syllables of Korean, and the first half of the Chinese characters. In capital
# letters of Cyrillic, which look like the latter, the second byte is high as well.
EAST_ASIAN = {
    "euc_kr": re.compile(rb"[\xa1-\xa3\xb0-\xc8][\xa1-\xfe]"),
    "big5": re.compile(rb"[\xa1-\xc6][\x40-\x7e\xa1-\xfe]"),
    "gb18030": re.compile(rb"[\xa1-\xa3\xb0-\xd7][\xa1-\xfe]"),
}
PAIRS = re.compile(rb"(?:[\x81-\xfe][\x40-\xfe]){2,}")  # after each other, unlike single letters with accents
FEWEST_PAIRS, USUAL_PAIRS = 8, 0.95
LOW, FEWEST_LOW = 0xC0, 0.15  # share of the pairs whose second byte is below


def _as_latin1(error: UnicodeError) -> tuple[str, int]:
    """Decode a byte that a code page leaves undefined as the control character of its number, as browsers do."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(map(chr, error.object[error.start : error.end])), error.end


codecs.register_error("rankwell-latin1", _as_latin1)


def encoding_of(start: bytes, *, whole: bool = True) -> str:
    """The encoding of a text that starts (or, with `whole`, is) like this; utf-8 also for what is no text at all."""
    for mark, name in MARKS:
        if start.startswith(mark):
            return name
    unmarked = _unmarked_utf16(start)
    if unmarked or BINARY.search(start) or _is_utf8(start, whole=whole):
        return unmarked or UTF8
    multiple = sum(len(part) for part in SEQUENCE.findall(start))
    high = len(HIGH.findall(start)) - multiple
    if high <= multiple // 2:  # UTF-8 with a bad byte here and there
        return UTF8
    return _japanese(start) or _east_asian(start) or _code_page(start, high)


def _code_page(start: bytes, high: int) -> str:
    """The code page of a text with that many letters that are not ASCII; utf-8 where none fits."""
    if sum(map(len, WORD.findall(start))) > MOSTLY * high:
        shares = {name: _share(start, name, letters) for name, letters in FREQUENT.items()}
        best = max(shares, key=lambda name: shares[name])
        if shares[best] > FREQUENT_SHARE:
            return best
    if len(CENTRAL_LETTER.findall(start)) >= max(2, SOME * high):
        return CENTRAL
    if len(PLAUSIBLE.findall(start)) < MOSTLY * high:
        return UTF8
    if len(HUNGARIAN.findall(start)) >= max(2, FEW * high) and not NOT_HUNGARIAN.search(start):
        return CENTRAL
    if len(TURKISH_LETTER.findall(start)) >= max(2, SOME * high) and not NOT_TURKISH.search(start):
        return TURKISH
    return WESTERN


def _share(start: bytes, name: str, letters: str) -> float:
    """The share of these letters among those that are not ASCII."""
    text = [letter for letter in start.decode(name, "replace").lower() if letter > "\x7f"]
    return sum(map(letters.count, text)) / max(1, len(text))


def _is_utf8(start: bytes, *, whole: bool) -> bool:
    try:
        codecs.getincrementaldecoder(UTF8)().decode(start, final=whole)
    except UnicodeDecodeError:
        return False
    return True


def _japanese(start: bytes) -> str | None:
    """The Japanese encoding in which it has kana, and nothing else is wrong."""
    for name, kana in JAPANESE.items():
        if len(kana.findall(start)) >= FEW_KANA:
            with contextlib.suppress(UnicodeDecodeError):
                codecs.getincrementaldecoder(name)().decode(start)
                return name
    return None


def _east_asian(start: bytes) -> str | None:
    """The Chinese or Korean encoding in which nearly all pairs of bytes are usual letters; None where there is none."""
    pairs = [run[place : place + 2] for run in PAIRS.findall(start) for place in range(0, len(run), 2)]
    if len(pairs) < FEWEST_PAIRS or sum(pair[1] < LOW for pair in pairs) < FEWEST_LOW * len(pairs):
        return None
    for name, usual in EAST_ASIAN.items():
        if sum(map(bool, map(usual.fullmatch, pairs))) >= USUAL_PAIRS * len(pairs):
            with contextlib.suppress(UnicodeDecodeError):
                codecs.getincrementaldecoder(name)().decode(start)
                return name
    return None


def _unmarked_utf16(start: bytes) -> str | None:
    """UTF-16 without a mark: every other byte of Western text is zero."""
    pairs = len(start) // 2
    if pairs < 2:  # noqa: PLR2004 -- too short to tell
        return None
    odd, even = start[1::2].count(0), start[0::2].count(0)
    if odd > MOSTLY * pairs and even == 0:
        return "utf-16-le"
    return "utf-16-be" if even > MOSTLY * pairs and odd == 0 else None


def file_encoding(path: Path, opened: BinaryIO) -> str:
    """The encoding of an open file, from its first part that is not plain ASCII; it is read from where it stands."""
    stat = path.stat()
    return _remembered(str(path.absolute()), stat.st_size, stat.st_mtime_ns, _Once(opened))


class _Once:
    """An argument that does not count for the cache."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Once)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=256)
def _remembered(path: str, size: int, changed: int, once: _Once) -> str:
    del path, size, changed
    read = 0
    while (block := _block(once.file)) and read < MOST_SEARCHED:
        if read == 0 and (any(block.startswith(mark) for mark, _ in MARKS) or b"\x00" in block):
            return encoding_of(block, whole=len(block) < BLOCK)
        if not block.isascii():
            return encoding_of(block + _block(once.file), whole=False)
        read += len(block)
    return UTF8


def _block(file: BinaryIO) -> bytes:
    """The next bytes; none after a damage in a packed file, which the reader reports."""
    parts, missing = list[bytes](), BLOCK
    with contextlib.suppress(EOFError, zlib.error, OSError):
        while missing and (part := cast("io.BufferedReader", file).read1(missing)):
            parts.append(part)
            missing -= len(part)
    return b"".join(parts)


class Recoded(io.RawIOBase):
    """The content of a file as UTF-8, whatever its encoding."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        errors = "rankwell-latin1" if encoding.startswith("cp") else "replace"
        self._file, self._decoder = file, codecs.getincrementaldecoder(encoding)(errors)
        self._waiting = b""

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as one step goes."""
        while not self._waiting:
            block = cast("io.BufferedReader", self._file).read1(1 << 16)
            self._waiting = self._decoder.decode(block, final=not block).encode("utf-8", "replace")
            if not block:
                break
        piece = self._waiting[: len(buffer)]
        self._waiting = self._waiting[len(piece) :]
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        """Close the file, too."""
        if not self.closed:
            self._file.close()
        super().close()
