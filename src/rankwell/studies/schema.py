"""The JSON Schema of study files, for editors that complete and check TOML (`#:schema study.schema.json`)."""

from __future__ import annotations

from typing import Any

from rankwell.studies.recipe_kinds import PAIRS, RECIPES, TRAINING, RecipeKind
from rankwell.studies.steps import STEPS, StepKind
from rankwell.studies.study import STUDY


def study_schema() -> dict[str, Any]:
    """Made of the same records that read the file, so that the two never disagree."""
    schema = STUDY.schema()
    rows = schema["properties"]["table"]["items"]["properties"]["rows"]
    rows["additionalProperties"]["description"] = _steps()
    schema["properties"]["pipelines"]["additionalProperties"]["description"] = _steps()
    schema["properties"]["models"]["additionalProperties"]["description"] = _recipes()
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A Rankwell study",
        **schema,
    }


def _steps() -> str:
    """All steps with their settings, for the editor's hint at a line."""
    return "\n".join(["Steps with | between them.", *(_hint(kind) for kind in STEPS.values())])


def _recipes() -> str:
    """The same of models that are trained."""
    pairs, training = ([_hint(kind) for kind in RECIPES.values() if kind.part == part] for part in (PAIRS, TRAINING))
    return "\n".join(["Pairs | training. Pairs (one step or several):", *pairs, "Training:", *training])


def _hint(kind: StepKind | RecipeKind) -> str:
    settings = ", ".join(parameter.name for parameter in kind.parameters)
    return f"{kind.name}({settings}): {kind.about}" if settings else f"{kind.name}: {kind.about}"
