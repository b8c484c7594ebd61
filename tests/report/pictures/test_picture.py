from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from xml.dom import minidom

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwell.core import MissingExtraError, ParameterError
from rankwell.report.pictures import Picture, bars, histogram

pytest.importorskip("matplotlib")

HOSTILE = 'a<b>&"c" $x_1$ $\\frac{ \x00\x1b[31m \n id="z" url(#q) 日本 \ud800'


def small(title: str = "Words in title") -> Picture:
    return histogram([3, 4, 4, 9], title=title, x="words")


def parsed(svg: str) -> minidom.Document:
    return minidom.parseString(svg.encode())  # noqa: S318  our own SVG, which must be well-formed


def test_importing_plots_does_not_load_matplotlib() -> None:
    code = "import sys, rankwell.report.pictures; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_missing_matplotlib_is_told_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"rankwell\[plots\]"):
        small()


def test_no_global_figure_is_left_behind() -> None:
    small().svg()
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()


def test_the_settings_of_other_code_neither_change_a_picture_nor_are_changed_by_it() -> None:
    import matplotlib as mpl

    before = small().svg()
    with mpl.rc_context({"font.size": 30, "axes.grid": False}):
        assert small().svg() == before
        assert mpl.rcParams["font.size"] == 30


@pytest.mark.parametrize("kind", ["svg", "png", pytest.param("pdf", marks=pytest.mark.slow)])
def test_same_input_gives_the_same_bytes_in_every_format(tmp_path: Path, kind: str) -> None:
    one, other = tmp_path / f"one.{kind}", tmp_path / f"other.{kind}"
    picture = small()
    picture.save(one)
    first = one.read_bytes()
    picture.save(one)
    small().save(other)
    assert first == one.read_bytes() == other.read_bytes()


def test_svg_is_one_element_with_title_and_description() -> None:
    root = parsed(small().svg()).documentElement
    assert root is not None
    assert root.tagName == "svg"
    assert root.getAttribute("role") == "img"
    named = {node.getAttribute("id"): node for node in root.getElementsByTagName("*") if node.hasAttribute("id")}
    title, description = (named[name].firstChild.data for name in root.getAttribute("aria-labelledby").split())
    assert title == "Words in title"
    assert description == "Words in title: 4 documents, mean 5, median 4, largest 9 words."


def test_svg_keeps_words_as_words() -> None:
    assert ">words</text>" in small().svg()


def test_svg_refers_to_nothing_outside_itself() -> None:
    svg = small().svg()
    for name in ('xmlns="', 'xmlns:xlink="'):
        svg = svg.replace(name + svg.split(name)[1].split('"')[0], "")
    assert "http" not in svg
    assert "<!DOCTYPE" not in svg


def test_names_in_two_pictures_do_not_clash() -> None:
    def names(picture: Picture) -> set[str]:
        document = parsed(picture.svg())
        return {node.getAttribute("id") for node in document.getElementsByTagName("*")} - {""}

    assert not names(small()) & names(small("Words in abstract"))


def test_every_reference_in_an_svg_has_its_target() -> None:
    document = parsed(small().svg())
    nodes = document.getElementsByTagName("*")
    targets = {"#" + node.getAttribute("id") for node in nodes}
    assert {node.getAttribute("xlink:href") for node in nodes if node.tagName == "use"} <= targets


def test_hostile_words_are_only_words(tmp_path: Path) -> None:
    picture = bars([HOSTILE, "b"], {HOSTILE: [1, 2], "second": [2, 3]}, title=HOSTILE, x=HOSTILE)
    svg = picture.svg()
    parsed(svg)
    assert "$x_1$" in svg
    assert 'id="z"' in svg.replace("&quot;", '"')
    picture.save(tmp_path / "hostile.png")
    picture.save(tmp_path / "hostile.pdf")


@settings(max_examples=8)
@given(st.text(max_size=30))
def test_any_label_gives_well_formed_svg(label: str) -> None:
    parsed(bars([label], {"n": [1]}, title=label, x=label).svg())


def test_another_suffix_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"\.pdf, \.png or \.svg"):
        small().save(tmp_path / "picture.gif")
    assert not list(tmp_path.iterdir())


def test_threads_draw_the_same_picture_as_one_alone() -> None:
    expected, found = small().svg(), []
    threads = [threading.Thread(target=lambda: found.append(small().svg())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4
