"""`rankwell serve` under constant writes, searches, merges and killed clients: memory and descriptors over time.

    python benchmarks/serve_soak.py [--seconds 3600] [--descriptors 256] [--model MODEL]

The code is that of the tests (`tests/soak.py`); with a model the searches are re-ranked as well.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from soak import Soaked, soak

LINES = 20


def main() -> None:
    """Run it, and print a line for each twentieth of the time."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    asked.add_argument("--seconds", type=float, default=3600)
    asked.add_argument("--descriptors", type=int, default=256)
    asked.add_argument("--model")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        done = soak(Path(folder), given.seconds, descriptors=given.descriptors, model=given.model)
    show(done)


def show(done: Soaked) -> None:
    """Print what happened, and the curve."""
    print(f"{done.acknowledged:,} changes acknowledged, {len(done.refused):,} refused, {len(done.unseen):,} not seen")
    print(f"{done.searches:,} searches, {done.killed:,} killed clients")
    begun = done.samples[0].second
    print("second  memory (MB)  descriptors  commit")
    for sample in done.samples[:: max(1, len(done.samples) // LINES)]:
        row = f"{sample.second - begun:6.0f}  {sample.memory / 1e6:11.0f}  {sample.descriptors:11}  {sample.commit:6}"
        print(row)


if __name__ == "__main__":
    main()
