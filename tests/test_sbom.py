"""The bill of materials names what is installed."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "website" / "sbom.py"


def test_the_bill_of_materials_has_every_package_with_its_version(tmp_path: Path) -> None:
    subprocess.run([sys.executable, SCRIPT, tmp_path / "sbom.json"], check=True, capture_output=True)
    made = json.loads((tmp_path / "sbom.json").read_text())
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.5")
    versions = {part["name"]: part["version"] for part in made["components"]}
    assert versions["numpy"] == version("numpy")
    known = {part["bom-ref"] for part in made["components"]} | {made["metadata"]["component"]["bom-ref"]}
    assert {ref for entry in made["dependencies"] for ref in (entry["ref"], *entry["dependsOn"])} <= known
