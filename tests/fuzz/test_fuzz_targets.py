"""`make fuzz` feeds every format of files and every request, and its seeds are good ones."""

from __future__ import annotations

import logging
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from fuzz.targets import KINDS, place_of, seeds, targets
from rankwell.core import RankwellError


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_has_a_seed_that_it_reads(kind: str, tmp_path: Path) -> None:
    read, formats = KINDS[kind]
    (tmp_path / "read").mkdir()
    path, without = tmp_path / "read" / "x.txt", {known.name for known in formats}
    for seed in seeds(kind, tmp_path):
        path.write_bytes(seed)
        for name in sorted(without):
            try:
                without -= {name} if len(read(place_of(path, name), name)) else set()
            except RankwellError:
                continue
    assert without == set(), "add a file of this format to SEEDS in tests/fuzz/targets.py"


@pytest.mark.slow
def test_a_route_without_a_target_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from fuzz import requests

    monkeypatch.setattr(requests, "LEAVING", ())
    monkeypatch.setattr(requests, "_paths", lambda _: {})
    with ExitStack() as stack, pytest.raises(LookupError, match=r"no target for .*judging: POST /judge/{}/{}"):
        list(requests.request_targets(tmp_path, stack))


@pytest.mark.slow
def test_every_reader_and_every_request_takes_its_seeds(caplog: pytest.LogCaptureFixture) -> None:
    from fuzz.requests import request_targets
    from fuzz.run import attempt

    caplog.set_level(logging.CRITICAL)
    refused: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        for part in ("files", "web"):
            (Path(scratch) / part).mkdir()
        every = [*targets(Path(scratch) / "files"), *request_targets(Path(scratch) / "web", stack)]
        assert len({target.name for target in every}) == len(every)
        for target in every:
            for data in target.seeds:
                assert attempt(target, data, refused) is None, target.name
