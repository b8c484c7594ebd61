"""Cross-encoders side by side: sentence-transformers as it comes, its ONNX backend, and us in fp32 and int8.

    python benchmarks/neural.py [MODEL ...] [--quick] [--threads 2] [--cpu]

MODEL is a folder with PyTorch weights (minilm-l6 where none is named): a cross-encoder, or an encoder, which is given a
random head (the speed is the same). Everyone scores the same pairs of 8 + 55 and 8 + 200 words with the same
weights in turns; medians are printed. Then: loading and scoring a first pair in a fresh process, and re-ranking 100
candidates of one query. The ONNX backend needs optimum-onnx, and is left out where that cannot be installed beside
transformers 5.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rankwell.models.base import find_model

WORDS = """
patient fever infection treatment risk cell protein virus vaccine trial dose group effect study result blood heart lung
brain cancer age women men children years common rare severe mild acute chronic response therapy drug the of in and with
for was were after before between during without population health care hospital test
""".split()  # noqa: SIM905 -- a list of this length would fill a page
Score = Callable[[list[tuple[str, str]]], np.ndarray]


def pairs_of(count: int, words: int) -> list[tuple[str, str]]:
    """Pairs of 8 words and about so many, of different lengths, as search gives them."""
    rng = random.Random(words)  # noqa: S311 -- the same pairs every time
    lengths = [(8, rng.randint(words // 2, words * 3 // 2)) for _ in range(count)]
    return [(" ".join(rng.choices(WORDS, k=one)), " ".join(rng.choices(WORDS, k=two))) for one, two in lengths]


def with_head(model: Path, scratch: Path) -> Path:
    """The folder itself, or a copy of an encoder with a random classifier of one label."""
    import transformers

    config = transformers.AutoConfig.from_pretrained(model)
    out = scratch / f"{model.name}-torch"
    classifier = "SequenceClassification" in (config.architectures or [""])[0]
    arguments = {} if classifier else {"num_labels": 1}
    transformers.AutoModelForSequenceClassification.from_pretrained(model, **arguments).save_pretrained(out)
    transformers.AutoTokenizer.from_pretrained(model).save_pretrained(out)
    return out


def contestants(folder: Path, threads: int, *, onnx: bool) -> dict[str, Score]:
    """Everyone who scores pairs, loaded and ready."""
    import torch
    from sentence_transformers import CrossEncoder

    from rankwell.models.base import PairScorer

    torch.set_num_threads(threads)
    identity = torch.nn.Identity()
    plain = CrossEncoder(str(folder), device="cpu")
    found: dict[str, Score] = {"CrossEncoder": lambda pairs: plain.predict(pairs, activation_fn=identity)}
    if onnx:
        try:
            other = CrossEncoder(str(folder), device="cpu", backend="onnx")
            found["CrossEncoder onnx"] = lambda pairs: other.predict(pairs, activation_fn=identity)
        except Exception as error:  # noqa: BLE001 -- an optional peer, whose own dependencies may not be there
            print(f"CrossEncoder onnx: not measured: {str(error).splitlines()[0]}")
    fp32 = PairScorer(str(folder), threads=threads)
    int8 = PairScorer(str(folder), threads=threads, precision="int8")
    found["Rankwell fp32"] = lambda pairs: fp32.scores(fp32.logits(pairs))
    found["Rankwell int8"] = lambda pairs: int8.scores(int8.logits(pairs))
    return found


def race(
    everyone: dict[str, Score], pairs: list[tuple[str, str]], rounds: int, clock: Callable[[], float]
) -> dict[str, list[float]]:
    """Seconds of each, in turns, after one round that warms up."""
    seconds: dict[str, list[float]] = {name: [] for name in everyone}
    for number in range(rounds + 1):
        for name, score in everyone.items():
            begin = clock()
            score(pairs)
            if number:
                seconds[name].append(clock() - begin)
    return seconds


def tau(one: np.ndarray, other: np.ndarray) -> float:
    """Kendall's."""
    signs = np.sign(one[:, None] - one) * np.sign(other[:, None] - other)
    return float(signs[np.triu_indices(len(one), 1)].mean())


def throughput(name: str, everyone: dict[str, Score], count: int, rounds: int, clock: Callable[[], float]) -> None:
    """Pairs a second, and how far the scores are from the first's."""
    for words in (55, 200):
        pairs = pairs_of(count, words)
        seconds = race(everyone, pairs, rounds, clock)
        scores = {who: np.asarray(score(pairs)).ravel() for who, score in everyone.items()}
        first = next(iter(everyone))
        for who, times in seconds.items():
            middle = statistics.median(times)
            ratio = statistics.median(a / b for a, b in zip(seconds[first], times, strict=True))
            far = np.abs(scores[who] - scores[first]).max()
            print(
                f"{name}  8+{words:<4} {who:<18} {count / middle:8.1f} pairs/s  {ratio:5.2f}x  "
                f"largest difference {far:.2g}, tau {tau(scores[who], scores[first]):.3f}"
            )


START = {
    "CrossEncoder": "from sentence_transformers import CrossEncoder\nCrossEncoder({0!r}).predict([('a', 'b')])",
    "Rankwell fp32": "from rankwell.models.base import PairScorer; PairScorer({0!r}).logits([('a', 'b')])",
    "Rankwell int8": "from rankwell.models.base import PairScorer\n"
    "PairScorer({0!r}, precision='int8').logits([('a', 'b')])",
}


def start_up(name: str, folder: Path, rounds: int) -> None:
    """Seconds from nothing to the first score, in a fresh process."""
    seconds: dict[str, list[float]] = {who: [] for who in START}
    for _ in range(rounds):
        for who, program in START.items():
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", program.format(str(folder))], check=True, capture_output=True)
            seconds[who].append(time.perf_counter() - begin)
    for who, times in seconds.items():
        print(f"{name}  first pair in a fresh process  {who:<18} {statistics.median(times):6.2f} s")


def interactive(name: str, everyone: dict[str, Score], rounds: int) -> None:
    """p50 of re-ranking 100 candidates of 55 words for one query."""
    ours = {who: score for who, score in everyone.items() if who.startswith("Rankwell")}
    for who, times in race(ours, pairs_of(100, 55), rounds, time.perf_counter).items():
        print(f"{name}  100 candidates of one query    {who:<18} {1000 * statistics.median(times):6.0f} ms (p50)")


def main() -> None:
    """Measure every model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("models", nargs="*", type=Path, default=[])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--cpu", action="store_true", help="CPU time, with --threads 1: for machines that others use")
    arguments = parser.parse_args()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    clock = time.process_time if arguments.cpu else time.perf_counter
    models = arguments.models or [find_model("minilm-l6")]  # before the home changes
    count, rounds = (32, 3) if arguments.quick else (128, 7)
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["RANKWELL_HOME"] = scratch
        for model in models:
            folder = with_head(model, Path(scratch))
            everyone = contestants(folder, arguments.threads, onnx=not arguments.quick)
            throughput(model.name, everyone, count, rounds, clock)
            interactive(model.name, everyone, rounds)
            start_up(model.name, folder, 2 if arguments.quick else 5)


if __name__ == "__main__":
    main()
