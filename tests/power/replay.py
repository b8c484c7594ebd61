"""Power cuts: record what a program writes, and rebuild its folder as a cut at each moment could leave it.

`record` runs a program under `recorder.c`, which the C compiler makes a library of. `Disk` follows the record. What was
not synced may be on the disk or not, each part for itself: the bytes of a file until the file is synced, a name (of a
new, renamed or removed file) until its folder is synced. That is what POSIX promises; most file systems keep more.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
HEAD = struct.Struct("<cQqIIQ")
VARIANTS = ("nothing", "everything", "names", "bytes", "torn", "some", "others")  # what of the unsynced is there
Tree = dict[str, bytes | None]  # files by their path, None for a folder


class Record(NamedTuple):
    """A change: Created, Written, Truncated, Synced, Renamed, Unlinked, Directory, Linked, Mapped, or Acknowledged."""

    kind: str
    inode: int
    offset: int
    path: str
    second: str
    content: bytes


@dataclass(eq=False)
class File:
    """Its bytes on the disk for certain, and the changes that may be missing."""

    safe: bytes = b""
    now: bytearray = field(default_factory=bytearray)
    changes: list[Record] = field(default_factory=list)
    mapped: bool = False

    def change(self, record: Record) -> None:
        apply(self.now, record)
        self.changes.append(record)

    def sync(self) -> None:
        self.safe = bytes(self.now)
        self.changes.clear()


@dataclass(eq=False)
class Folder:
    """Its names on the disk for certain, and those that programs see."""

    safe: dict[str, Node] = field(default_factory=dict)
    now: dict[str, Node] = field(default_factory=dict)


Node = File | Folder


@dataclass(eq=False)
class Naming:
    """A change of names, in one folder or two; a part leaves when its folder is synced."""

    parts: list[tuple[Folder, str, Node | None]]


def apply(content: bytearray, record: Record, size: int | None = None) -> None:
    """Write (the first `size` bytes) or truncate."""
    if record.kind == "T":
        del content[record.offset :]
        content.extend(bytes(record.offset - len(content)))
        return
    data = record.content[:size]
    content.extend(bytes(max(0, record.offset - len(content))))
    content[record.offset : record.offset + len(data)] = data


class Disk:
    """The folder `root`, which is there and empty at first."""

    def __init__(self, root: str) -> None:
        self.root, self.top = root, Folder()
        self.nodes: dict[int, Node] = {Path(root).stat().st_ino: self.top}
        self.namings: list[Naming] = []
        self.last: tuple[File, Record] | None = None

    def follow(self, record: Record) -> None:
        """Do what the record says."""
        node = self.nodes.get(record.inode)
        if record.kind in "CD":
            self.nodes[record.inode] = made = File() if record.kind == "C" else Folder()
            self._name((record.path, made))
        elif record.kind in "WT" and isinstance(node, File):
            node.change(record)
            self.last = (node, record)
        elif record.kind == "S":
            self._sync(node)
        elif record.kind == "M" and isinstance(node, File):
            node.mapped = True
        elif record.kind == "R":
            self._name((record.path, None), (record.second, self._find(record.path)))
        elif record.kind == "L":
            self._name((record.second, self._find(record.path)))
        elif record.kind == "U":
            self._name((record.path, None))

    def tree(self, variant: str, seed: int) -> Tree:
        """The folder after a cut now."""
        chance = random.Random(seed)  # noqa: S311 -- the same every time
        keep_names = {"nothing": 0.0, "bytes": 0.0, "some": 0.5, "others": 0.8}.get(variant, 1.0)
        keep_bytes = {"nothing": 0.0, "names": 0.0, "some": 0.5, "others": 0.8}.get(variant, 1.0)
        kept = [naming for naming in self.namings if chance.random() < keep_names]
        entries: dict[Folder, dict[str, Node]] = {}
        for naming in kept:
            for folder, name, node in naming.parts:
                names = entries.setdefault(folder, dict(folder.safe))
                if node is None:
                    names.pop(name, None)
                else:
                    names[name] = node
        tree: Tree = {}
        waiting: list[tuple[str, Folder]] = [("", self.top)]
        while waiting:
            place, folder = waiting.pop()
            for name, node in sorted(entries.get(folder, folder.safe).items()):
                if isinstance(node, Folder):
                    tree[place + name] = None
                    waiting.append((f"{place}{name}/", node))
                else:
                    tree[place + name] = self._content(node, keep_bytes, chance, torn=variant == "torn")
        return tree

    def _content(self, file: File, keep: float, chance: random.Random, *, torn: bool) -> bytes:
        content = bytearray(file.safe)
        for change in file.changes:
            if torn and self.last == (file, change) and change is file.changes[-1]:
                apply(content, change, len(change.content) // 2)
            elif chance.random() < keep:
                apply(content, change)
        return bytes(content)

    def _name(self, *changes: tuple[str, Node | None]) -> None:
        parts = []
        for path, node in changes:
            folder, name = self._find(str(Path(path).parent)), Path(path).name
            assert isinstance(folder, Folder), path
            parts.append((folder, name, node))
            if node is None:
                folder.now.pop(name, None)
            else:
                folder.now[name] = node
        self.namings.append(Naming(parts))

    def _find(self, path: str) -> Node:
        node: Node = self.top
        for name in Path(path).relative_to(self.root).parts:
            assert isinstance(node, Folder), path
            node = node.now[name]
        return node

    def _sync(self, node: Node | None) -> None:
        if isinstance(node, File):
            node.sync()
        elif isinstance(node, Folder):
            node.safe = dict(node.now)
            for naming in self.namings:
                naming.parts = [part for part in naming.parts if part[0] is not node]
            self.namings = [naming for naming in self.namings if naming.parts]


def acknowledge(*fact: Any) -> None:
    """Say, in a recorded program, that this is safe from now on."""
    content = json.dumps(fact).encode()
    log = os.open(os.environ["RECORD_TO"], os.O_WRONLY | os.O_APPEND)
    os.write(log, HEAD.pack(b"A", 0, 0, 0, 0, len(content)) + content)
    os.close(log)


def record(program: Sequence[str], root: Path, log: Path) -> list[Record]:
    """Run a Python program that writes below `root`, and give what it did in order."""
    library = log.with_suffix(".so")
    compiler = shutil.which("cc") or "cc"
    subprocess.run(
        [
            compiler,
            "-O1",
            "-Wall",
            "-Werror",
            "-shared",
            "-fPIC",
            "-o",
            library,
            HERE / "recorder.c",
            "-ldl",
            "-lpthread",
        ],
        check=True,
    )
    log.unlink(missing_ok=True)
    paths = [str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    settings = {"LD_PRELOAD": str(library), "RECORD_BELOW": str(root), "RECORD_TO": str(log)}
    subprocess.run(
        [sys.executable, *program], check=True, env={**os.environ, **settings, "PYTHONPATH": os.pathsep.join(paths)}
    )
    records = list(parse(log.read_bytes()))
    disk = Disk(os.path.realpath(root))
    for done in records:
        disk.follow(done)
    mapped = {path for path, node in files(disk.top) if node.mapped}
    found = {path: content for path, content in disk.tree("everything", 0).items() if path not in mapped}
    assert found == {path: content for path, content in read_tree(root).items() if path not in mapped}, "unseen writes"
    return records


def parse(content: bytes) -> Iterator[Record]:
    """The records of a log."""
    place = 0
    while place < len(content):
        kind, inode, offset, first, second, size = HEAD.unpack_from(content, place)
        ends = [place + HEAD.size]
        for length in (first, second, size):
            ends.append(ends[-1] + length)
        path, other, data = (content[start:end] for start, end in pairwise(ends))
        yield Record(kind.decode(), inode, offset, path.decode(), other.decode(), data)
        place = ends[-1]


def files(folder: Folder, place: str = "") -> Iterator[tuple[str, File]]:
    """All files that programs see."""
    for name, node in folder.now.items():
        if isinstance(node, Folder):
            yield from files(node, f"{place}{name}/")
        else:
            yield place + name, node


def read_tree(root: Path) -> Tree:
    """The content of a folder."""
    return {str(path.relative_to(root)): None if path.is_dir() else path.read_bytes() for path in root.rglob("*")}


def write_tree(root: Path, tree: Tree) -> Path:
    """A new folder with this content."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    for path, content in sorted(tree.items()):
        if content is None:
            (root / path).mkdir()
        else:
            (root / path).touch(mode=0o600)  # as secrets are
            (root / path).write_bytes(content)
    return root


class Cut(NamedTuple):
    """What a cut left, and what had been acknowledged before it."""

    moment: int
    variant: str
    tree: Tree
    acknowledged: list[list[Any]]


def cuts(root: Path, records: Sequence[Record], most: int | None = None, seed: int = 0) -> Iterator[Cut]:
    """All different outcomes of cuts, in the order of their moments; `most` takes that many moments, spread evenly."""
    disk, said, seen = Disk(os.path.realpath(root)), list[list[Any]](), set[int]()
    moments: Iterable[int] = range(len(records))
    if most is not None and most < len(records):
        chance = random.Random(seed)  # noqa: S311 -- the same every time
        step = len(records) / most
        moments = {int((number + chance.random()) * step) for number in range(most)}
    chosen = set(moments)
    for moment, done in enumerate(records):
        disk.follow(done)
        if done.kind == "A":
            said.append(json.loads(done.content))
        if moment not in chosen:
            continue
        for variant in VARIANTS:
            tree = disk.tree(variant, seed * 1_000_003 + moment)
            key = hash((len(said), tuple(sorted(tree.items(), key=lambda entry: entry[0]))))
            if key not in seen:
                seen.add(key)
                yield Cut(moment, variant, tree, list(said))
