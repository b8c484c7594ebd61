"""An index with its vectors and the search page's judgments in one tar file, and back.

The tar file holds `index/...` and `judgments.jsonl`, and at its end `backup.json` with the size and SHA-256 of each:
a file that was cut off or changed is refused.
"""

from __future__ import annotations

import hashlib
import io
import secrets
import shutil
import tarfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

import orjson

from rankwell.apps.search.judgments import judgments_beside
from rankwell.core import RankwellError, atomic_write, make_folder, sync_folder
from rankwell.core.files import sync_tree
from rankwell.index import Index, source_tables, sources
from rankwell.index.manifest import NAME, read_manifest
from rankwell.vectors import verify_vectors
from rankwell.vectors.rows import Manifest, vector_folders

ATTEMPTS = 100  # while a server commits and merges
PAUSE = 0.05  # seconds
PIECE = 1 << 20
INDEX, JUDGMENTS, LIST = "index", "judgments.jsonl", "backup.json"
KIND = {"rankwell": "index backup", "format": 1}
CUT = "expected a whole backup, found one that was cut off or changed: use another one"


class Made(NamedTuple):
    """What a backup holds."""

    files: int
    documents: int
    judgments: int


def write_backup(
    folder: Path | str, path: Path | str, *, judgments: Path | str | None = None, replace: bool = False
) -> Made:
    """Write the last commit of an index, its vectors and its judgments into a tar file. A server may go on writing.

    `judgments` is the file of the thumbs (default: `DIR.judgments.jsonl`, if there is one). A name that ends in .gz
    gives a compressed file. A file of that name is kept unless `replace` is set.
    """
    folder, path = Path(folder), Path(path)
    if path.exists() and not replace:
        raise RankwellError(f"{path}: expected a new file, found one: choose another name, or give --replace")
    if judgments is not None and not Path(judgments).is_file():
        raise RankwellError(f"{judgments}: expected the judgments of a search page, found no file")
    thumbs = _whole_lines(judgments_beside(folder) if judgments is None else Path(judgments))
    listed: dict[str, list[object]] = {}
    with _committed(folder) as files, atomic_write(path) as out:
        packing = "w:gz" if path.suffix in (".gz", ".tgz") else "w"
        with tarfile.open(fileobj=out, mode=packing) as tar:  # type: ignore[call-overload]  # a mode of two
            for name, file in files.items():
                _add(tar, f"{INDEX}/{name}", file, listed)
            if thumbs:
                _add(tar, JUDGMENTS, io.BytesIO(thumbs), listed)
            body = orjson.dumps({**KIND, "files": listed}, option=orjson.OPT_INDENT_2)
            _add(tar, LIST, io.BytesIO(body), {})
        documents = sum(entry.live for entry in read_manifest(folder).segments)
    return Made(len(listed), documents, thumbs.count(b"\n"))


def restore_backup(path: Path | str, folder: Path | str) -> Made:
    """Restore an index and its judgments (beside it) from a backup, into a folder that does not exist yet.

    Everything is checked before the folder gets its name.
    """
    path, folder = Path(path), Path(folder)
    thumbs = judgments_beside(folder)
    for there in (folder, thumbs):
        if there.exists():
            raise RankwellError(f"{there}: expected nothing here, found something: restore into another folder")
    make_folder(folder.absolute().parent)
    temporary = folder.absolute().with_name(f".{folder.name[:40]}.{secrets.token_hex(4)}.part")
    try:
        files = _extract(path, temporary)
        index = Index.open(temporary / INDEX)
        index.verify()
        verify_vectors(index)
        sync_tree(temporary)
        judged = temporary / JUDGMENTS
        count = judged.read_bytes().count(b"\n") if judged.exists() else 0
        if judged.exists():
            judged.rename(thumbs)
        (temporary / INDEX).rename(folder)
        sync_folder(folder.absolute().parent)
        return Made(files, len(index), count)
    except OSError as error:
        raise RankwellError(f"{folder}: not restored: {error.strerror}") from error
    except RankwellError as error:
        raise RankwellError(str(error).replace(str(temporary / INDEX), str(path))) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def _committed(folder: Path) -> Iterator[Mapping[str, IO[bytes]]]:
    """The files of the last commit, open: what is deleted or replaced meanwhile stays readable."""
    for attempt in range(ATTEMPTS):
        with ExitStack() as opened:
            before = _marks(folder)
            with suppress(FileNotFoundError):  # a merge took it away: there is another commit
                names = _names(folder)
                files = {name: opened.enter_context((folder / name).open("rb")) for name in names}
                if _marks(folder) == before:
                    yield files
                    return
        time.sleep(PAUSE * min(attempt, 10))
    raise RankwellError(f"{folder}: expected an index at rest for a moment, found commit after commit: try again")


