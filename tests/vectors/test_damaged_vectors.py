"""Whatever happens to the files and to the process: a clear error or the right result, never a wrong one."""

# ruff: noqa: S311 -- damage may be foreseen

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hashing_encoder import HashingEncoder

from rankwell import Document, RankwellError
from rankwell.index import Index, IndexWriter
from rankwell.index.blocks import BlockFile, BlockWriter
from rankwell.vectors import Embeddings, embed, verify_vectors

Build = Callable[..., Index]
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of two segments with vectors in two files, a graph, and deleted documents."""
    folder = tmp_path_factory.mktemp("damage") / "index"
    for numbers in (range(600), range(600, 900)):
        with IndexWriter(folder) as writer:
            for number in numbers:
                writer.add(Document(f"d{number}", {"text": f"w{number % 50} w{number % 7} w{number % 11}"}))
            writer.delete("d3")
        embed(Index.open(folder), HashingEncoder())
    return folder


def everything(folder: Path) -> list[object]:
    embeddings = Embeddings.open(Index.open(folder))
    queries = HashingEncoder().encode_queries(["w1 w2", "w30", "w7 w49"])
    exact, near = embeddings.search(queries, 30), embeddings.search(queries, 30, method="hnsw")
    return [part.tolist() for hits in (exact, near) for part in (hits.docnos, hits.scores)]


def flipped(data: bytes, generator: random.Random) -> bytes:
    place = generator.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << generator.randrange(8))]) + data[place + 1 :]


def cut(data: bytes, generator: random.Random) -> bytes:
    return data[: generator.randrange(len(data))]


def replaced(data: bytes, generator: random.Random) -> bytes:
    return generator.randbytes(len(data))


@pytest.mark.parametrize("damage", [flipped, cut, replaced])
def test_damage_gives_an_error_or_the_same_results(original: Path, tmp_path: Path, damage) -> None:
    expected, generator, errors = everything(original), random.Random(damage.__name__), 0
    vectors = next((original / "vectors").iterdir())
    files = [file.name for file in vectors.iterdir() if file.name != "write.lock"]
    assert {Path(name).suffix for name in files} == {"", ".vectors", ".graph", ".keys"}
    for turn in range(40):
        copy = tmp_path / f"copy{turn}"
        shutil.copytree(original, copy)
        file = copy / "vectors" / vectors.name / files[turn % len(files)]
        file.write_bytes(damage(file.read_bytes(), generator))
        try:
            assert everything(copy) == expected
        except RankwellError as error:
            assert str(copy) in str(error)  # noqa: PT017 -- either outcome is right
            errors += 1
        shutil.rmtree(copy)
    assert errors >= 15


def test_damage_anywhere_is_found_by_verify(original: Path, tmp_path: Path) -> None:
    shutil.copytree(original, tmp_path / "copy")
    embeddings = Embeddings.open(Index.open(tmp_path / "copy"))
    embeddings.verify()
    for file in (*embeddings.folder.glob("*.vectors"), *embeddings.folder.glob("*.graph")):
        data = bytearray(file.read_bytes())
        data[2000] ^= 4
        with file.open("r+b") as opened:
            opened.write(data)
        with pytest.raises(RankwellError, match="damaged"):
            Embeddings.open(Index.open(tmp_path / "copy")).verify()
        data[2000] ^= 4
        file.write_bytes(data)


def test_verify_finds_every_damaged_byte_of_the_keys(original: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(original, tmp_path / "copy")
    files = sorted(folder.glob("vectors/*/*.keys"))
    assert len(files) == 2
    verify_vectors(Index.open(folder))
    for file in files:
        whole = file.read_bytes()
        for place in range(0, len(whole), 97):
            damaged = bytearray(whole)
            damaged[place] ^= 16
            file.write_bytes(damaged)
            with pytest.raises(RankwellError, match=r"\.keys: .*; delete this file"):
                verify_vectors(Index.open(folder))
        file.write_bytes(whole[:-9])
        with pytest.raises(RankwellError, match=r"\.keys: .*; delete this file"):
            verify_vectors(Index.open(folder))
        file.unlink()
        verify_vectors(Index.open(folder))  # which made it anew
        assert file.read_bytes() == whole


def test_verify_finds_keys_of_other_documents(original: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(original, tmp_path / "copy")
    file = max(folder.glob("vectors/*/*.keys"), key=lambda file: file.stat().st_size)
    keys = BlockFile(file, "keys")["keys"].all().copy()
    file.unlink()
    with BlockWriter(file, "keys") as writer:
        writer.add("keys", keys[::-1].copy())
        writer.finish({})
    with pytest.raises(RankwellError, match="the keys are not those of the documents"):
        verify_vectors(Index.open(folder))


def test_a_newer_format_is_named(original: Path, tmp_path: Path) -> None:
    shutil.copytree(original, tmp_path / "copy")
    manifest = next((tmp_path / "copy" / "vectors").iterdir()) / "manifest"
    manifest.write_bytes(manifest.read_bytes().replace(b"rankwell-vectors 1 ", b"rankwell-vectors 2 ", 1))
    with pytest.raises(RankwellError, match=r"newer Rankwell \(format 2, this one reads 1\)"):
        Embeddings.open(Index.open(tmp_path / "copy"))


def test_the_index_does_not_mind_its_vectors(original: Path, tmp_path: Path) -> None:
    shutil.copytree(original, tmp_path / "copy")
    index = Index.open(tmp_path / "copy")
    index.verify()
    index.info()
    assert Embeddings.open(index.merge()).stale == 0


def program(folder: Path, body: str) -> str:
    return f"""
