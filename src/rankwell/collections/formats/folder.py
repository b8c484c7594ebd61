"""A folder of text files: a file is a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from rankwell.collections.columns import ColumnChoice
from rankwell.collections.lines import whole_text
from rankwell.collections.reading import Reading
from rankwell.core.document import Document
from rankwell.core.errors import RankwellError
from rankwell.core.files import atomic_write

SUFFIXES = (".txt", ".text", ".md", ".rst")


class TextFolder:
    """Every text file below a folder; its id is its path in the folder, its text the field `text`."""

    name = "folder"
    suffixes = ()

    def recognises(self, path: Path, start: str) -> bool:  # noqa: ARG002 -- a folder has no first line
        """Whether it is a folder that holds text files."""
        return path.is_dir() and next(_files(path), None) is not None

    def read(self, path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:  # noqa: ARG002 -- no columns
        """The documents in the order of their paths."""
        files = sorted(_files(path))
        if not files:
            raise RankwellError(f"{path}: expected text files ({', '.join(SUFFIXES)}), found none")
        for file in files:
            text = whole_text(file, reading)
            yield Document(file.relative_to(path).as_posix(), {"text": text} if text.strip() else {})

    def write(self, path: Path, documents: Iterable[Document]) -> None:
        """A file a document, named by its id, which must be a plain relative path that ends as text files do."""
        for document in documents:
            relative = PurePosixPath(document.id)
            unsafe = (
                relative.is_absolute() or ".." in relative.parts or str(relative) != document.id or "\0" in document.id
            )
            if unsafe or relative.suffix not in SUFFIXES or any(part.startswith(".") for part in relative.parts):
                raise RankwellError(
                    f"{path}: expected ids that are file names such as notes/one.txt, found {document.id!r}"
                )
            target = path / relative
            if target.exists():
                raise RankwellError(f"{target}: already there: write into an empty folder")
            with atomic_write(target) as file:
                file.write(document.text().encode())


def _files(folder: Path) -> Iterator[Path]:
    """Text files below the folder; hidden files and folders are passed over."""
    for file in folder.rglob("*"):
        hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
        if not hidden and file.suffix.lower() in SUFFIXES and file.is_file():
            yield file
