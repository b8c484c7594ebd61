"""Builds the documentation site into site/: strictly, and so that it needs nothing from outside, not even a server."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

HERE = Path(__file__).parent
ROOT = HERE.parent
# What Zensical adds for readers without a server stands on another host; ours comes with the site.
SHIM = re.compile(r"""https://unpkg\.com/iframe-worker/shim""")
OURS = "assets/javascripts/file-worker.js"
# What a browser would load by itself. Links that a reader may follow are another matter.
LOADED = re.compile(r"""<(?:script|img|iframe|link|source)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//[^"'> ]+""")


class Addresses(HTMLParser):
    """Collects the links of a page and the places on it that links can lead to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at one element."""
        del tag
        for name, value in attrs:
            if name == "id" and value:
                self.places.add(value)
            elif name in {"href", "src"} and value:
                self.links.append(value)


def broken_links(site: Path) -> list[str]:
    """The links within the site that lead to no file, or to no place on a page."""
    pages = {page.resolve(): Addresses(page) for page in sorted(site.rglob("*.html"))}
    broken = []
    for page, addresses in pages.items():
        for link in addresses.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or page.name == "404.html":  # whose links are those of the site's root
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            place = unquote(parts.fragment)
            if not target.exists() or (place and target in pages and place not in pages[target].places):
                broken.append(f"{page.relative_to(site.resolve())}: {link}")
    return broken


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
    broken = broken_links(folder)
    if broken:
        sys.exit("links that lead nowhere:\n" + "\n".join(broken))
    return folder


if __name__ == "__main__":
    print(f"the site: {build(ROOT) / 'index.html'}")
