"""Small studies for tests of the pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rankwell.core import Judgments
from rankwell.judging.opening import Material
from rankwell.judging.store import Store, write_study_database
from rankwell.judging.study import Study

LONG = """The common cold is a viral infection of the upper airways. Most people recover within seven to ten days.

Rest and fluids ease it; antibiotics do not help, because bacteria have no part in it. A fever that lasts longer than \
three days should be seen by a doctor.

Zinc, taken early, may shorten a cold by a day. The evidence is weak and the lozenges taste bad."""
QUESTIONS = (
    "how long does a common cold last",
    "does zinc help against a cold",
    "when should a fever be seen by a doctor",
    "are antibiotics useful against viruses",
    "how to tell a cold from the flu",
    "can you catch a cold from being cold",
)
GUIDELINES = """# What counts

Read the query, then the passage. **Judge what it says**, not how well it is written.

- A passage that answers the query in passing still answers it.
- Do not look anything up.
"""


def make_study(
    path: Path,
    *,
    queries: int = 6,
    passages: int = 4,
    texts: dict[str, str] | None = None,
    questions: tuple[str, ...] = QUESTIONS,
    **settings: Any,
) -> Store:
    """A study of colds: so many queries with so many passages each."""
    texts = texts or {"title": "The common cold", "text": LONG}
    asked = {f"q{number}": questions[number % len(questions)] for number in range(queries)}
    documents = {
        f"d{query}-{place}": {name: text if name == "title" else f"{text}\n\n({place})" for name, text in texts.items()}
        for query in range(queries)
        for place in range(passages)
    }
    pool = {f"q{query}": {f"d{query}-{place}": place + 1 for place in range(passages)} for query in range(queries)}
    known = Judgments((f"q{query}", f"d{query}-0", 1) for query in range(queries))
    study = Study(**{"title": "Colds and cures", "guidelines": GUIDELINES, **settings})
    return Store(write_study_database(study, Material(asked, documents, pool, known, {}), path))
