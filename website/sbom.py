"""`make sbom`: a bill of materials of this environment (CycloneDX 1.5, JSON), from what pip recorded about it."""

from __future__ import annotations

import json
import re
import sys
import uuid
from importlib.metadata import Distribution, distributions, version
from pathlib import Path

OWN = "rankwell"


def component(part: Distribution) -> dict[str, object]:
    """One installed package."""
    name = normal(part.metadata["Name"])
    address = f"pkg:pypi/{name}@{part.version}"
    made: dict[str, object] = {
        "type": "library",
        "bom-ref": address,
        "name": name,
        "version": part.version,
        "purl": address,
    }
    licence = part.metadata.get("License-Expression") or part.metadata.get("License") or ""
    if licence.strip() and "\n" not in licence.strip():
        made["licenses"] = [{"license": {"name": licence.strip()[:200]}}]
    return made


def normal(name: str) -> str:
    """A package's name as the index spells it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def materials() -> dict[str, object]:
    """The bill of materials: every package, and what each of them asks for."""
    there = {normal(part.metadata["Name"]): part for part in distributions()}
    references = {name: f"pkg:pypi/{name}@{part.version}" for name, part in there.items()}
    dependencies = []
    for name, part in sorted(there.items()):
        needs = {normal(re.split(r"[ ;<>=!~\[(]", need, maxsplit=1)[0]) for need in part.requires or ()}
        dependencies.append({"ref": references[name], "dependsOn": sorted(references[n] for n in needs & there.keys())})
    own = {"type": "application", "bom-ref": references[OWN], "name": OWN, "version": version(OWN)}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid4()}",
        "version": 1,
        "metadata": {"component": own},
        "components": [component(part) for name, part in sorted(there.items()) if name != OWN],
        "dependencies": dependencies,
    }


if __name__ == "__main__":
    out = Path(sys.argv[1])
    made = materials()
    out.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    print(f"{out}: {len(made['components'])} packages")  # type: ignore[arg-type]  # a list
