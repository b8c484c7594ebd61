"""Runs the steps of Containerfile in a folder: debootstrap makes the base, chroot runs the rest. No engine is needed.

    python tests/container.py FOLDER            # root is needed

Base images cannot be fetched everywhere; Debian's packages nearly can. An image and this folder have the same packages,
files and user; what a container adds (its own network, limits) is not tried here. Pip's settings of this machine
(/etc/pip.conf and PIP_...) and the certificates that it trusts count in the folder, too.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
MIRROR = os.environ.get("DEBIAN_MIRROR", "http://deb.debian.org/debian")
PIP = Path("/etc/pip.conf")
CHROOT = shutil.which("chroot") or "/usr/sbin/chroot"  # the PATH within is another
TRUSTED = Path("/etc/ssl/certs/ca-certificates.crt")


def steps(text: str) -> Iterator[tuple[str, str]]:
    """The instructions of a Containerfile, each with its words."""
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            instruction, _, words = line.partition(" ")
            yield instruction, words


@dataclass
class Container:
    """A folder that is being made, and how its programs are started."""

    folder: Path
    environment: dict[str, str] = field(default_factory=lambda: {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/"})
    user: str = "root"
    entry: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)

    def make(self, text: str) -> None:
        """Do all steps; one that is not known is an error."""
        for instruction, words in steps(text):
            getattr(self, f"_{instruction.lower()}")(words)

    def start(self, *words: str, **others: object) -> subprocess.Popen[bytes]:
        """Start a program within."""
        inside = [CHROOT, f"--userspec={self.user}", str(self.folder), *words]
        return subprocess.Popen(inside, env=self.environment, **others)  # type: ignore[call-overload, no-any-return]

    def _from(self, words: str) -> None:
        release = words.rpartition(":")[2].removesuffix("-slim")
        command = ["debootstrap", "--variant=minbase", release, str(self.folder), MIRROR]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        for file, there in ((PIP, "etc/pip.conf"), (TRUSTED, "trusted.pem")):
            if file.exists():
                shutil.copy(file, self.folder / there)

    def _copy(self, words: str) -> None:
        *sources, target = words.split()
        there = self.folder / target.lstrip("/")
        for source in sources:
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, there, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                there.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / source, there)

    def _run(self, words: str) -> None:
        pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        # Debian's pip passes the first on to no pip that it starts itself.
        trusted = dict.fromkeys(("PIP_CERT", "REQUESTS_CA_BUNDLE"), "/trusted.pem") if TRUSTED.exists() else {}
        given = {**self.environment, **pip, **trusted, "DEBIAN_FRONTEND": "noninteractive"}
        command = [CHROOT, f"--userspec={self.user}", str(self.folder), "sh", "-c", words]
        subprocess.run(command, env=given, check=True, stdout=subprocess.DEVNULL)

    def _env(self, words: str) -> None:
        name, _, value = words.partition("=")
        self.environment[name] = value

    def _user(self, words: str) -> None:
        self.user = words
        self.environment["HOME"] = "/var/lib/rankwell"

    def _volume(self, words: str) -> None:
        (self.folder / words.lstrip("/")).mkdir(exist_ok=True)

    def _expose(self, words: str) -> None:
        int(words)

    def _entrypoint(self, words: str) -> None:
        self.entry = json.loads(words)

    def _cmd(self, words: str) -> None:
        self.command = json.loads(words)


if __name__ == "__main__":
    made = Container(Path(sys.argv[1]))
    made.make((ROOT / "Containerfile").read_text(encoding="utf-8"))
    print(f"chroot --userspec={made.user} {made.folder} {shlex.join([*made.entry, *made.command])}")  # noqa: T201
