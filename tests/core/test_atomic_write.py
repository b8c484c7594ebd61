from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rankwell.core import RankwellError, atomic_write


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_the_file_is_there_when_the_block_ends_and_not_before(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "f.txt"
    with atomic_write(path) as file:
        file.write(b"content")
        assert not path.exists()
    assert path.read_bytes() == b"content"
    assert names(path.parent) == ["f.txt"]


def test_a_reader_sees_the_old_content_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")
    with atomic_write(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("error", [ValueError("mine"), KeyboardInterrupt(), SystemExit(1)])
def test_a_failure_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")

    def write() -> None:
        with atomic_write(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(type(error)):
        write()
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["f"]


def test_an_interruption_just_after_the_file_was_made_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(path: Path, mode: str) -> None:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        raise KeyboardInterrupt(mode)

    monkeypatch.setattr(Path, "open", interrupted)
    with pytest.raises(KeyboardInterrupt), atomic_write(tmp_path / "f"):
        pytest.fail("the file was never opened")
    assert names(tmp_path) == []


def test_a_full_disk_is_one_clear_line_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")
    with pytest.raises(RankwellError) as caught, atomic_write(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert str(caught.value) == f"{path}: not written: No space left on device"
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["f"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_device_that_is_full_is_one_clear_line() -> None:
    expected = r"^/dev/full: not written: No space left on device$"
    with pytest.raises(RankwellError, match=expected), atomic_write("/dev/full") as file:
        file.write(b"x")


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="there is no /dev/null here")
def test_what_is_no_file_is_written_to_and_not_replaced() -> None:
    with atomic_write("/dev/null") as file:
        file.write(b"gone")
    assert Path("/dev/null").is_char_device()


def test_a_reading_error_inside_the_block_is_not_taken_for_a_writing_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "f"):
        (tmp_path / "missing").read_bytes()
    assert names(tmp_path) == []


def test_a_folder_in_the_place_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RankwellError, match="expected a place for a file, found a folder"), atomic_write(tmp_path):
        pytest.fail("the block must not run")


def test_a_file_where_a_folder_should_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"")
    with pytest.raises(RankwellError, match="cannot write here"), atomic_write(tmp_path / "f" / "g"):
        pytest.fail("the block must not run")


def test_a_read_only_folder_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "open", refuse)  # root may write everywhere, so the folder alone would not do
    with pytest.raises(RankwellError) as caught, atomic_write(tmp_path / "f"):
        pytest.fail("the block must not run")
    assert str(caught.value) == f"{tmp_path / 'f'}: cannot write here: Permission denied"


def test_a_new_file_has_the_usual_mode_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    usual, private = tmp_path / "usual", tmp_path / "private"
    (tmp_path / "reference").touch()
    private.touch(mode=0o600)
    private.chmod(0o600)
    for path in (usual, private):
        with atomic_write(path) as file:
            file.write(b"x")
    assert usual.stat().st_mode == (tmp_path / "reference").stat().st_mode
    assert private.stat().st_mode & 0o777 == 0o600


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("target")
    with atomic_write(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


def test_the_longest_name_that_a_folder_can_hold_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 255)
    with atomic_write(path) as file:
        file.write(b"x")
    assert names(tmp_path) == [path.name]


WRITER = """
import signal, sys
from rankwell.core import atomic_write
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job is started with Ctrl-C ignored
with atomic_write(sys.argv[1]) as file:
    file.write(b"half of the new content")
    file.flush()
    print("writing", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_kill_while_writing_leaves_the_old_file(tmp_path: Path, number: signal.Signals) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")
    command = [sys.executable, "-c", WRITER, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **pipes) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"writing\n"
        writer.send_signal(number)
    assert path.read_bytes() == b"old"
    left = [name for name in names(tmp_path) if name != "f"]
    # Nobody can tidy up after a SIGKILL; what it leaves is hidden and not taken for a file of ours.
    assert all(name.startswith(".f.") and name.endswith(".part") for name in left)
    assert number != signal.SIGINT or left == []
