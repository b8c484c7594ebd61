"""Write docs/parameters.md from the parameters that stages and trainers declare."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rankwell.core.parameters import MISSING, Parameter, parameters
from rankwell.models.bi_encoder.training import BiEncoderSettings
from rankwell.models.cross_encoder.training import CrossEncoderSettings
from rankwell.models.distillation.training import DistilSettings
from rankwell.models.duo.training import DuoSettings
from rankwell.models.explanation import Interpolate
from rankwell.models.language_model.settings import MlmSettings
from rankwell.models.linear.training import LinearSettings
from rankwell.models.parade.training import ParadeSettings
from rankwell.models.reranking.reranker import RerankSettings
from rankwell.models.review_rankers.training import ArchitectureSettings
from rankwell.retrieve import BM25, RM3, CosineTfIdf, Dense, RandomRanker
from rankwell.training.adapt import AdaptSettings
from rankwell.training.finetune import FinetuneSettings

UNLIMITED = 1e9  # nobody asks for more
PAGE = Path(__file__).parents[1] / "docs" / "parameters.md"
INTRODUCTION = """# Parameters

<!-- Written by website/parameters.py: change the declaration, then run `python website/parameters.py`. -->

A parameter is declared once, on the field of its stage or trainer, and means the same in Python, in a command (`k1` is
`--k1`, `max_tokens` is `--max-tokens`), over HTTP, on the search page and in a study file.
"""
SECTIONS: dict[str, type[Any]] = {
    "BM25": BM25,
    "RM3": RM3,
    "TF-IDF": CosineTfIdf,
    "Dense": Dense,
    "Random": RandomRanker,
    "Re-rankers": RerankSettings,
    "Interpolation": Interpolate,
    "Recipe: finetune": FinetuneSettings,
    "Recipe: adapt": AdaptSettings,
    "Training: cross-encoder": CrossEncoderSettings,
    "Training: bi-encoder": BiEncoderSettings,
    "Training: PARADE": ParadeSettings,
    "Training: duo": DuoSettings,
    "Training: review rankers": ArchitectureSettings,
    "Training: linear baseline": LinearSettings,
    "Training: distillation": DistilSettings,
    "Training: masked language model": MlmSettings,
}


def page() -> str:
    """The whole page."""
    return "\n".join([INTRODUCTION, *(line for title, owner in SECTIONS.items() for line in section(title, owner))])


def section(title: str, owner: type[Any]) -> Iterator[str]:
    """The table of one stage or trainer."""
    yield f"## {title}\n\n`{owner.__module__}.{owner.__name__}`\n"
    yield "| parameter | default | values | what it is |\n|---|---|---|---|"
    for declared in parameters(owner).values():
        default = "required" if declared.default is MISSING else f"`{declared.default!r}`"
        yield f"| `{declared.name}` | {default} | {values(declared)} | {declared.help} |".replace("||", "| |")
    yield ""


def values(declared: Parameter) -> str:
    """The bounds or choices."""
    schema = declared.kind.schema()
    if "enum" in schema:
        return ", ".join(f"`{choice}`" for choice in schema["enum"])
    low, high = schema.get("minimum"), schema.get("maximum")
    bounds = [f"from {low:g}"] if low not in (None, float("-inf")) else []
    bounds += [f"to {high:g}"] if high is not None and high < UNLIMITED else []
    return " ".join([schema.get("type", "text"), *bounds]).replace("string", "text").replace("integer", "whole number")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
