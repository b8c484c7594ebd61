"""Take the pictures of the pages in docs/pictures: each page is served from the bundled collection and photographed.

    python website/pictures.py [FOLDER]

It needs Chromium, and the extra `test-all`.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

ROOT = Path(__file__).parents[1]
PICTURES = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures"
LARGEST = 150_000  # bytes
WIDTH, HEIGHT = 1100, 760
STUDY = """
title = "Which answer is it?"
queries = "queries.tsv"
collection = "rankwell:python"
runs = ["asked.trec"]
depth = 5
assessors_per_query = 1
ask_english = false
"""


def rankwell(folder: Path, *words: str) -> str:
    """Run a command in the folder; what it printed."""
    command = [sys.executable, "-m", "rankwell", *words]
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


@contextmanager
def server(folder: Path, *words: str) -> Iterator[tuple[str, Path]]:
    """A server of ours while the block runs: its address, and the file of what it prints."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    said = folder / "said.txt"
    with said.open("wb") as file:
        command = [sys.executable, "-m", "rankwell", *words, "--port", str(port)]
        process = subprocess.Popen(command, cwd=folder, stdout=file, stderr=file)
    address = f"http://127.0.0.1:{port}"
    try:
        while process.poll() is None and not _answers(address):
            time.sleep(0.1)
        yield address, said
    finally:
        process.terminate()
        process.wait()


def _answers(address: str) -> bool:
    try:
        with urlopen(f"{address}/favicon.ico", timeout=5):  # noqa: S310 -- our own server
            return True
    except OSError:
        return False


def take(page: Any, name: str, width: int = WIDTH, height: int = HEIGHT) -> None:
    """Write what the page shows to docs/pictures/NAME.png, in few colours so that it is small."""
    from PIL import Image

    page.set_viewport_size({"width": width, "height": height})
    file = PICTURES / f"{name}.png"
    page.screenshot(path=str(file))
    Image.open(file).convert("RGB").quantize(64, dither=Image.Dither.NONE).save(file, optimize=True)
    if file.stat().st_size > LARGEST:
        sys.exit(f"{file}: expected at most {LARGEST:,} bytes, found {file.stat().st_size:,}")
    print(f"{file}: {file.stat().st_size:,} bytes")


def search_page(folder: Path, page: Any) -> None:
    """Results with filters and highlighted words."""
    with server(folder, "serve", "python") as (address, _):
        page.goto(f"{address}/?q=read+a+file+line+by+line")
        page.wait_for_load_state("networkidle")
        take(page, "search-page")


def comparison_page(folder: Path, page: Any) -> None:
    """The verdict of `rankwell compare`."""
    rankwell(
        folder, "rank", "python", "rankwell:python", "-o", "titles.trec", "-k", "100", "--weights", "title=1", "-q"
    )
    runs = ("titles.trec", "bm25.trec", "rm3.trec")
    rankwell(folder, "compare", "rankwell:python", *runs, "-m", "nDCG@10", "-m", "RR@10", "--html", "verdict.html")
    page.goto((folder / "verdict.html").as_uri())
    take(page, "comparison", 1200, 1000)


def judging_page(folder: Path, page: Any) -> None:
    """A passage in front of an assessor."""
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    (folder / "queries.tsv").write_text("q1\tsplit a path into folder and file\n", encoding="utf-8")
    rankwell(folder, "rank", "python", "queries.tsv", "-o", "asked.trec", "-k", "5", "-q")
    rankwell(folder, "assess", "create", "study.toml", "-o", "study.db", "-q")
    said = rankwell(folder, "assess", "invite", "study.db")
    with server(folder, "assess", "serve", "study.db") as (address, _):
        page.goto(f"{address}/join?code={said.split()[-1]}")
        for words in ("Join", "Go on"):
            page.click(f"text={words}")
        page.check("input[name=agreed]")
        page.click("main button")
        page.click("text=Get my first queries")
        page.wait_for_selector("form.answer")
        take(page, "judging")


def screening_page(folder: Path, page: Any) -> None:
    """A record in front of a reviewer."""
    words = ("review", "screen", "review.db", "--import", "rankwell:python", "--title", "Dates and times")
    with server(folder, *words, "--reviewer", "Ada") as (_, said):
        link = re.search(r"http://\S+", said.read_text(encoding="utf-8"))
        page.goto(link[0] if link else "")
        page.click("text=Begin to screen")
        for key in "iiieee":
            page.wait_for_selector("form.decide")
            page.wait_for_load_state("networkidle")
            page.wait_for_timeout(300)  # a key that comes sooner belongs to the record before
            with page.expect_response(lambda response: response.request.method == "POST"):
                page.keyboard.press(key)
            page.wait_for_selector("main:not([aria-busy])")
        take(page, "screening")


def main() -> None:
    """Take all pictures."""
    from playwright.sync_api import sync_playwright

    PICTURES.mkdir(exist_ok=True)
    program = os.environ.get("RANKWELL_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        folder = Path(scratch)
        rankwell(folder, "index", "rankwell:python", "--out", "python", "-q")
        rankwell(folder, "rank", "python", "rankwell:python", "-o", "bm25.trec", "-k", "100", "-q")
        rankwell(folder, "rank", "python", "rankwell:python", "-o", "rm3.trec", "-k", "100", "--rm3", "-q")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page = context.new_page()
        for picture in (search_page, comparison_page, judging_page, screening_page):
            picture(folder, page)
        browser.close()


if __name__ == "__main__":
    main()
