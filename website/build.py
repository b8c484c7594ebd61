"""Builds the documentation site into site/: strictly, and so that it needs nothing from outside, not even a server."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
# What Zensical adds for readers without a server stands on another host; ours comes with the site.
SHIM = re.compile(r"""https://unpkg\.com/iframe-worker/shim""")
OURS = "assets/javascripts/file-worker.js"
# What a browser would load by itself. Links that a reader may follow are another matter.
LOADED = re.compile(r"""<(?:script|img|iframe|link|source)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//[^"'> ]+""")


def build(project: Path) -> Path:
    """Build the site of a project folder; every warning of Zensical is an error."""
    folder = project / "site"
    shutil.rmtree(folder, ignore_errors=True)
    # The extension for named files is found by its folder, which is the first place that Python looks.
    command = [
        sys.executable,
        "-c",
        f"import sys; sys.path.insert(0, {str(HERE)!r}); from zensical.main import cli; cli()",
    ]
    done = subprocess.run([*command, "build", "--strict", "--clean"], cwd=project, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    shutil.copy(HERE / "file-worker.js", folder / OURS)
    outside = []
    for page in sorted(folder.rglob("*.html")):
        up = "../" * (len(page.relative_to(folder).parts) - 1)
        text = SHIM.sub(f"{up}{OURS}", page.read_text(encoding="utf-8"))
        page.write_text(text, encoding="utf-8")
        outside += [f"{page.relative_to(folder)}: {found}" for found in LOADED.findall(text)]
    if outside:
        sys.exit("the site would load things from outside:\n" + "\n".join(outside))
    return folder


if __name__ == "__main__":
    print(f"the site: {build(ROOT) / 'index.html'}")
