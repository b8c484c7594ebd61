"""Compiled kernels of exact dense search: dot products of 8-bit vectors with 16-bit queries.

Only `rankwell.vectors.search` imports it, because numba loads slowly. There are three kernels: for processors with
AVX512-VNNI, for those with AVX2, and a plain loop for all others. All of them sum integers without rounding or
saturation, so they give the same scores to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, TypeVar, cast

import numba
import numpy as np

from rankwell.index.blocks import Array
from rankwell.vectors.search import runnable_kernels

# ruff: noqa: PLR0917 -- kernels take plain arrays


# These modules have no types.
ir: Any = import_module("llvmlite.ir")
cgutils: Any = import_module("numba.core.cgutils")
types: Any = import_module("numba.core.types")
intrinsic: Any = import_module("numba.extending").intrinsic

F = TypeVar("F", bound=Callable[..., Any])
WIDE = 64  # codes per round of the loop: one AVX512 register, four of AVX2
QUARTER = 16  # codes in a register of AVX2, as 16-bit numbers
narrow: Callable[[Any], int] = cast("Any", np.int32)
AHEAD = 8192  # bytes
READING = (0, 3, 1)  # arguments of the prefetch: read, into all caches, data
ROWS = 64  # rows that stay in the first-level cache for all queries

BYTE, SHORT, INTEGER, PLACE = (ir.IntType(bits) for bits in (8, 16, 32, 64))
Body = Callable[[Any, Sequence[Any]], list[Any]]  # from the position in a row and the sums so far to the new sums


def compiled(function: F) -> F:
    """Compile without the GIL, and cache the result on the disk."""
    return cast("F", numba.njit(nogil=True, cache=True, error_model="numpy")(function))


def _vnni_dot(typing: Any, codes: Any, start: Any, planes: Any, at: Any, width: Any) -> Any:  # noqa: ARG001 -- numba's
    """The dot product of `width` codes with a query's two planes, upper * 256 + lower.

    A lane may overflow on the way. The result does not: it is below 2^31 (`quantise.COARSE`), and 32-bit sums that
    wrap around come back to it.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        numbers, letters = ir.VectorType(INTEGER, WIDE // 4), ir.VectorType(BYTE, WIDE)
        row = _pointer(context, builder, signature, arguments, 0)
        upper = _pointer(context, builder, signature, arguments, 2)
        lower = builder.gep(upper, [arguments[4]])
        multiply = _function(builder, numbers, [numbers] * 3, "llvm.x86.avx512.vpdpbusd.512")

        def body(offset: Any, sums: Sequence[Any]) -> list[Any]:
            parts = [_load(builder, pointer, offset, letters) for pointer in (row, upper, lower)]
            own, *query = [builder.bitcast(part, numbers) for part in parts]
            return [builder.call(multiply, [before, own, plane]) for before, plane in zip(sums, query, strict=True)]

        upper_sum, lower_sum = _loop(builder, row, arguments[4], [numbers] * 2, body)
        shifted = builder.shl(upper_sum, ir.Constant(numbers, [8] * (WIDE // 4)))
        return _total(builder, builder.add(shifted, lower_sum))

    return types.int32(codes, types.int64, planes, types.int64, types.int64), generate


def _avx2_dot(typing: Any, codes: Any, start: Any, queries: Any, at: Any, width: Any) -> Any:  # noqa: ARG001 -- numba's
    """The dot product of `width` codes with a query: both as 16-bit numbers, products added in pairs to 32 bits.

    The instruction for bytes (`vpmaddubsw`) would saturate at 16 bits; this one (`vpmaddwd`) cannot overflow, since
    two products are at most 2 * 255 * 32,768.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        numbers, shorts = ir.VectorType(INTEGER, QUARTER // 2), ir.VectorType(SHORT, QUARTER)
        row = _pointer(context, builder, signature, arguments, 0)
        query = _pointer(context, builder, signature, arguments, 2)
        multiply = _function(builder, numbers, [shorts] * 2, "llvm.x86.avx2.pmadd.wd")

        def body(offset: Any, sums: Sequence[Any]) -> list[Any]:
            totals = []
            for part, before in enumerate(sums):
                place = builder.add(offset, ir.Constant(PLACE, part * QUARTER))
                own = builder.zext(_load(builder, row, place, ir.VectorType(BYTE, QUARTER)), shorts)
                products = builder.call(multiply, [own, _load(builder, query, place, shorts)])
                totals.append(builder.add(before, products))
            return totals

        first, *others = _loop(builder, row, arguments[4], [numbers] * (WIDE // QUARTER), body)
        for other in others:
            first = builder.add(first, other)
        return _total(builder, first)

    return types.int32(codes, types.int64, queries, types.int64, types.int64), generate


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any, which: int) -> Any:
    """A pointer to an element of an array argument; the next argument is the element's index."""
    data = context.make_array(signature.args[which])(context, builder, arguments[which]).data
    return builder.gep(data, [arguments[which + 1]])


def _load(builder: Any, pointer: Any, offset: Any, kind: Any) -> Any:
    place = builder.bitcast(builder.gep(pointer, [offset]), kind.as_pointer())
    return builder.load(place, align=1)


def _loop(builder: Any, row: Any, width: Any, kinds: Sequence[Any], body: Body) -> list[Any]:
    """Sums over a row, `WIDE` codes per round, starting from zeros.

    Memory is prefetched, which makes a search about twice as fast.
    """
    before, loop, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
    builder.branch(loop)
    builder.position_at_end(loop)
    offset, *sums = (builder.phi(kind) for kind in (PLACE, *kinds))
    later = builder.gep(row, [builder.add(offset, ir.Constant(PLACE, AHEAD))])
    fetch = _function(builder, ir.VoidType(), [later.type] + [INTEGER] * 3, "llvm.prefetch.p0")
    builder.call(fetch, [later, *(ir.Constant(INTEGER, how) for how in READING)])
    totals = body(offset, sums)
    following = builder.add(offset, ir.Constant(PLACE, WIDE))
    offset.add_incoming(ir.Constant(PLACE, 0), before)
    offset.add_incoming(following, loop)
    for value, new in zip(sums, totals, strict=True):
        value.add_incoming(ir.Constant(value.type, None), before)
        value.add_incoming(new, loop)
    builder.cbranch(builder.icmp_signed("<", following, width), loop, after)
    builder.position_at_end(after)
    return totals


def _total(builder: Any, numbers: Any) -> Any:
    add = _function(builder, INTEGER, [numbers.type], f"llvm.vector.reduce.add.v{numbers.type.count}i32")
    return builder.call(add, [numbers])


def _function(builder: Any, result: Any, arguments: list[Any], name: str) -> Any:
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, arguments), name)


vnni_dot: Any = intrinsic(_vnni_dot)
avx2_dot: Any = intrinsic(_avx2_dot)


@compiled
def plain_dot(codes: Array, query: Array) -> int:
    """The dot product of two arrays of the same length.

    The compiler vectorises it, because array indices count from 0 and all numbers have 32
    bits. Otherwise it does not, which takes 30 times as long.
    """
    total = narrow(0)
    for place in range(len(query)):
        total = narrow(total + narrow(codes[place]) * narrow(query[place]))
    return total


@compiled
def scan_vnni(
    codes: Array,
    queries: Array,
    planes: Array,
    shifts: Array,
    scales: Array,
    errors: Array,
    first: int,
    end: int,
    start: int,
    out: Array,
) -> None:
    """`scan_plain` with 64 products at a time; the last codes of a row, fewer than 64, one by one."""
    dimensions = queries.shape[1]
    whole = dimensions - dimensions % WIDE
    for block in range(first, end, ROWS):
        last = min(block + ROWS, end)
        for query in range(queries.shape[0]):
            shift, scale, error = shifts[query], scales[query], errors[query]
            for row in range(block, last):
                total = plain_dot(codes[row * dimensions + whole : (row + 1) * dimensions], queries[query, whole:])
                if whole:
                    total += vnni_dot(codes, row * dimensions, planes, query * 2 * whole, whole)
                out[query, start + row] = np.float32((total - shift) * scale - error)


@compiled
def scan_avx2(
    codes: Array,
    queries: Array,
    planes: Array,  # noqa: ARG001 -- all kernels take the same
    shifts: Array,
    scales: Array,
    errors: Array,
    first: int,
    end: int,
    start: int,
    out: Array,
) -> None:
    """`scan_plain` with 16 products at a time; the last codes of a row, fewer than 64, one by one."""
    dimensions = queries.shape[1]
    whole = dimensions - dimensions % WIDE
    for block in range(first, end, ROWS):
        last = min(block + ROWS, end)
        for query in range(queries.shape[0]):
            shift, scale, error = shifts[query], scales[query], errors[query]
            for row in range(block, last):
                total = plain_dot(codes[row * dimensions + whole : (row + 1) * dimensions], queries[query, whole:])
                if whole:
                    total += avx2_dot(codes, row * dimensions, queries, query * dimensions, whole)
                out[query, start + row] = np.float32((total - shift) * scale - error)


@compiled
def scan_plain(
    codes: Array,
    queries: Array,
    planes: Array,  # noqa: ARG001 -- all kernels take the same
    shifts: Array,
    scales: Array,
    errors: Array,
    first: int,
    end: int,
    start: int,
    out: Array,
) -> None:
    """Lower bounds of the scores of rows `first` to `end` (exclusive), one line of `out` per query.

    Row 0 of `codes` is column `start` of `out`. Codes are stored with 128 added; `shifts` corrects a query's products
    for that. `errors` bounds the error of the scores.
    """
    dimensions = queries.shape[1]
    for block in range(first, end, ROWS):
        last = min(block + ROWS, end)
        for query in range(queries.shape[0]):
            shift, scale, error = shifts[query], scales[query], errors[query]
            for row in range(block, last):
                total = plain_dot(codes[row * dimensions : (row + 1) * dimensions], queries[query])
                out[query, start + row] = np.float32((total - shift) * scale - error)


SCANS: dict[str, Any] = {"vnni": scan_vnni, "avx2": scan_avx2, "plain": scan_plain}

scan = SCANS[runnable_kernels()[0]]