def _marks(folder: Path) -> list[object]:
    """What changes with every commit: manifests are replaced, never written in place."""
    manifests = [folder / NAME, *(of / NAME for of in vector_folders(folder).values())]
    with suppress(FileNotFoundError):
        return [(path, status.st_ino, status.st_mtime_ns) for path in manifests for status in [path.stat()]]
    return []


def _names(folder: Path) -> list[str]:
    names = [NAME, *sorted(read_manifest(folder).files)]
    names += [name for name in (sources.NAME, source_tables.NAME) if (folder / name).is_file()]
    for of in vector_folders(folder).values():
        inside = of.relative_to(folder).as_posix()
        names += [f"{inside}/{name}" for name in (NAME, *sorted(Manifest.read(of).files))]
    return names


def _whole_lines(path: Path) -> bytes:
    """The judgments that are written in full."""
    content = path.read_bytes() if path.is_file() else b""
    return content[: content.rfind(b"\n") + 1]


class _Hashed:
    """A file that hashes what is read of it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.digest = file, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.digest.update(data)
        return data


def _add(tar: tarfile.TarFile, name: str, file: IO[bytes], listed: dict[str, list[object]]) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mtime, entry.mode = file.seek(0, io.SEEK_END), int(time.time()), 0o600
    file.seek(0)
    hashed = _Hashed(file)
    tar.addfile(entry, hashed)
    listed[name] = [entry.size, hashed.digest.hexdigest()]


def _extract(path: Path, folder: Path) -> int:
    """Write the files of a backup, and compare them with its list; returns their number."""
    found: dict[str, list[object]] = {}
    listed: object = None
    try:
        with tarfile.open(path, "r:*") as tar:
            for entry in tar:
                parts = PurePosixPath(entry.name).parts
                if not entry.isreg() or ".." in parts or entry.name.startswith("/") or entry.name in found:
                    raise RankwellError(f"{path}: expected a backup of an index, found {entry.name!r} in it")
                content = tar.extractfile(entry)
                if content is None:  # which regular files never are
                    continue
                if entry.name == LIST:
                    listed = orjson.loads(content.read())
                elif parts[0] == INDEX or entry.name == JUDGMENTS:
                    found[entry.name] = _write(content, folder.joinpath(*parts))
    except (tarfile.TarError, EOFError, OSError, ValueError, IndexError) as error:
        if isinstance(error, OSError) and error.errno is not None and not isinstance(error, tarfile.TarError):
            raise RankwellError(f"{path}: not restored: {error.strerror}") from error
        raise RankwellError(
            f"{path}: {CUT}" if found else f"{path}: expected a backup of an index, found none"
        ) from error
    if listed != {**KIND, "files": found}:
        raise RankwellError(f"{path}: {CUT}")
    return len(found)


def _write(content: IO[bytes], path: Path) -> list[object]:
    path.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with path.open("xb") as file:
        while piece := content.read(PIECE):
            file.write(piece)
            digest.update(piece)
            size += len(piece)
    return [size, digest.hexdigest()]
