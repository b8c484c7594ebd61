"""Run the quick tests with other versions of Python, as far as they are here: `make test-versions`.

Each version gets an environment beside ours, with everything but torch, whose CPU build is not there for all of them:
tests of training are skipped. The models are those of `make setup`. Words after the name of this file go to pytest.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSIONS = ("3.12", "3.13")
SOURCES = (ROOT / "pyproject.toml", ROOT / "constraints.txt")
INSTALL = ("-m", "pip", "install", "--quiet", "--no-compile", "-c", "constraints.txt", "-e", ".[test]")
PYTEST = ("-m", "pytest", "-q", "-n", "auto", "-m", "not slow and not long")
LEFT_OUT = {"train", "docs", "chdb", "ray", "bridges", "notebook", "datasets"}  # not in `.[test]`


def main() -> int:
    """Run the tests with one version after the other; 0 where all pass."""
    needed = os.environ.get("RANKWELL_REQUIRE", "").split(",")
    failed = []
    for version in os.environ.get("PYTHON_VERSIONS", " ".join(VERSIONS)).split():
        python = next(find_python(version), None)
        if python is None:
            print(f"Python {version} is not here: the quick tests are not run with it", flush=True)  # noqa: T201 -- a script
            failed += [version] if f"python{version}" in needed else []
            continue
        print(f"Python {version}, without torch ({python}):", flush=True)  # noqa: T201 -- a script
        environment = {**os.environ, "RANKWELL_REQUIRE": ",".join(name for name in needed if name not in LEFT_OUT)}
        command = [prepare(version, python), *PYTEST, *sys.argv[1:]]
        failed += [version] if subprocess.run(command, check=False, cwd=ROOT, env=environment).returncode else []
    return int(bool(failed))


def find_python(version: str) -> Iterator[str]:
    """Interpreters of a version that run: by their name on the PATH, or among those of pyenv."""
    candidates = [shutil.which(f"python{version}")]
    if shutil.which("pyenv"):  # whose programs on the PATH run only versions that are switched on
        root = subprocess.run(["pyenv", "root"], capture_output=True, text=True, check=False).stdout.strip()
        candidates += map(str, sorted(Path(root, "versions").glob(f"{version}.*/bin/python{version}")))
    for candidate in filter(None, candidates):
        if subprocess.run([candidate, "-c", "import venv"], capture_output=True, check=False).returncode == 0:
            yield candidate


def prepare(version: str, python: str) -> str:
    """The Python of an environment with the project, made when it is not there or older than what it is made of."""
    folder = ROOT / ".venv" / f"python{version}"
    program, stamp = folder / "bin" / "python", folder / "ready"
    if not stamp.is_file() or stamp.stat().st_mtime < max(source.stat().st_mtime for source in SOURCES):
        subprocess.run([python, "-m", "venv", folder], check=True)
        subprocess.run([program, *INSTALL], check=True, cwd=ROOT)
        stamp.touch()
    return str(program)


if __name__ == "__main__":
    sys.exit(main())
