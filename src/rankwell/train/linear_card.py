"""The page that a linear model's folder has for people."""

from __future__ import annotations

from rankwell.rerank import LinearModel


def linear_card(model: LinearModel) -> str:
    """What the model is, what it was made of, how good it was, and what it has learned."""
    made = model.made
    data, settings = made["data"], made["settings"]
    about = (
        "TF-IDF and logistic regression over query and document as one text, by `rankwell train linear`. Use it with "
        "`rankwell rerank --model THIS_FOLDER`."
    )
    cleaned = ", cleaned before" if model.words.cleaned else ""
    facts = [
        f"{len(model.vocabulary):,} words and runs of up to {model.words.longest} words{cleaned}",
        f"each in {settings['fewest']:,} texts or more",
        f"penalty C = {settings['penalty']:g}{', labels balanced' if settings['balanced'] else ''}",
        f"trained on {data['pairs']:,} pairs of `{data['folder']}`, fingerprint {data['fingerprint']}",
        ", ".join(f"{name} {version}" for name, version in made["versions"].items()),
    ]
    parts = ["# A linear model to re-rank with", about, "\n".join(f"- {fact}" for fact in facts)]
    if "measures" in made:
        parts.append(_measures(made["measures"], made["validation"]["pairs"]))
    words = "\n".join(f"| {word} | {weight:+.3f} |" for word, weight in model.strongest())
    parts.append(f"## The words that weigh most\n\n| words | weight |\n|---|---|\n{words}")
    return "\n\n".join(parts) + "\n"


def _measures(rows: list[dict[str, float]], pairs: int) -> str:
    names = list(rows[0])
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    lines += [f"| {' | '.join(f'{row[name]:.4g}' for name in names)} |" for row in rows]
    return f"## On {pairs:,} pairs that it was not trained on\n\n" + "\n".join(lines)
