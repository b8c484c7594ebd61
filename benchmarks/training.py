"""Training steps a second: us, and a plain script for the Hugging Face Trainer, on the same pairs in turns.

    python benchmarks/training.py [--model minilm-l6] [--data BEIR_FOLDER] [--pairs 320] [--max-tokens 256]
                                  [--threads 2] [--rounds 1]

Both take every pair once, in batches of 16 that are padded to their longest pair. The plain script shuffles; we put
pairs of about the same length together. The texts are the titles and abstracts of a collection in the BEIR layout, or
made-up ones of the same lengths. Seconds are of the steps alone, without loading and saving; the processor's time is
printed beside the clock's, because machines are shared.
"""

from __future__ import annotations

import argparse
import itertools
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from rankwell.models.learning.pairs import Pair, Pairs, open_pairs
from rankwell.models.learning.pairs_writer import PairsWriter

BATCH = 16
PLAIN, OURS = "plain Hugging Face Trainer", "rankwell train cross-encoder"
WORDS = "patient fever infection treatment risk cell protein virus vaccine trial dose group effect study result blood"


class Clock:
    """Seconds from the end of the first step to the end of the last: by the clock, and of the processor."""

    def __init__(self) -> None:
        self.ticks: list[tuple[float, float]] = []

    def callback(self) -> Any:
        """What a Trainer calls after each step."""
        from transformers import TrainerCallback

        clock = self

        class AfterStep(TrainerCallback):
            def on_step_end(self, *_: Any, **__: Any) -> None:
                clock.ticks.append((time.perf_counter(), time.process_time()))

        return AfterStep()

    def seconds(self) -> tuple[float, float]:
        """A step, on average."""
        (wall, cpu), (last_wall, last_cpu) = self.ticks[0], self.ticks[-1]
        count = len(self.ticks) - 1
        return (last_wall - wall) / count, (last_cpu - cpu) / count


def make_pairs(folder: Path, count: int, data: Path | None) -> Pairs:
    """Titles as queries; their own abstracts, and others, as documents."""
    rng = random.Random(7)  # noqa: S311 -- the same pairs every time
    if data is None:
        words = WORDS.split()
        texts = [
            (rng.choices(words, k=12), rng.choices(words, k=round(rng.lognormvariate(5.2, 0.4)))) for _ in range(count)
        ]
        documents = [(" ".join(title), " ".join(text)) for title, text in texts]
    else:
        from rankwell.collections import open_collection

        read = itertools.islice(open_collection(str(data)).documents(), count)
        documents = [(document.fields["title"], document.fields["text"]) for document in read]
    with PairsWriter(folder, made={"from": "the benchmark"}) as writer:
        for number, (title, text) in enumerate(documents):
            other = text if number % 2 else documents[number - 1][1]
            writer.add(Pair(f"q{number}", f"d{number}", title, other, float(number % 2)))
    return open_pairs(folder)


def plain(model: Path, pairs: Pairs, max_tokens: int, scratch: Path) -> tuple[float, float]:
    """What a tutorial would have one write."""
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    classifier = transformers.AutoModelForSequenceClassification.from_pretrained(model, num_labels=2)
    rows = list(pairs.rows())
    encoded = tokenizer(
        [row.query for row in rows], [row.document for row in rows], truncation=True, max_length=max_tokens
    )
    examples = [
        {**{name: values[place] for name, values in encoded.items()}, "labels": int(row.label)}
        for place, row in enumerate(rows)
    ]
    arguments = transformers.TrainingArguments(
        output_dir=str(scratch / "plain"),
        num_train_epochs=1,
        per_device_train_batch_size=BATCH,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )
    clock = Clock()
    collate = transformers.DataCollatorWithPadding(tokenizer)
    trainer = transformers.Trainer(
        classifier, arguments, data_collator=collate, train_dataset=examples, callbacks=[clock.callback()]
    )
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train()
    return clock.seconds()


def ours(model: Path, pairs: Pairs, max_tokens: int, scratch: Path, threads: int) -> tuple[float, float]:
    """`rankwell train cross-encoder`."""
    from rankwell.models.cross_encoder.training import CrossEncoderSettings, train_cross_encoder
    from rankwell.models.learning import hugging_face

    clock = Clock()
    settings = CrossEncoderSettings(epochs=1, batch_size=BATCH, max_tokens=max_tokens, threads=threads, onnx=False)
    run = hugging_face.RunTrainer.run

    def timed(self: Any, *arguments: Any) -> None:
        self.add_callback(clock.callback())
        run(self, *arguments)

    hugging_face.RunTrainer.run = timed  # type: ignore[method-assign]
    try:
        train_cross_encoder(pairs, scratch / "ours", model=str(model), settings=settings, validation=None, quiet=True)
    finally:
        hugging_face.RunTrainer.run = run  # type: ignore[method-assign]
    return clock.seconds()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="minilm-l6")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--pairs", type=int, default=320)
    parser.add_argument("--max-tokens", type=int, default=256)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()

    import torch
    import transformers

    from rankwell.models.base import find_model

    torch.set_num_threads(given.threads)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    model = find_model(given.model)
    pairs_told = f"{given.pairs} pairs of at most {given.max_tokens} tokens"
    print(f"{given.model}, {pairs_told}, batches of {BATCH}, {given.threads} threads")
    found: dict[str, list[tuple[float, float]]] = {PLAIN: [], OURS: []}
    for _ in range(given.rounds):
        with tempfile.TemporaryDirectory() as folder:
            scratch = Path(folder)
            pairs = make_pairs(scratch / "pairs", given.pairs, given.data)
            found[PLAIN].append(plain(model, pairs, given.max_tokens, scratch))
            found[OURS].append(ours(model, pairs, given.max_tokens, scratch, given.threads))
        for name, rounds in found.items():
            print(told(name, *rounds[-1]), flush=True)
    medians = {
        name: [statistics.median(times) for times in zip(*rounds, strict=True)] for name, rounds in found.items()
    }
    print("medians")
    for name, (wall, cpu) in medians.items():
        print(told(name, wall, cpu))
    by_clock, by_processor = (theirs / own for theirs, own in zip(medians[PLAIN], medians[OURS], strict=True))
    print(f"{by_clock:.2f} times as fast by the clock, {by_processor:.2f} times by the processor's time")


def told(name: str, wall: float, cpu: float) -> str:
    """A line."""
    return f"{name:<30} {1 / wall:.3f} steps/s, {BATCH / wall:.1f} pairs/s, {cpu:.2f} s of the processor a step"


if __name__ == "__main__":
    main()
