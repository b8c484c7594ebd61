"""Which examples make a batch: those of about the same length, in an order that is a function of seed and epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from torch import Generator, randperm
from torch.utils.data import Sampler
from transformers.trainer_pt_utils import get_length_grouped_indices


class EpochSampler(Sampler[int]):
    """Places of examples, shuffled anew each epoch.

    The order depends on the seed and the epoch alone, not on what was drawn before: a run that goes on in the middle of
    an epoch meets the same batches. (The Hugging Face sampler draws from torch's one stream of random numbers, and a
    resumed run would see another order.) With `lengths` a batch holds examples of about the same length, so that
    little of it is padding.
    """

    def __init__(self, count: int, *, seed: int, lengths: Sequence[int] | None = None, batch_size: int = 1) -> None:
        self.count, self.seed, self.batch_size = count, seed, batch_size
        self.lengths = None if lengths is None else list(lengths)
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Which epoch comes next, from 0."""
        self.epoch = epoch

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[int]:
        generator = Generator().manual_seed((self.seed << 20) + self.epoch)
        if self.lengths is None:
            return iter(randperm(self.count, generator=generator).tolist())
        return iter(self._grouped(generator))

    def _grouped(self, generator: Generator) -> list[int]:
        """The library's grouping, then its batches in a random order: it leaves them from long to short."""
        grouped: Callable[..., list[int]] = get_length_grouped_indices
        order = grouped(self.lengths, self.batch_size, generator=generator)
        batches = [order[start : start + self.batch_size] for start in range(0, len(order), self.batch_size)]
        *full, last = batches  # the last may be short, and must stay the last
        shuffled = [full[place] for place in randperm(len(full), generator=generator).tolist()]
        return [place for batch in (*shuffled, last) for place in batch]
