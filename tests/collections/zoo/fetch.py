"""Fetch the files of the zoo that other people wrote from the source distributions of their projects.

python tests/collections/zoo/fetch.py FOLDER
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path


def main() -> None:
    """Fetch each project once, and keep the files that `others.toml` names."""
    folder = Path(sys.argv[1])
    files = tomllib.loads((Path(__file__).parent / "others.toml").read_text(encoding="utf-8"))
    projects: dict[str, str] = files.pop("projects")
    missing = {name.partition("/")[0] for name in files if not (folder / name).is_file()}
    for project in sorted(missing):
        with tempfile.TemporaryDirectory() as kept:
            fetch = [
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-deps",
                "--no-binary=:all:",
                projects[project],
                "-d",
                kept,
            ]
            subprocess.run([sys.executable, *fetch], check=True)
            archive = next(Path(kept).glob("*.tar.gz"))
            wanted = {name.partition("/")[2]: folder / name for name in files if name.startswith(f"{project}/")}
            with tarfile.open(archive) as packed:
                for member in packed:
                    target = wanted.get(member.name.partition("/")[2])
                    content = packed.extractfile(member) if target is not None and member.isfile() else None
                    if target is not None and content is not None:
                        target.parent.mkdir(parents=True, exist_ok=True)
                        target.write_bytes(content.read())


if __name__ == "__main__":
    main()
