"""Write the lines of a TREC run; scores with the fewest digits that read back as the same 32-bit number.

The digits are those of Adams, "Ryū: fast float-to-string conversion" (PLDI 2018): the shortest number in the interval
that rounds to the score, and of these the one nearest to it. They are written as numpy writes them.
"""

from __future__ import annotations

import numpy as np

from rankwell.core.run_kernels.order import Array, compiled, signed

MANTISSA, BIAS = 23, 127
MASK = (1 << MANTISSA) - 1
INVERSE_BITS, POWER_BITS = 59, 61  # of the tables
LOW = (1 << 32) - 1
# 2^n / 5^i and 5^i as numbers of so many bits.
INVERSES = np.array([(1 << ((5**i).bit_length() - 1 + INVERSE_BITS)) // 5**i + 1 for i in range(32)], dtype=np.int64)
POWERS = np.array([5**i << POWER_BITS >> (5**i).bit_length() for i in range(48)], dtype=np.int64)
SMALLEST, LARGEST = 1e-4, 1e6  # scores outside are written with an exponent
SPACE, NEWLINE, MINUS, PLUS, POINT, ZERO, EXPONENT = b" \n-+.0e"
WIDEST = 20  # bytes of a score
DIGITS = 10
TEN = np.uint64(10)
MOST_DIGITS = 19
NINE_DIGITS = 1e9  # with nine digits every score is told from every other
WHOLES = 10 ** np.arange(MOST_DIGITS, dtype=np.int64)
WHOLE_POWERS = WHOLES.astype(np.uint64)
TENS = 10.0 ** np.arange(13)
HALVES = 2.0 ** (np.arange(256.0) - BIAS - MANTISSA - 1)  # half of the last bit, by the exponent


# ruff: noqa: PLR0917 -- kernels take plain arrays


@compiled
def _power_bits(power: int) -> int:
    """The number of bits of 5^power."""
    return ((power * 1217359) >> 19) + 1


@compiled
def _scaled(number: int, factor: int, shift: int) -> int:
    """Number * factor / 2^shift, rounded down."""
    low, high = number * (factor & LOW), number * (factor >> 32)
    return ((low >> 32) + high) >> (shift - 32)


@compiled
def _is_multiple(number: int, power: int) -> bool:
    """Whether 5^power divides the number."""
    while power > 0:
        if number % 5 != 0:
            return False
        number //= 5
        power -= 1
    return True


@compiled
def _shortest(bits: int) -> tuple[int, int]:  # noqa: C901 -- as published
    """The digits of a positive 32-bit float and their power of ten."""
    mantissa, exponent = bits & MASK, bits >> MANTISSA
    e2 = max(exponent, 1) - BIAS - MANTISSA - 2
    m2 = mantissa if exponent == 0 else mantissa | (1 << MANTISSA)
    even = m2 % 2 == 0  # then the ends of the interval round to the score too
    shift = 1 if mantissa != 0 or exponent <= 1 else 0
    mv, mp, mm = 4 * m2, 4 * m2 + 2, 4 * m2 - 1 - shift
    low_zeros, zeros, last = False, False, 0
    if e2 >= 0:
        q = (e2 * 78913) >> 18
        e10 = q
        i = -e2 + q + INVERSE_BITS + _power_bits(q) - 1
        factor = INVERSES[q]
        vr, vp, vm = _scaled(mv, factor, i), _scaled(mp, factor, i), _scaled(mm, factor, i)
        if q != 0 and (vp - 1) // 10 <= vm // 10:
            last = _scaled(mv, INVERSES[q - 1], -e2 + q - 1 + INVERSE_BITS + _power_bits(q - 1) - 1) % 10
        if q <= 9:  # noqa: PLR2004 -- 5^10 does not fit into 24 bits
            if mv % 5 == 0:
                zeros = _is_multiple(mv, q)
            elif even:
                low_zeros = _is_multiple(mm, q)
            elif _is_multiple(mp, q):
                vp -= 1
    else:
        q = (-e2 * 732923) >> 20
        e10 = q + e2
        i = -e2 - q
        j = q - (_power_bits(i) - POWER_BITS)
        factor = POWERS[i]
        vr, vp, vm = _scaled(mv, factor, j), _scaled(mp, factor, j), _scaled(mm, factor, j)
        if q != 0 and (vp - 1) // 10 <= vm // 10:
            last = _scaled(mv, POWERS[i + 1], q - 1 - (_power_bits(i + 1) - POWER_BITS)) % 10
        if q <= 1:
            zeros = True
            if even:
                low_zeros = shift == 1
            else:
                vp -= 1
        elif q < 31:  # noqa: PLR2004 -- the bits of the number
            zeros = mv & ((1 << (q - 1)) - 1) == 0
    return _cut(vr, vp, vm, last, e10, even, zeros, low_zeros)


@compiled
def _cut(vr: int, vp: int, vm: int, last: int, e10: int, even: bool, zeros: bool, low_zeros: bool) -> tuple[int, int]:
    """Remove digits as long as the number stays between its bounds, and round."""
    while vp // 10 > vm // 10:
        low_zeros = low_zeros and vm % 10 == 0
        zeros = zeros and last == 0
        last = vr % 10
        vr, vp, vm, e10 = vr // 10, vp // 10, vm // 10, e10 + 1
    while low_zeros and vm % 10 == 0 and vm > 0:
        zeros = zeros and last == 0
        last = vr % 10
        vr, vm, e10 = vr // 10, vm // 10, e10 + 1
    if zeros and last == 5 and vr % 2 == 0:  # noqa: PLR2004 -- exactly half: to the even digit
        last = 4
    digits = vr + 1 if (vr == vm and not (even and low_zeros)) or last >= 5 else vr  # noqa: PLR2004
    while digits % 10 == 0 and digits > 0:
        digits //= 10
        e10 += 1
    return digits, e10


@compiled
def write_whole(out: Array, at: int, number: int) -> int:
    """Write a whole number, and return the end of it."""
    rest, size = np.uint64(number), 1  # unsigned numbers are divided by a product, without a test of their sign
    while size < MOST_DIGITS and rest >= WHOLE_POWERS[size]:
        size += 1
    for place in range(at + size - 1, at - 1, -1):
        shorter = rest // TEN
        out[place] = np.uint8(rest - TEN * shorter) + np.uint8(ZERO)
        rest = shorter
    return at + size


@compiled
def _decimal(size: float, half: float, even: bool) -> tuple[int, int]:
    """The digits of a score from 1e-4 to 1e6 and the number of places behind the point.

    `half` is half of its distance to the next score. A score has 24 bits and 5^12 has 28, so with up to 12 places all
    products here are exact in 64 bits. Fewer places are tried as long as a number of so many lies in the interval that
    rounds to the score (with its ends, if it is even); the nearest to the score is taken.
    """
    places = 12
    while places > 0 and size * TENS[places] >= NINE_DIGITS:
        places -= 1
    digits = np.rint(size * TENS[places])
    while places > 0:
        shorter, scale = np.rint(size * TENS[places - 1]), TENS[places - 1]
        low, high = (size - half) * scale, (size + half) * scale
        if not (low < shorter < high or (even and low <= shorter <= high)):
            break
        digits = shorter
        places -= 1
    return signed(digits), places


@compiled
def write_score(out: Array, at: int, score: float, bits: int) -> int:
    """Write a score, and return the end of it. `bits` are those of the score as a positive 32-bit float."""
    if score < 0:
        out[at] = MINUS
        at += 1
    size = np.float64(abs(score))
    if size == 0.0:
        out[at], out[at + 1], out[at + 2] = ZERO, POINT, ZERO
        return at + 3
    if size < SMALLEST or size >= LARGEST:
        digits, power = _shortest(bits)
        end = write_whole(out, at, digits)
        return _write_exponent(out, at, end, end - at + power - 1)
    if bits & MASK:
        digits, places = _decimal(size, HALVES[bits >> MANTISSA], bits & 1 == 0)
    else:  # a power of two: the score below it is nearer than the one above
        digits, power = _shortest(bits)
        places = max(0, -power)
        digits *= WHOLES[max(0, power)]
    if places == 0:
        end = write_whole(out, at, digits)
        out[end], out[end + 1] = POINT, ZERO
        return end + 2
    whole = digits // WHOLES[places]
    at = write_whole(out, at, whole)
    out[at] = POINT
    at += 1
    rest = np.uint64(digits - whole * WHOLES[places])
    for place in range(at + places - 1, at - 1, -1):
        shorter = rest // TEN
        out[place] = np.uint8(rest - TEN * shorter) + np.uint8(ZERO)
        rest = shorter
    return at + places


@compiled
def _write_exponent(out: Array, at: int, end: int, exponent: int) -> int:
    """Write the point behind the first digit, and the exponent, of at least two digits, behind the last."""
    if end - at > 1:
        for place in range(end - 1, at, -1):
            out[place + 1] = out[place]
        out[at + 1] = POINT
        end += 1
    out[end], out[end + 1] = EXPONENT, MINUS if exponent < 0 else PLUS
    end += 2
    if abs(exponent) < DIGITS:
        out[end] = ZERO
        end += 1
    return write_whole(out, end, abs(exponent))


@compiled
def _copy(out: Array, at: int, data: Array, begin: int, size: int) -> int:
    for place in range(np.uint64(size)):  # unsigned: no test for places from the end
        out[np.uint64(at) + place] = data[np.uint64(begin) + place]
    return at + size


@compiled
def format_lines(
    offsets: Array,
    heads: Array,
    head_bounds: Array,
    tail: Array,
    scores: Array,
    data: Array,
    begins: Array,
    lengths: Array,
    out: Array,
) -> int:
    """Write the lines of some queries into `out`, and return their number of bytes.

    The rows of query i are at `offsets[i]` to `offsets[i + 1]` (exclusive). A line starts with the query's head (its
    id and Q0) and ends with the tail (the tag).
    """
    bits = scores.view(np.int32)
    at = 0
    for query in range(len(offsets) - 1):
        begin, size = head_bounds[query], head_bounds[query + 1] - head_bounds[query]
        for row in range(offsets[query], offsets[query + 1]):
            at = _copy(out, at, heads, begin, size)
            at = _copy(out, at, data, begins[row], lengths[row])
            out[at] = SPACE
            at = write_whole(out, at + 1, row - offsets[query] + 1)
            out[at] = SPACE
            at = write_score(out, at + 1, scores[row], bits[row] & 0x7FFFFFFF)
            at = _copy(out, at, tail, 0, len(tail))
    return at
