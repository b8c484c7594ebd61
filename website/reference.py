"""Write docs/reference.md from the docstrings of every name that `from rankwell import ...` has."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import rankwell

HEAD = ("| name | what it gives or does |", "|---|---|")
PAGE = Path(__file__).parents[1] / "docs" / "reference.md"
INTRODUCTION = """# Reference

<!-- Written by website/reference.py: change the docstring, then run `python website/reference.py`. -->

Every name of `from rankwell import ...`, with an example that runs as a test. In the examples `index` is an index of
three papers, `queries` and `judgments` are three queries and their judgments, `run` is `BM25(index)(queries)` and
`other` a second run. [Parameters](parameters.md) has bounds and defaults.
"""
# Names that belong together, in reading order.
SECTIONS = {
    "Documents and indexes": (
        *("Index", "IndexWriter", "open_index", "Document", "Collection", "open_collection", "ColumnChoice", "preview"),
        *("Analyzer", "embed", "serve"),
    ),
    "Files": (
        *("read_documents", "read_queries", "read_qrels", "read_run"),
        *("write_documents", "write_queries", "write_qrels", "write_run"),
    ),
    "Queries, runs and judgments": ("Query", "Queries", "Run", "Judgments", "RankwellError"),
    "Search": (
        *("BM25", "TfIdf", "RM3", "SimilarQueries", "Dense", "Hybrid", "RandomRanker", "Stage", "Pipeline", "stage"),
        *("Fusion", "ReciprocalRank", "WeightedSum", "CombMNZ", "fuse"),
    ),
    "Re-ranking": (
        *("CrossEncoder", "Parade", "Duo", "ArchitectureRanker", "Linear", "reranker", "Interpolate", "Passages"),
    ),
    "Evaluation": (
        *("evaluate", "Evaluation", "compare", "Comparison", "sweep", "depth_sweep", "Sweep", "tune", "Tuning"),
        *("parse_measure", "unjudged_documents"),
    ),
    "Training": ("finetune", "adapt", "make_pairs", "train", "TrainingResult", "distil"),
}
# Classes that other names make: their constructors are of no use to readers.
MADE = {"Collection", "Comparison", "Evaluation", "Index", "Run", "Sweep", "TrainingResult", "Tuning"}
LONGEST = 96  # characters of a signature on one line


def page() -> str:
    """The whole page."""
    placed = [name for names in SECTIONS.values() for name in names]
    if sorted(placed) != sorted(rankwell.HOMES):
        raise SystemExit(f"not in a section, or not public: {sorted(set(placed) ^ set(rankwell.HOMES))}")
    parts = [INTRODUCTION]
    for title, names in SECTIONS.items():
        parts += [f"## {title}\n", *(line for name in names for line in entry(name))]
    return "\n".join(parts)


def entry(name: str) -> Iterator[str]:
    """The heading, signature, text and methods of one name."""
    thing = getattr(rankwell, name)
    yield f"### {name}\n"
    if callable(thing) and name not in MADE and name != "RankwellError":
        yield f"```py\n{signature(name, thing)}\n```\n"
    yield from text_of(inspect.getdoc(thing) or "")
    if inspect.isclass(thing):
        rows = [f"| `{method}` | {about} |" for method, about in methods(thing)]
        if rows:
            yield "\n".join([*HEAD, *rows]) + "\n"
    if inspect.ismodule(thing):
        rows = [f"| `{name}.{one}` | {_about(thing, one)} |" for one in thing.__all__]
        yield "\n".join([*HEAD, *rows]) + "\n"


def _about(module: Any, name: str) -> str:
    thing = getattr(module, name)
    return first_sentence(getattr(thing, "about", None) or inspect.getdoc(thing) or "")


def signature(name: str, thing: Any) -> str:
    """The name with its parameters, types left out; one a line where they are many."""
    given = parameters(thing)
    line = f"{name}({', '.join(given)})"
    return line if len(line) <= LONGEST else f"{name}(\n    " + ",\n    ".join(given) + ",\n)"


def parameters(thing: Any) -> list[str]:
    """The parameters with their defaults; without the object or class of a method."""
    given: list[str] = []
    for part in inspect.signature(thing).parameters.values():
        if part.kind is part.KEYWORD_ONLY and not any(one.startswith("*") for one in given):
            given.append("*")
        star = {part.VAR_POSITIONAL: "*", part.VAR_KEYWORD: "**"}.get(part.kind, "")
        default = "" if part.default is part.empty else f"={_default(part.default)}"
        if part.name not in {"self", "cls"}:
            given.append(f"{star}{part.name}{default}")
    return given


def _default(value: Any) -> str:
    shown = repr(value).replace("'", '"')  # as ruff writes it, which formats the page
    return "..." if re.search(r"<[^>]*>| at 0x", shown) or len(shown) > LONGEST // 2 else shown


def text_of(docstring: str) -> Iterator[str]:
    """A docstring as Markdown: examples and formulas become blocks."""
    for paragraph in re.split(r"\n\s*\n", docstring):
        lines = paragraph.split("\n")
        if lines[0].startswith(">>> "):
            code = "\n".join(map(_code, lines))
            code = re.sub(r"(^def .*\n(?:    .*\n)+)(?=\S)", r"\1\n\n", code, flags=re.MULTILINE)  # as ruff has it
            yield f"```py\n{code}\n```\n"
        elif all(line.startswith("  ") for line in lines) or (" = " in lines[0] and "`" not in paragraph):
            yield "```text\n" + inspect.cleandoc(paragraph) + "\n```\n"
        else:
            yield _escaped(paragraph) + "\n"


def _code(line: str) -> str:
    """A line of an example; what it gives becomes a comment."""
    return line[4:] if line.startswith((">>> ", "... ")) else f"# {line}"


def _escaped(text: str) -> str:
    """Text without what Markdown or HTML would take for its own, outside of code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*_<\[])", r"\\\1", part) for part in parts)


def methods(thing: type[Any]) -> Iterator[tuple[str, str]]:
    """The public methods and properties that a class, or a class of ours below it, defines."""
    for name, member in inspect.getmembers_static(thing):
        inner = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        inner = getattr(inner, "func", None) or getattr(inner, "fget", None) or inner
        about = inspect.getdoc(inner) if inspect.isfunction(inner) else None
        if not name.startswith("_") and about and inner.__module__.startswith("rankwell."):
            is_method = inner is member or isinstance(member, classmethod | staticmethod)
            yield _called(name, inner) if is_method else name, first_sentence(about)


def _called(name: str, method: Any) -> str:
    """A method with its parameters; where these are many, with their names alone."""
    given = parameters(method)
    line = f"{name}({', '.join(given)})"
    if len(line) > LONGEST // 2:
        line = f"{name}({', '.join(part.partition('=')[0] for part in given if part != '*')})"
    return line.replace("|", "\\|")


def first_sentence(text: str) -> str:
    """The first paragraph on one line, fit for a table."""
    return _escaped(" ".join(text.partition("\n\n")[0].split())).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