import sys
sys.path.insert(0, {str(HERE)!r})
from hashing_encoder import HashingEncoder
from rankwell import RankwellError
from rankwell.vectors import Embeddings, embed
from rankwell.index import Index
folder = {str(folder)!r}
{body}
"""


def ran(source: str) -> str:
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A folder that every user may enter; pytest closes its own ones again whenever somebody starts it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_a_read_only_folder_is_refused_and_still_read(build: Build, open_to_all: Path) -> None:
    made = build({"a": "red apple"})
    embed(made, HashingEncoder())
    index = Index.open(shutil.copytree(made.path, open_to_all / "index"))
    folder = next((index.path / "vectors").iterdir())
    for file in (*folder.glob("*.keys"), folder / "write.lock"):
        file.unlink()
    for file in index.path.rglob("*"):
        file.chmod(0o755 if file.is_dir() else 0o644)
    folder.chmod(0o555)
    body = """
import os
if os.getuid() == 0:
    os.setgid(65534); os.setuid(65534)
index = Index.open(folder)
print(Embeddings.open(index).count)
try:
    embed(index, HashingEncoder())
except RankwellError as error:
    print(error)
"""
    try:
        printed = ran(program(index.path, body))
    finally:
        folder.chmod(0o755)
    assert printed.splitlines()[0] == "1"
    assert "cannot write here: Permission denied" in printed


def test_a_full_disk_keeps_what_was_encoded_before(build: Build, tmp_path: Path) -> None:
    index = build({f"d{number}": f"w{number}" for number in range(500)})
    body = """
import resource, signal
import rankwell.vectors.embedding as embedding
embedding.PORTION = 100
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, 9_000))
encoder = HashingEncoder(24)
first, encoder.encode = encoder.encode, lambda texts, progress: wide(first(texts, progress))
def wide(found):
    if len(encoder.encoded) > 250:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 9_000))
    return found
try:
    embed(Index.open(folder), encoder)
except RankwellError as error:
    print(error)
"""
    printed = ran(program(tmp_path / "index", body))
    assert "not written: File too large; 200 vectors of before are kept" in printed
    embeddings = Embeddings.open(index)
    embeddings.verify()
    assert (embeddings.count, embeddings.stale) == (200, 300)
    assert len(list(embeddings.folder.glob("*.vectors"))) == 2


def test_two_writers_do_not_meet(build: Build, encoder: HashingEncoder) -> None:
    index = build({"a": "red apple"})

    class Nosy(HashingEncoder):
        def encode(self, texts, progress):
            with pytest.raises(RankwellError, match="another writer is at work"):
                embed(index, encoder)
            return super().encode(texts, progress)

    assert embed(index, Nosy()).count == 1


SLOW_ENCODING = """
import time
import rankwell.vectors.embedding as embedding
embedding.PORTION = 20
class Slow(HashingEncoder):
    def encode(self, texts, progress):
        time.sleep(0.01)
        print(len(texts), flush=True)
        return super().encode(texts, progress)
embed(Index.open(folder), Slow())
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_killed_encoder_keeps_what_was_committed_and_goes_on(build: Build, tmp_path: Path, seed: int) -> None:
    index, generator = build({f"d{number}": f"w{number}" for number in range(3000)}), random.Random(seed)
    before, encoded = 0, 0
    for _ in range(6):
        child = subprocess.Popen(
            [sys.executable, "-c", program(tmp_path / "index", SLOW_ENCODING)], stdout=subprocess.PIPE
        )
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(generator.random() * 0.5)
        child.send_signal(signal.SIGKILL)
        portions = 1 + len(child.stdout.read().split())
        child.stdout.close()
        child.wait()
        encoded += 20 * portions
        embeddings = Embeddings.open(index)
        embeddings.verify()
        assert before + 20 * (portions - 1) <= embeddings.count <= before + 20 * portions
        before = embeddings.count
    encoder = HashingEncoder()
    embeddings = embed(index, encoder)
    assert (embeddings.count, embeddings.stale) == (3000, 0)
    assert len(encoder.encoded) == 3000 - before
    names = {file.name for file in embeddings.folder.iterdir()} - {"manifest", "write.lock"}
    assert {name for name in names if not name.endswith(".keys")} == embeddings._manifest.files
