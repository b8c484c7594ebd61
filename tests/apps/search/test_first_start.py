"""A server answers from its start, on a machine where no kernel is compiled yet."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from serving_api import make_index

# A process of its own, because other tests have loaded the kernels into this one. Nothing is compiled before `gate`
# is opened; what is printed is what a client and the process itself see.
BEFORE = """
import sys, threading, time
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from serving_api import served, settings_for
from rankwell.core import home
from rankwell.index.compiled import kernels
from rankwell.apps.search.process import KernelLoader

gate, begun = threading.Event(), threading.Event()
compile_now = KernelLoader._compile

def wait(self):
    begun.set()
    gate.wait()
    compile_now(self)

KernelLoader._compile = wait

def files():
    return len(list((home() / "kernels").rglob("*.nb[ic]")))

def search(client, match):
    found = client.get("/api/search", params={"q": "droplets masks", "match": match}).json()
    return [(row["id"], row["score"]) for row in found["results"]]

with served(settings_for(Path(sys.argv[1]), timeout=60.0)) as client:
    begun.wait()
    first = [search(client, match) for match in ("or", "and")]
    print(len(first[0]), len(first[1]), kernels.module in sys.modules, files(), client.get("/ready").status_code)
"""
AFTER = """    gate.set()
    while client.get("/ready").status_code != 200:
        time.sleep(0.1)
    again = [search(client, match) for match in ("or", "and")]
    print(first == again, kernels.loaded, kernels.complete)
"""
CLOSED = """    client.site.service.searcher.close()
    gate.set()
"""


def printed(program: str, index: Path, home: Path) -> list[str]:
    command = [sys.executable, "-c", program, str(index), str(Path(__file__).parent)]
    environment = {**os.environ, "RANKWELL_HOME": str(home)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_search_is_answered_before_any_kernel_is_compiled(tmp_path: Path) -> None:
    index = make_index(tmp_path / "index")
    assert printed(BEFORE + CLOSED, index, tmp_path / "home") == ["3 1 False 0 503"]
    assert not list((tmp_path / "home").rglob("*.nb[ic]"))


@pytest.mark.slow
def test_when_kernels_are_compiled_searches_find_the_same(tmp_path: Path) -> None:
    index = make_index(tmp_path / "index")
    assert printed(BEFORE + AFTER, index, tmp_path / "home") == ["3 1 False 0 503", "True True True"]
