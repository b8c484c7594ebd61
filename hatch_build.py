"""What a package index shows: README with links that work there, and the project's URLs, all from one setting."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

# A link or picture whose address is a file of the repository: not of another site, not within the page.
LINK = re.compile(r"(?P<picture>!?)\[(?P<words>[^\]]*)\]\((?!https?:|mailto:|#)(?P<file>[^)\s]+)\)")
COMMENT = re.compile(r"^<!--.*?-->\n+", re.DOTALL)


def outside(text: str, repository: str, version: str) -> str:
    """A page of the repository for readers elsewhere: links lead there; without an address the words stay."""

    def link(match: re.Match[str]) -> str:
        if not repository:
            return match["words"]
        kind = "raw" if match["picture"] else "blob"
        return f"{match['picture']}[{match['words']}]({repository}/{kind}/v{version}/{match['file']})"

    return LINK.sub(link, COMMENT.sub("", text))


def urls(repository: str, version: str) -> dict[str, str]:
    """The project's URLs."""
    if not repository:
        return {}
    at = f"{repository}/blob/v{version}"
    return {
        "Source": repository,
        "Issues": f"{repository}/issues",
        "Documentation": f"{at}/docs/index.md",
        "Changelog": f"{at}/CHANGELOG.md",
    }


class CustomMetadataHook(MetadataHookInterface):
    """Fills in `readme` and `urls`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set what pyproject.toml calls dynamic."""
        root, version = Path(self.root), metadata["version"]
        setting = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["rankwell"]
        repository = setting["repository"].rstrip("/")
        text = outside((root / "README.md").read_text(encoding="utf-8"), repository, version)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = urls(repository, version)
