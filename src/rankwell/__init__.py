"""Rankwell: from a pile of documents to a ranking people can trust.

from rankwell import BM25, CrossEncoder, Index

index = Index.build("papers", "papers.csv")
run = (BM25(index) >> CrossEncoder("ms-marco-minilm-l12"))("do masks stop the virus?")
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0.dev0"

# Each public name with the module that has it (`module:name` where it is called otherwise there). A new name needs its
# line here, and its line in `__init__.pyi`, from which editors and mypy know its type.
HOMES = {
    "BM25": "rankwell.retrieve",
    "RM3": "rankwell.retrieve",
    "Analyzer": "rankwell.analysis",
    "ArchitectureRanker": "rankwell.models.review_rankers.ranking",
    "Collection": "rankwell.collections",
    "ColumnChoice": "rankwell.collections",
    "CombMNZ": "rankwell.retrieve",
    "Comparison": "rankwell.evaluation",
    "CrossEncoder": "rankwell.models.cross_encoder.ranking",
    "Dense": "rankwell.retrieve",
    "Document": "rankwell.core",
    "Duo": "rankwell.models.duo.ranking",
    "Evaluation": "rankwell.evaluation",
    "Fusion": "rankwell.retrieve",
    "Hybrid": "rankwell.retrieve",
    "Index": "rankwell.index",
    "IndexWriter": "rankwell.index",
    "Interpolate": "rankwell.models.explanation",
    "Judgments": "rankwell.core",
    "Linear": "rankwell.models.linear.ranking",
    "Parade": "rankwell.models.parade.ranking",
    "Passages": "rankwell.models.reranking.passages",
    "Pipeline": "rankwell.core",
    "Queries": "rankwell.core",
    "Query": "rankwell.core",
    "RandomRanker": "rankwell.retrieve",
    "RankwellError": "rankwell.core",
    "ReciprocalRank": "rankwell.retrieve",
    "Run": "rankwell.core",
    "SimilarQueries": "rankwell.retrieve",
    "Stage": "rankwell.core",
    "Sweep": "rankwell.evaluation",
    "TfIdf": "rankwell.retrieve:CosineTfIdf",
    "TrainingResult": "rankwell.models.learning.trainer",
    "Tuning": "rankwell.pipelines",
    "WeightedSum": "rankwell.retrieve",
    "adapt": "rankwell.training.adapt",
    "compare": "rankwell.evaluation",
    "depth_sweep": "rankwell.evaluation",
    "distil": "rankwell.models.distillation.training",
    "embed": "rankwell.vectors",
    "evaluate": "rankwell.evaluation",
    "finetune": "rankwell.training.finetune",
    "fuse": "rankwell.retrieve",
    "make_pairs": "rankwell.training",
    "open_collection": "rankwell.collections",
    "open_index": "rankwell.index",
    "parse_measure": "rankwell.evaluation",
    "preview": "rankwell.collections",
    "read_documents": "rankwell.collections",
    "read_qrels": "rankwell.collections",
    "read_queries": "rankwell.collections",
    "read_run": "rankwell.collections",
    "reranker": "rankwell.models.families",
    "serve": "rankwell.apps.search.application",
    "stage": "rankwell.core",
    "sweep": "rankwell.evaluation",
    "train": "rankwell.training.train:",
    "tune": "rankwell.pipelines",
    "unjudged_documents": "rankwell.evaluation",
    "write_documents": "rankwell.collections",
    "write_qrels": "rankwell.collections",
    "write_queries": "rankwell.collections",
    "write_run": "rankwell.collections",
}

__all__ = [  # noqa: PLE0604 -- names, in the order of ruff
    *sorted([*HOMES, "__version__"], key=lambda name: (not name.isupper(), not name[0].isupper(), name))
]


def __getattr__(name: str) -> Any:
    """A public name, loaded when it is first asked for, so that `import rankwell` takes no time."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{_hint(name)}")
    module, colon, attribute = HOMES[name].partition(":")
    home = import_module(module)
    value = home if colon and not attribute else getattr(home, attribute or name)
    return globals().setdefault(name, value)


def _hint(name: str) -> str:
    """The public name that is most like a wrong one, for the error."""
    if name.startswith("_"):  # what Python itself looks for
        return ""
    from difflib import get_close_matches

    by_lower = {known.lower(): known for known in HOMES}
    near = get_close_matches(name.lower(), by_lower, 1)
    return f": did you mean {by_lower[near[0]]}?" if near else ": dir(rankwell) lists the names"


def __dir__() -> list[str]:
    return __all__
