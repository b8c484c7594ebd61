"""The teacher of a distillation: any cross-encoder, for its scores alone or for what happens inside it as well."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwell.core import Progress, RankwellError
from rankwell.core.arrays import Floats
from rankwell.encode import load_pair_scorer
from rankwell.encode.description import labels_of, task_of
from rankwell.encode.export import PAIRS
from rankwell.encode.folder import FP32, ModelFolder
from rankwell.encode.torch_model import load_torch
from rankwell.rerank.linear_model import is_linear
from rankwell.rerank.ranker_record import read_record
from rankwell.rerank.score_cache import ScoreCache
from rankwell.rerank.scorer import Scorer
from rankwell.rerank.scoring import PairScores
from rankwell.rerank.tally import Tally
from rankwell.train.pairs import Pairs

BLOCK = 4096  # pairs whose texts are in memory together
RANKING_LABELS = (1, 2)


def find_teacher(name: str) -> ModelFolder:
    """The folder of a cross-encoder with one label (relevant) or two (not relevant, relevant)."""
    folder = ModelFolder.find(name)
    record = read_record(folder.path)
    if is_linear(str(folder.path)) or record is not None:
        found = "a linear model" if record is None else f"a {record.kind}"
        raise RankwellError(f"{name}: expected a cross-encoder as the teacher, found {found}")
    if task_of(folder) != PAIRS:
        found = folder.architecture or "one that gives vectors of texts"
        raise RankwellError(f"{name}: expected a cross-encoder (...ForSequenceClassification), found {found}")
    labels = labels_of(folder)
    if labels not in RANKING_LABELS:
        raise RankwellError(f"{name}: expected a teacher with 1 label (relevant) or 2, found {labels}")
    return folder


def load_teacher(folder: ModelFolder) -> Any:
    """The teacher in torch, whose weights nothing changes."""
    if folder.torch_weights is None:
        raise RankwellError(
            f"{folder.name}: expected PyTorch's weights (model.safetensors) to look inside the teacher, found only "
            "ONNX: distil its scores, with --method soft or margin-mse and a student of your own"
        )
    return load_torch(folder, PAIRS, -1).eval().requires_grad_(requires_grad=False)


def teacher_scorer(folder: ModelFolder, max_tokens: int, query_tokens: int | None, threads: int | None) -> Scorer:
    """The teacher as a scorer, in full precision where it has it."""
    budget = min(max_tokens, folder.longest)
    precision = FP32 if folder.torch_weights is not None else None
    return load_pair_scorer(
        folder.name, max_tokens=budget, query_tokens=query_tokens, precision=precision, threads=threads
    )


def teacher_scores(scorer: Scorer, pairs: Pairs, progress: Progress) -> Floats:
    """The teacher's score of every pair, in their order. Each is scored once and kept, as `rankwell rerank` does."""
    with ScoreCache(scorer.fingerprint()) as cache:
        score = PairScores(scorer, cache, Tally(), progress)
        blocks = pairs.batches(["query", "document"], BLOCK)
        texts = ((block["query"].to_pylist(), block["document"].to_pylist()) for block in blocks)
        parts = [score(list(zip(*both, strict=True))) for both in texts]
    return np.concatenate([*parts, np.zeros(0, np.float32)])


def score_of(logits: Any, *, next_sentence: bool = False) -> Any:
    """One number a pair of the teacher's logits in torch: the only one, or "relevant" less "not relevant".

    For two labels softmax(logits / T) is the sigmoid of that number / T, so that nothing is lost.
    """
    if logits.shape[-1] == 1:
        return logits[:, 0]
    yes, no = (0, 1) if next_sentence else (1, 0)
    return logits[:, yes] - logits[:, no]
