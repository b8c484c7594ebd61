"""The documentation site: every page is in it, it is built without a warning, and it works without any network."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser import chromium, new_page
from needs import require

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "website" / "build.py"


def pages(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from pages(part)


def build(*words: str, project: Path = ROOT) -> subprocess.CompletedProcess[str]:
    there = importlib.util.find_spec("zensical") is not None
    require("docs", there=there, how="pip install 'rankwell[docs]'")
    command = [sys.executable, str(project / "website" / "build.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site's sources elsewhere, so that a test leaves the real ones alone."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("docs", "website"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "zensical.toml", folder)
    return folder


def test_every_page_stands_in_the_navigation_once() -> None:
    project = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
    there = sorted(str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md"))
    assert sorted(pages(project["nav"])) == there


def test_every_room_is_in_the_picture() -> None:
    from test_architecture import MAY_IMPORT

    picture = (ROOT / "docs" / "rooms.svg").read_text(encoding="utf-8")
    assert [room for room in MAY_IMPORT if f">{room}</text>" not in picture] == []


def test_the_page_of_parameters_is_what_stages_declare() -> None:
    sys.path.insert(0, str(ROOT / "website"))
    from parameters import page

    assert (ROOT / "docs" / "parameters.md").read_text(encoding="utf-8") == page()


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_searched_from_the_disk(copy: Path) -> None:
    done = build(project=copy)
    assert done.returncode == 0, done.stdout + done.stderr
    with chromium() as browser, new_page(browser) as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto((copy / "site" / "index.html").as_uri())
        page.keyboard.press("/")
        box = page.get_by_role("combobox", name="Search")
        box.press_sequentially("interpolate")
        page.get_by_text("rankwell rerank").locator("visible=true").first.wait_for()
        assert not [address for address in asked if address.startswith(("http:", "https:", "//"))]


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "[nowhere](nowhere.md)",
        "[no place](evaluation.md#nowhere)",
        '<a href="nowhere.html">raw</a>',
        '<script src="https://example.org/x.js"></script>',
    ],
    ids=["link", "place", "html", "outside"],
)
def test_a_page_that_leads_nowhere_or_loads_from_outside_is_refused(copy: Path, tmp_path: Path, line: str) -> None:
    project = shutil.copytree(copy, tmp_path / "project")
    page = project / "docs" / "analysis.md"
    page.write_text(f"{page.read_text(encoding='utf-8')}\n\n{line}\n", encoding="utf-8")
    assert build(project=project).returncode != 0


PICTURES = sorted((ROOT / "docs" / "pictures").iterdir())
SHOWN_ON = {"comparison", "judging", "screening", "search-page"}


def test_pictures_are_small_and_shown_with_words_for_those_who_do_not_see_them() -> None:
    assert {picture.stem for picture in PICTURES} == SHOWN_ON
    pages = [page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]]
    for picture in PICTURES:
        assert picture.stat().st_size < 150_000
        shown = [re.search(rf"!\[([^\]]{{40,}})\]\((?:\.\./|docs/)?pictures/{picture.name}\)", page) for page in pages]
        assert any(shown), picture.name


@pytest.mark.slow
def test_pictures_can_be_taken_again(tmp_path: Path) -> None:
    with chromium():
        pass  # skips where there is none
    command = [sys.executable, str(ROOT / "website" / "pictures.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    assert {picture.stem for picture in tmp_path.iterdir()} == SHOWN_ON


def test_a_block_that_names_a_file_shows_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pymdownx")
    import markdown

    monkeypatch.syspath_prepend(str(ROOT / "website"))
    extensions = ["named_files", "pymdownx.highlight", "pymdownx.superfences"]
    shown = markdown.markdown("```csv papers.csv\nid,title\n```\n", extensions=extensions)
    assert "papers.csv</span>" in shown
    assert "id,title" in shown


def test_the_install_page_names_every_extra_for_users() -> None:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    ours = {"bench", "dev", "docs", "lint", "test", "test-all"}
    of_bridges = set(re.findall(r"[\w-]+", extras["bridges"][0].partition("[")[2]))
    missing = [name for name in extras if name not in ours | of_bridges and f"rankwell[{name}]" not in page]
    assert not missing
