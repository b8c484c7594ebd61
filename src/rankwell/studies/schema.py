"""The JSON Schema of study files, for editors that complete and check TOML (`#:schema study.schema.json`)."""

from __future__ import annotations

from typing import Any

from rankwell.studies.steps import STEPS
from rankwell.studies.study import STUDY


def study_schema() -> dict[str, Any]:
    """Made of the same records that read the file, so that the two never disagree."""
    schema = STUDY.schema()
    rows = schema["properties"]["table"]["items"]["properties"]["rows"]
    rows["additionalProperties"]["description"] = _steps()
    schema["properties"]["pipelines"]["additionalProperties"]["description"] = _steps()
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A Rankwell study",
        **schema,
    }


def _steps() -> str:
    """All steps with their settings, for the editor's hint at a line."""
    told = []
    for name, kind in STEPS.items():
        settings = ", ".join(parameter.name for parameter in kind.parameters)
        told.append(f"{name}({settings}): {kind.about}" if settings else f"{name}: {kind.about}")
    return "Steps with | between them.\n" + "\n".join(told)
