"""The doctor tells what is here, what is missing and the way out; a broken machine does not break the doctor."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from rankwell.doctor import checkup, examine
from rankwell.doctor.checkup import EXTRAS, is_older, parse_requirements
from rankwell.doctor.machine import BROKEN, GOOD, NOTE, Finding, core_share, folder_size, int8_products, memory_limit

ROOT = Path(__file__).parents[2]
NOT_FOR_USERS = {"bridges", "all", "bench", "dev", "docs", "lint", "test", "test-all"}


def rankwell(*words: str, **extra: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rankwell", "doctor", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **extra})


def finding(section: str, name: str) -> Finding:
    found = next(part for part in examine().sections if part.title == section)
    return next(fact for fact in found.findings if fact.name == name)


def test_a_healthy_machine_is_called_so() -> None:
    done = rankwell()
    assert done.returncode == 0, done.stdout
    assert "Rankwell can do its work here." in done.stdout
    assert "python" in done.stdout


def test_json_has_the_same_for_programs() -> None:
    found = json.loads(rankwell("--json").stdout)
    assert found["ok"] is True
    assert found["versions"]["python"]["value"] == ".".join(map(str, sys.version_info[:3]))
    assert found["machine"]["cores"]["value"] >= 1
    assert found["home"]["folder"]["value"] == os.environ["RANKWELL_HOME"]


def test_a_home_that_is_a_file_is_broken_and_has_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = rankwell(RANKWELL_HOME=str(tmp_path / "file"))
    assert done.returncode == 1
    assert "broken: folder:" in done.stdout
    assert "set RANKWELL_HOME to a folder that you may write to" in done.stdout
    assert "Traceback" not in done.stderr + done.stdout


def test_a_home_below_a_file_is_broken_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RANKWELL_HOME", str(tmp_path / "file" / "home"))
    assert finding("Home", "folder").state == BROKEN


def test_a_home_that_is_not_there_yet_is_fine_and_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKWELL_HOME", str(tmp_path / "later" / "home"))
    assert finding("Home", "folder").state == GOOD
    assert not (tmp_path / "later").exists()


def test_a_home_that_cannot_be_written_to_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKWELL_HOME", "/proc/rankwell" if Path("/proc").is_dir() else "/dev/null/home")
    assert finding("Home", "folder").state == BROKEN


def test_no_model_is_worth_a_note_and_nothing_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKWELL_HOME", str(tmp_path))
    assert finding("Models", "none").state == NOTE
    assert not examine().broken


def test_models_are_told_with_what_each_can_do(use_models: None) -> None:  # noqa: ARG001 -- a home with models
    assert "search --rerank ms-marco-minilm-l12" in str(finding("Models", "ms-marco-minilm-l12"))
    assert "encode --model minilm-l6" in str(finding("Models", "minilm-l6"))


@pytest.mark.parametrize("damage", ["weights", "tokenizer", "record"])
def test_a_damaged_model_is_found(damage: str, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKWELL_HOME", str(tmp_path))
    copy = shutil.copytree(models / "minilm-l6", tmp_path / "models" / "minilm-l6")
    if damage == "weights":
        for file in [*copy.rglob("*.onnx"), *copy.rglob("*.safetensors"), *copy.rglob("*.bin")]:
            file.unlink()
    else:
        (copy / {"tokenizer": "tokenizer.json", "record": "rankwell.json"}[damage]).write_text("{")
    found = finding("Models", "minilm-l6")
    assert found.state == BROKEN
    assert found.way_out == "rankwell models remove minilm-l6, then rankwell models add minilm-l6"


def test_a_part_that_cannot_be_looked_at_is_said_and_the_others_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def falls_over() -> list[Finding]:
        raise OSError("the disk is on fire")

    monkeypatch.setattr(checkup, "LOOKS", (("Home", falls_over), *checkup.LOOKS[:1]))
    found = examine()
    assert "the disk is on fire" in str(found.broken[0])
    assert found.sections[1].title == "Versions"


def test_every_extra_that_users_may_want_is_explained() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(EXTRAS) == set(project["optional-dependencies"]) - NOT_FOR_USERS


def test_a_missing_extra_is_worth_a_note_with_the_way_to_get_it() -> None:
    lines = list(parse_requirements(["no-such-package>=1; extra == 'inner'", "rankwell[inner]; extra == 'outer'"]))
    found = checkup._extra("outer", "something more", lines)
    assert (found.state, found.way_out) == (NOTE, "pip install 'rankwell[outer]'")
    assert str(found) == "something more: not here (no-such-package)"


def test_requirements_are_read_as_packages_publish_them() -> None:
    lines = [
        "numpy>=2.1",
        "matplotlib>=3.9; extra == 'plots'",
        'rankwell[plots,web]; extra == "assess"',
        "psycopg[binary]>=3.2",
    ]
    assert [tuple(found) for found in parse_requirements(lines)] == [
        ("numpy", (), "2.1", ""),
        ("matplotlib", (), "3.9", "plots"),
        ("rankwell", ("plots", "web"), "", "assess"),
        ("psycopg", ("binary",), "3.2", ""),
    ]


@pytest.mark.parametrize(
    ("here", "least", "older"),
    [("2.1", "2.1", False), ("2.1.0", "2.1", False), ("1.9.9", "1.10", True), ("0.60.0rc1", "0.60", False)],
)
def test_versions_are_compared_by_their_numbers(here: str, least: str, older: bool) -> None:
    assert is_older(here, least) is older


@pytest.mark.parametrize(
    ("architecture", "features", "value", "words"),
    [
        ("x86_64", {"avx2", "avx512vnni"}, "vnni", "VNNI: sums are exact"),
        ("AMD64", {"avx2", "avxvnni"}, "vnni", "VNNI: sums are exact"),
        ("x86_64", {"avx2"}, "avx2", "saturate at 16 bits; the weights of Rankwell's int8 models keep below"),
        ("x86_64", {"sse4.2"}, None, "neither VNNI nor AVX2: int8 scores differ"),
        ("aarch64", {"neon", "dotprod"}, None, "not tried on aarch64"),
    ],
)
def test_it_is_said_how_this_processor_multiplies_bytes(
    architecture: str, features: set[str], value: str | None, words: str
) -> None:
    found = int8_products(architecture, features)
    assert found.value == value
    assert words in str(found)


def test_the_kernel_of_vector_search_is_named() -> None:
    assert finding("Machine", "vector search").value in {"vnni", "avx2", "plain"}


def test_what_a_container_may_use_is_read(tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    (tmp_path / "memory.max").write_text("1073741824\n")
    (tmp_path / "unlimited").write_text("max 100000\n")
    assert core_share(tmp_path / "cpu.max") == 1.5
    assert memory_limit(tmp_path / "memory.max") == 1 << 30
    assert core_share(tmp_path / "unlimited") is None
    assert memory_limit(tmp_path / "unlimited") is None
    assert core_share(tmp_path / "not there") is None


def test_the_size_of_a_folder_is_that_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "file").write_bytes(b"12345")
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    assert folder_size(tmp_path) == 5
    assert folder_size(tmp_path / "not there") is None


def test_a_package_that_does_not_load_is_broken_and_named(tmp_path: Path) -> None:
    (tmp_path / "onnxruntime.py").write_text("raise ImportError('libfoo.so: cannot open shared object file')")
    program = "import sys; sys.path.insert(0, sys.argv[1]); import rankwell.doctor.checkup as p\n"
    program += "print([(f.name, str(f), f.way_out) for f in p.packages() if f.state == 'broken'])"
    command = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "libfoo.so: cannot open shared object file" in done.stdout
    assert "pip install --force-reinstall 'onnxruntime>=" in done.stdout
