"""Read a file of somebody else's in a process of its own, with limits on memory, time and unpacked bytes.

A small file can unpack to a large one, and a parser can need far more memory than its input. Here this ends a process
that nobody misses, and a server goes on with its pages meanwhile. The process is a module of ours with a function
`main` that calls `answer`; the other side reads its lines with `lines_of`.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import subprocess
import sys
import tempfile
import threading
import zlib
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from pathlib import Path

from rankwell.core.errors import RankwellError

GZIP = b"\x1f\x8b"
PIECE = 1 << 20
REFUSED = 3  # exit status: the reason is on standard error
UNPACKED = "unpacked"


@dataclass(frozen=True)
class Limits:
    """What a process may use: bytes of memory beside what Python and its libraries take, seconds, unpacked bytes."""

    memory: int = 1024 * 1024 * 1024
    seconds: int = 120
    unpacked: int = 128 * 1024 * 1024
    file: int = 256 * 1024 * 1024  # the largest file that it may write

    def too_large(self, path: Path) -> RankwellError:
        """The error for a file that would need more."""
        allowed = f"{self.seconds} s and {self.memory // 2**20:,} MB"
        return RankwellError(f"{path}: expected a file that is read in {allowed}, found a larger one")


def lines_of(module: str, path: Path, *arguments: str, limits: Limits) -> Generator[bytes]:
    """The lines that `python -m MODULE PATH ARGUMENTS` prints; an error where it refuses the file or is ended.

    The last line may be cut where the process is ended: an error follows then.
    """
    command = [sys.executable, "-m", module, str(path), *arguments]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(  # noqa: S603 -- our own module
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said, env=environment
        ) as child,
    ):
        watch = threading.Timer(limits.seconds, child.kill)
        watch.daemon = True
        watch.start()
        try:
            yield from child.stdout or ()
            status = child.wait()
        finally:
            watch.cancel()
            child.kill()  # where the lines are not wanted any more
        said.seek(0)
        reason = said.read().decode(errors="replace").strip()
    if status == REFUSED:
        raise RankwellError(reason)
    if status:
        raise limits.too_large(path)


def answer(path: Path, lines: Callable[[Path], Iterable[bytes]], limits: Limits) -> int:
    """Print the lines that are made of a file, unpacked, within the limits. Returns the exit status."""
    _limit(limits)
    try:
        for line in lines(unpack(path, limits.unpacked)):
            sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    except MemoryError:
        sys.stderr.write(str(limits.too_large(path)))
        return REFUSED
    except RankwellError as error:
        sys.stderr.write(str(error).replace(str(_target(path)), str(path)))
        return REFUSED
    return 0


def unpack(path: Path, most: int) -> Path:
    """The file, or what it unpacks to beside it; an error where that is too large, or packed again."""
    with path.open("rb") as file:
        if file.read(2) != GZIP:
            return path
    target = _target(path)
    size = 0
    try:
        with gzip.open(path) as packed, target.open("wb") as out:
            while piece := packed.read(PIECE):
                if size == 0 and piece.startswith(GZIP):
                    raise RankwellError(f"{path}: expected a file that is packed once, found one that is packed twice")
                size += len(piece)
                if size > most:
                    raise RankwellError(f"{path}: expected at most {most // 2**20} MB when unpacked, found more")
                out.write(piece)
    except (OSError, EOFError, zlib.error) as error:
        raise RankwellError(f"{path}: expected a whole gzip file, found one that is damaged ({error})") from error
    return target


def _target(path: Path) -> Path:
    return path.with_name(UNPACKED + "".join(path.suffixes).removesuffix(".gz"))


def _limit(limits: Limits) -> None:
    """Limit this process; where the system has no such limits, the time alone is limited."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds, limits.seconds))
        resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file, limits.file))
        resource.setrlimit(resource.RLIMIT_AS, (used + limits.memory, used + limits.memory))
