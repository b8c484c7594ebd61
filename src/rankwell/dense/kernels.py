"""The compiled heart of exact dense search: dot products of 8-bit vectors with 16-bit queries.

Loaded by `rankwell.dense.loading` only, because numba takes its time. Processors with Intel's VNNI instructions take
64 products at a time; the others run a plain loop, of which compilers know how to make vectors. Both give the same.
"""

# ruff: noqa: PLR0917 -- kernels take plain arrays

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar, cast

import numba
import numpy as np

from rankwell.index.layout import Array

# What these modules have is not typed.
binding: Any = import_module("llvmlite.binding")
ir: Any = import_module("llvmlite.ir")
cgutils: Any = import_module("numba.core.cgutils")
config: Any = import_module("numba.core.config")
types: Any = import_module("numba.core.types")
intrinsic: Any = import_module("numba.extending").intrinsic

F = TypeVar("F", bound=Callable[..., Any])
WIDE = 64  # bytes in a register
LANES = 16
narrow: Callable[[Any], int] = cast("Any", np.int32)  # products of these are what compilers make vectors of
AHEAD = 8192  # bytes
READING = (0, 3, 1)  # how memory is asked for: to be read, into all caches, data
ROWS = 64  # that stay in the first cache while all queries look at them


def compiled(function: F) -> F:
    """Compile without the interpreter's lock, and keep the result on the disk."""
    return cast("F", numba.njit(nogil=True, cache=True, error_model="numpy")(function))


def has_vnni() -> bool:
    """Whether the machine that numba compiles for multiplies bytes 64 at a time."""
    told_otherwise = config.CPU_NAME is not None or config.CPU_FEATURES is not None
    return not told_otherwise and bool(binding.get_host_cpu_features().get("avx512vnni"))


def _wide_dot(typing: Any, codes: Any, start: Any, planes: Any, at: Any, width: Any) -> Any:  # noqa: ARG001 -- numba's
    """The dot product of `width` codes with a query's two planes, upper * 256 + lower; whole registers only.

    Memory is asked for long before it is needed, which makes a search about twice as fast.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number, numbers = ir.IntType(64), ir.VectorType(ir.IntType(32), LANES)
        letters = ir.VectorType(ir.IntType(8), WIDE).as_pointer()
        data = [context.make_array(signature.args[i])(context, builder, arguments[i]).data for i in (0, 2)]
        upper = builder.gep(data[1], [arguments[3]])
        pointers = [builder.gep(data[0], [arguments[1]]), upper, builder.gep(upper, [arguments[4]])]
        multiply = _function(builder, numbers, [numbers] * 3, "llvm.x86.avx512.vpdpbusd.512")
        add = _function(builder, ir.IntType(32), [numbers], "llvm.vector.reduce.add.v16i32")
        before, loop, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
        builder.branch(loop)
        builder.position_at_end(loop)
        changing = [builder.phi(number), builder.phi(numbers), builder.phi(numbers)]
        offset, *sums = changing
        later = builder.gep(pointers[0], [builder.add(offset, ir.Constant(number, AHEAD))])
        fetch = _function(builder, ir.VoidType(), [later.type] + [ir.IntType(32)] * 3, "llvm.prefetch.p0")
        builder.call(fetch, [later, *(ir.Constant(ir.IntType(32), how) for how in READING)])
        places = [builder.bitcast(builder.gep(pointer, [offset]), letters) for pointer in pointers]
        row, *query = [builder.bitcast(builder.load(place, align=1), numbers) for place in places]
        totals = [builder.call(multiply, [own, row, plane]) for own, plane in zip(sums, query, strict=True)]
        following = builder.add(offset, ir.Constant(number, WIDE))
        for value, new in zip(changing, [following, *totals], strict=True):
            value.add_incoming(ir.Constant(value.type, None if value is not offset else 0), before)
            value.add_incoming(new, loop)
        builder.cbranch(builder.icmp_signed("<", following, arguments[4]), loop, after)
        builder.position_at_end(after)
        shifted = builder.shl(totals[0], ir.Constant(numbers, [8] * LANES))
        return builder.call(add, [builder.add(shifted, totals[1])])

    return types.int32(codes, types.int64, planes, types.int64, types.int64), generate


wide_dot: Any = intrinsic(_wide_dot)


def _function(builder: Any, result: Any, arguments: list[Any], name: str) -> Any:
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, arguments), name)


@compiled
def scan_wide(
    codes: Array,
    queries: Array,
    planes: Array,
    shifts: Array,
    scales: Array,
    errors: Array,
    first: int,
    end: int,
    out: Array,
) -> None:
    """`scan_plain` by registers, and what is left over of a row one by one."""
    dimensions = queries.shape[1]
    whole = dimensions - dimensions % WIDE
    for block in range(first, end, ROWS):
        last = min(block + ROWS, end)
        for query in range(queries.shape[0]):
            shift, scale, error = shifts[query], scales[query], errors[query]
            for row in range(block, last):
                total = 0
                if whole:
                    total = wide_dot(codes, row * dimensions, planes, query * 2 * whole, whole)
                for place in range(whole, dimensions):
                    total += narrow(codes[row * dimensions + place]) * narrow(queries[query, place])
                out[query, row] = np.float32((total - shift) * scale - error)


@compiled
def scan_plain(
    codes: Array,
    queries: Array,
    planes: Array,  # noqa: ARG001 -- what the other one takes
    shifts: Array,
    scales: Array,
    errors: Array,
    first: int,
    end: int,
    out: Array,
) -> None:
    """What the scores of the rows from `first` to before `end` are at least, for each query a line of `out`.

    `shifts` is what codes kept with 128 added make a query's products too large by, `errors` how far off scores may be.
    """
    dimensions = queries.shape[1]
    for block in range(first, end, ROWS):
        last = min(block + ROWS, end)
        for query in range(queries.shape[0]):
            shift, scale, error = shifts[query], scales[query], errors[query]
            for row in range(block, last):
                total = 0
                for place in range(dimensions):
                    total += narrow(codes[row * dimensions + place]) * narrow(queries[query, place])
                out[query, row] = np.float32((total - shift) * scale - error)


scan = scan_wide if has_vnni() else scan_plain
