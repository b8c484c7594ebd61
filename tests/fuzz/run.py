"""`make fuzz SECONDS=3600`: feed every reader and every request with variants of good inputs, and keep what breaks one.

Anything but a RankwellError, or a status below 500, is a failure; so is an input that takes a minute. Failing inputs
lie in .fuzz/failures, counts over all runs in .fuzz/counts.json.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.mutation import Mutator
from fuzz.requests import request_targets
from fuzz.targets import Target, targets
from rankwell.core import RankwellError

LONGEST = 60  # seconds for an input, of which some start a process
TURN = 0.2  # seconds for a target, before the next one has its turn
OUT = Path(".fuzz")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _too_long(_: int, __: FrameType | None) -> None:
    raise TimeoutError(f"an input took more than {LONGEST} s")


def attempt(target: Target, data: bytes, refused: Counter[str]) -> str | None:
    """Feed one input; what went wrong, or None. A refusal is counted."""
    signal.alarm(LONGEST)
    try:
        target.feed(data)
    except RankwellError as error:
        refused[target.name] += 1
        return "a message of several lines" if "\n" in str(error) else None
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return traceback.format_exc()
    finally:
        signal.alarm(0)
    return None


def keep(target: Target, data: bytes, reason: str) -> None:
    """Save an input that broke a target, and why."""
    place = OUT / "failures" / "".join(c if c.isalnum() else "-" for c in target.name)
    place.mkdir(parents=True, exist_ok=True)
    frames = [line for line in reason.splitlines() if line.strip().startswith("File")]
    name = hashlib.sha256((frames[-1] if frames else reason).encode()).hexdigest()[:12]
    if not (place / f"{name}.txt").exists():
        (place / f"{name}.bin").write_bytes(data)
        (place / f"{name}.txt").write_text(reason)
        _say(f"FAILED {target.name}: {reason.strip().splitlines()[-1][:200]} ({place / name}.bin)")


def fuzz(seconds: float, seed: int, wanted: str) -> tuple[Counter[str], Counter[str], int]:
    """Feed all targets in turns; inputs and refused inputs by target, and the number of failures."""
    counts: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    failures, mutator, end = 0, Mutator(seed), time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        folder = Path(scratch)
        for part in ("files", "web"):
            (folder / part).mkdir()
        found = (*targets(folder / "files"), *request_targets(folder / "web", stack))
        every = [one for one in found if wanted in one.name]
        for target in every:
            for data in target.seeds:
                failures += _one(target, data, counts, refused)
        while time.monotonic() < end:
            for target in mutator.shuffled(every):
                turn = time.monotonic() + TURN
                while time.monotonic() < min(turn, end):
                    failures += _one(target, mutator.vary(target.seeds), counts, refused)
    return counts, refused, failures


def _one(target: Target, data: bytes, counts: Counter[str], refused: Counter[str]) -> int:
    reason = attempt(target, data, refused)
    counts[target.name] += 1
    if reason is not None:
        keep(target, data, reason)
    return reason is not None


def main() -> None:
    """Fuzz for a while, and print and add up the counts."""
    options = argparse.ArgumentParser()
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--seed", type=int, default=int(time.time()))
    options.add_argument("--only", default="", help="only targets with this in their name")
    chosen = options.parse_args()
    os.environ["RANKWELL_HOME"] = tempfile.mkdtemp(prefix="rankwell-fuzz-")
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    signal.signal(signal.SIGALRM, _too_long)
    begun = time.monotonic()
    counts, refused, failures = fuzz(chosen.seconds, chosen.seed, chosen.only)
    spent = round(time.monotonic() - begun)
    _add_up(counts, refused, spent, failures)
    inputs, said = sum(counts.values()), f"{sum(refused.values()):,} of them refused"
    _say(f"{inputs:,} inputs ({said}) for {len(counts)} targets in {spent} s, seed {chosen.seed}: {failures} failures")
    sys.exit(failures > 0)


def _add_up(counts: Counter[str], refused: Counter[str], seconds: int, failures: int) -> None:
    file = OUT / "counts.json"
    OUT.mkdir(exist_ok=True)
    empty = {"seconds": 0, "failures": 0, "inputs": {}, "refused": {}}
    before = json.loads(file.read_text()) if file.exists() else empty
    totals = {
        "seconds": before["seconds"] + seconds,
        "failures": before["failures"] + failures,
        "inputs": dict(Counter(before["inputs"]) + counts),
        "refused": dict(Counter(before["refused"]) + refused),
    }
    file.write_text(json.dumps(totals, indent=1))


if __name__ == "__main__":
    main()
