"""Numbers in a block of bytes, eight bytes at a time, with numpy alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

WORD = 8
MASKS: Words = np.array([(1 << (8 * size)) - 1 for size in range(WORD + 1)], dtype=np.uint64)
"""The first 0 to 8 bytes of a word."""

MOST_DIGITS = 15  # integers of up to so many digits are exact in 64-bit floats
POWERS = 10.0 ** np.arange(WORD + 1)
MINUS = ord("-")
ONE = np.uint64(1)
# The same byte eight times.
ONES, ZEROS, POINTS, NINES_TO_HIGH, HIGH = (
    np.uint64(0x0101010101010101 * byte) for byte in (1, ord("0"), ord("."), 0x80 - 10, 0x80)
)

# For a number of so many bytes: how far it is from the end of a word, and zeros ("0") in its place.
SHIFTS: Words = np.array([8 * min(WORD - size, WORD - 1) for size in range(WORD + 1)], dtype=np.uint64)
SHIFTED_ZEROS: Words = ZEROS << SHIFTS


def word_view(buffer: Bytes, beyond: int) -> Words:
    """The eight bytes that start at each place of the buffer, as a number; `beyond` zeros follow its end."""
    padded = np.concatenate((buffer, np.zeros(beyond, dtype=np.uint8)))
    return np.ndarray((len(padded) - WORD + 1,), dtype="<u8", buffer=padded.data, strides=(1,))


def decimals(buffer: Bytes, starts: Places, lengths: Places) -> npt.NDArray[np.float64] | None:
    """The numbers at these places, each the nearest 64-bit float; None where one is not a plain decimal."""
    ends = starts + lengths
    negative = buffer[starts] == MINUS
    starts = starts + negative
    windows = word_view(buffer, WORD)
    words = windows[starts]
    points = _bytes_that_are(POINTS, words)
    if not points.all():
        return None
    lowest = points & (~points + ONE)
    before = (np.bitwise_count(lowest - ONE) >> 3).astype(np.int64)  # whole bytes below the lowest mark
    after = ends - starts - before - 1
    short = (before >= 1) & (after >= 1) & (after <= WORD) & (before + after <= MOST_DIGITS)
    if not short.all():
        return None
    whole, parts = _digits(words, before), _digits(windows[starts + before + 1], after)
    if whole is None or parts is None:
        return None
    scale = POWERS[after]
    # A whole number below 2**53 divided by a power of ten below 10**22 is rounded once: the nearest float.
    numbers: npt.NDArray[np.float64] = (whole * scale + parts) / scale
    numbers[negative] *= -1
    return numbers


def _bytes_that_are(wanted: np.uint64, words: Words) -> Words:
    """The high bit of each byte that is the wanted one; bits above the lowest mark may be wrong.

    (Mycroft's test for a zero byte, 1987.)
    """
    different = words ^ wanted
    return (different - ONES) & ~different & HIGH


def _digits(words: Words, lengths: Places) -> npt.NDArray[np.float64] | None:
    """The numbers that the first `lengths` bytes of each word spell; None where one of them is no digit.

    The bytes are shifted to the end of the word, which drops what follows them and puts zeros before them, and then
    added up in pairs, in fours and in eights (Lemire, "Quickly parsing eight digits", 2018).
    """
    digits = (words << SHIFTS[lengths]) - SHIFTED_ZEROS[lengths]
    if (((digits + NINES_TO_HIGH) | digits) & HIGH).any():
        return None
    pairs = digits * np.uint64(10) + (digits >> np.uint64(8))
    low, high = np.uint64(0x000F424000000064), np.uint64(0x0000271000000001)
    mask = np.uint64(0x000000FF000000FF)
    eights = ((pairs & mask) * low + ((pairs >> np.uint64(16)) & mask) * high) >> np.uint64(32)
    return eights.astype(np.float64)
