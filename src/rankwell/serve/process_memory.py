"""How much memory this process takes."""

from __future__ import annotations

import sys
from pathlib import Path


def resident_bytes() -> int:
    """Memory in use now; where the system does not tell, the most there ever was; 0 where it tells neither."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError, ValueError):
        return _largest()
    import resource

    return pages * resource.getpagesize()


def _largest() -> int:
    try:
        import resource
    except ImportError:  # Windows
        return 0
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest if sys.platform == "darwin" else largest * 1024
