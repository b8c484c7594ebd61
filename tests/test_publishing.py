"""What is published: wheel and source distribution in a clean environment, README elsewhere, the container's steps."""

from __future__ import annotations

import email
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from urllib.request import urlopen

import pytest

from container import Container, steps
from inbox import free_port
from needs import require
from rankwell import __version__
from rankwell.collections import read_run
from servers import Server, stopped
from waiting import wait_until

ROOT = Path(__file__).parents[1]
RELATIVE = re.compile(r"\]\((?!https?:|mailto:|#)[^)]*\)")
PAPERS = "id,title\np1,Masks stop droplets\np2,Soap and water\np3,Windows and droplets in the air\n"
MODEL = "ms-marco-minilm-l12"
PROGRAM = f"""
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.retrieve import BM25

pipeline = BM25("papers") >> CrossEncoder("{MODEL}", quiet=True)
print(*pipeline("do masks stop droplets")["1"].docnos)
"""


def hook():
    """The functions of hatch_build.py, without hatchling."""
    text = (ROOT / "hatch_build.py").read_text(encoding="utf-8")
    text = text.replace("from hatchling.metadata.plugin.interface import MetadataHookInterface", "")
    space: dict[str, object] = {"MetadataHookInterface": object}
    exec(compile(text, "hatch_build.py", "exec"), space)  # noqa: S102 -- our own file
    return space


def test_links_lead_to_the_repository_or_are_words() -> None:
    outside = hook()["outside"]
    text = "<!-- needs: x -->\n\nSee [the docs](docs/index.md#a), [a site](https://example.org) and ![it](docs/it.svg)."
    elsewhere = "See [the docs](https://r.example/blob/v1/docs/index.md#a), [a site](https://example.org) and "
    assert outside(text, "https://r.example", "1") == elsewhere + "![it](https://r.example/raw/v1/docs/it.svg)."
    assert outside(text, "", "1") == "See the docs, [a site](https://example.org) and it."


def test_readme_has_no_link_that_works_here_only() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for repository in ("", "https://r.example"):
        assert not RELATIVE.findall(hook()["outside"](readme, repository, "1"))
    assert hook()["urls"]("", "1") == {}
    assert all(url.startswith("https://r.example") for url in hook()["urls"]("https://r.example", "1").values())


def test_the_changelog_has_the_next_release() -> None:
    release = __version__.partition(".dev")[0]
    assert f"\n## {release} (" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def python(folder: Path) -> Path:
    """The Python of a new, empty environment."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    return folder / "bin" / "python"


def clean() -> dict[str, str]:
    """An environment in which nothing of this checkout is found."""
    return {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "VIRTUAL_ENV"))
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with wheel and source distribution, the wheel made from the latter."""
    folder = tmp_path_factory.mktemp("dist")
    require("packages", there=can_install(folder), how="a package index is needed")
    maker = python(folder / "maker")
    subprocess.run([maker, "-m", "pip", "install", "--quiet", "build"], check=True, env=clean())
    subprocess.run([maker, "-m", "build", "--outdir", folder, ROOT], check=True, env=clean(), stdout=subprocess.DEVNULL)
    return folder


def can_install(folder: Path) -> bool:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder / "probe", "build"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


@pytest.mark.long
def test_the_distributions_have_what_belongs_to_them_and_nothing_else(built: Path) -> None:
    (wheel,), (source,) = built.glob("*.whl"), built.glob("*.tar.gz")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"rankwell"}
    assert "rankwell/py.typed" in names
    assert not [name for name in names if "__pycache__" in name]
    meta = next(name for name in names if name.endswith("dist-info/METADATA"))
    metadata = email.message_from_bytes(zipfile.ZipFile(wheel).read(meta))
    assert metadata["Version"] == __version__
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert not RELATIVE.findall(str(metadata.get_payload()))
    with tarfile.open(source) as packed:
        tops = {Path(name).parts[1] for name in packed.getnames() if len(Path(name).parts) > 1}
    assert {"src", "tests", "docs", "LICENSE", "CHANGELOG.md", "pyproject.toml"} <= tops
    assert not tops & {".git", ".venv", ".ci", "site", "demo"}


@pytest.mark.long
@pytest.mark.usefixtures("use_models")
def test_the_wheel_alone_indexes_searches_and_re_ranks(built: Path, tmp_path: Path) -> None:
    own = python(tmp_path / "clean")
    subprocess.run([own, "-m", "pip", "install", "--quiet", *built.glob("*.whl")], check=True, env=clean())
    (tmp_path / "papers.csv").write_text(PAPERS)

    def run(*words: str | Path) -> str:
        done = subprocess.run(words, check=False, capture_output=True, text=True, cwd=tmp_path, env=clean())
        assert done.returncode == 0, done.stderr
        return done.stdout

    command = own.with_name("rankwell")
    (tmp_path / "queries.tsv").write_text("q1\tdo masks stop droplets\n")
    run(command, "index", "papers.csv", "--out", "papers", "--quiet")
    assert [row["id"] for row in json.loads(run(command, "search", "papers", "soap", "--json"))] == ["p2"]
    best = ("search", "papers", "do masks stop droplets", "--rerank", MODEL, "--json")
    assert json.loads(run(command, *best))[0]["id"] == "p1"
    run(command, "rank", "papers", "queries.tsv", "-o", "bm25.trec")
    of_run = ("rerank", "bm25.trec", "--index", "papers", "--queries", "queries.tsv", "--model", MODEL)
    run(command, *of_run, "-o", "bert.trec")
    assert read_run(tmp_path / "bert.trec")["q1"].docnos.tolist()[0] == "p1"
    run(command, "encode", "papers", "--model", "minilm-l6")  # PyTorch's weights, made an ONNX file of
    run(command, "rank", "papers", "queries.tsv", "--dense", "-o", "dense.trec")
    assert read_run(tmp_path / "dense.trec")["q1"].docnos.tolist()[-1] == "p2"  # the only one not about droplets
    assert run(own, "-c", PROGRAM).split()[0] == "p1"
    heavy = ("torch", "pandas", "fastapi", "onnx", "tokenizers")
    assert run(own, "-c", f"import importlib.util as u; print([n for n in {heavy} if u.find_spec(n)])").strip() == "[]"


@pytest.mark.long
def test_the_wheel_and_what_it_needs_fit_into_430_mb(built: Path, tmp_path: Path) -> None:
    own = python(tmp_path / "clean")
    subprocess.run([own, "-m", "pip", "install", "--quiet", *built.glob("*.whl")], check=True, env=clean())
    files = [file.lstat() for file in (tmp_path / "clean").rglob("*")]
    assert sum(file.st_blocks * 512 for file in files) / 2**20 < 430  # as `du -sm` counts, pip and byte code included


def test_the_steps_of_the_container_are_known() -> None:
    for instruction, _ in steps((ROOT / "Containerfile").read_text(encoding="utf-8")):
        assert hasattr(Container, f"_{instruction.lower()}")


@pytest.mark.long
def test_the_steps_of_the_container_make_a_service(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    able = shutil.which("debootstrap") is not None and os.geteuid() == 0
    require("debootstrap", there=able, how="install debootstrap, and be root")
    made = Container(tmp_path / "root")
    request.addfinalizer(lambda: shutil.rmtree(made.folder))
    made.make((ROOT / "Containerfile").read_text(encoding="utf-8"))
    (tmp_path / "papers.csv").write_text(PAPERS)
    command = [sys.executable, "-m", "rankwell", "index", tmp_path / "papers.csv", "--out", tmp_path / "papers", "-q"]
    subprocess.run(command, check=True)
    shutil.copytree(tmp_path / "papers", made.folder / "index", dirs_exist_ok=True)  # a container would mount it
    port, said = free_port(), tmp_path / "said"
    with said.open("wb") as file:
        process = made.start(*made.entry, *made.command, "--port", str(port), stdout=file, stderr=file)
    server = Server(process, f"http://127.0.0.1:{port}", said)
    with stopped(server):
        wait_until(lambda: process.poll() is not None or answers(f"{server.url}/ready"), server.words)
        with urlopen(f"{server.url}/api/search?q=soap") as answer:  # noqa: S310 -- our own server
            assert [row["id"] for row in json.load(answer)["results"]] == ["p2"]
    assert process.returncode == 0


def answers(address: str) -> bool:
    try:
        with urlopen(address, timeout=5):  # noqa: S310 -- our own server
            return True
    except OSError:
        return False
