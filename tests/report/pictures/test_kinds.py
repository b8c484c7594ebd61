from __future__ import annotations

import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwell.core import ParameterError
from rankwell.report.pictures import Line, bars, columns, histogram, lines, stacked_bars
from rankwell.report.pictures.bars import MOST_COLUMNS, _thinned
from rankwell.report.pictures.curves import _bins, _checked, _median
from rankwell.report.pictures.style import figure_text, words

pytest.importorskip("matplotlib")


def test_histogram_says_how_much_lies_beyond_the_limit() -> None:
    picture = histogram([100, 200, 512, 513], title="Tokens", x="tokens", limit=512)
    assert picture.alt == "Tokens: 4 documents, mean 331.2, median 356, largest 513 tokens, 25 % over 512."
    assert ">25 % over 512</text>" in picture.svg()


def test_a_limit_far_out_of_sight_is_said_without_a_line() -> None:
    picture = histogram([3, 4, 5], title="Tokens", x="tokens", limit=512)
    assert ">none over 512</text>" in picture.svg()
    assert picture.figure.axes[0].get_xlim()[1] < 10


def test_a_long_tail_gets_a_logarithmic_axis() -> None:
    assert histogram([5, 6, 7, 9000], title="Words", x="words").figure.axes[0].get_xscale() == "log"
    assert histogram([5, 6, 7, 9], title="Words", x="words").figure.axes[0].get_xscale() == "linear"
    assert histogram([0, 6, 7, 9000], title="Words", x="words").figure.axes[0].get_xscale() == "linear"


def test_a_logarithmic_axis_for_zero_is_refused() -> None:
    with pytest.raises(ParameterError, match="above 0"):
        histogram([0, 1], title="Words", x="words", log=True)


def test_counts_stand_for_repeated_values() -> None:
    repeated = histogram([2, 2, 2, 7], title="Words", x="words")
    counted = histogram([2, 7], counts=[3, 1], title="Words", x="words")
    assert counted.alt == repeated.alt == "Words: 4 documents, mean 3.2, median 2, largest 7 words."


@pytest.mark.parametrize("values", [[], [float("nan")], [float("inf")]])
def test_a_histogram_of_nothing_is_refused(values: list[float]) -> None:
    with pytest.raises(ParameterError, match="at least one number"):
        histogram(values, title="Words", x="words")


@given(st.lists(st.integers(-1000, 1000), min_size=1))
def test_marked_median_equals_the_textbook_one(values: list[int]) -> None:
    distinct, counts = np.unique(values, return_counts=True)
    assert _median(*_checked(distinct, counts)) == statistics.median(values)


@given(st.lists(st.integers(0, 5000), min_size=1))
def test_every_value_falls_into_a_bin(values: list[int]) -> None:
    numbers, weights = _checked(values, None)
    assert np.histogram(numbers, _bins(numbers, logarithmic=False), weights=weights)[0].sum() == len(values)


@given(st.lists(st.integers(1, 10**6), min_size=1))
def test_every_value_falls_into_a_logarithmic_bin(values: list[int]) -> None:
    numbers, weights = _checked(values, None)
    assert np.histogram(numbers, _bins(numbers, logarithmic=True), weights=weights)[0].sum() == len(values)


def test_bars_are_read_out_with_their_series() -> None:
    picture = bars(["title", "body"], {"all": [99.9, 26.2], "judged": [100, 69.9]}, title="Fields", x="%", unit=" %")
    assert picture.alt == "Fields: title 99.9 % (all), 100 % (judged); body 26.2 % (all), 69.9 % (judged)."


def test_a_series_of_another_length_is_refused() -> None:
    with pytest.raises(ParameterError, match="series all: expected 2 amounts"):
        bars(["title", "body"], {"all": [1]}, title="Fields", x="%")


def test_years_are_written_without_a_comma() -> None:
    svg = columns({2019: 3, 2020: 5}, title="Years", x="year").svg()
    assert ">2020</text>" in svg
    assert "2,020" not in svg


def test_columns_say_where_most_are() -> None:
    assert (
        "year from 2019 to 2021, most of them (5) at 2020"
        in columns({2019: 3, 2020: 5, 2021: 1}, title="Years", x="year").alt
    )


@pytest.mark.parametrize("topics", [2, 50, 300, 7000])
def test_any_number_of_topics_makes_a_picture_of_bounded_size(topics: int) -> None:
    amounts = {f"grade {grade}": list(range(topics)) for grade in range(3)}
    picture = stacked_bars([str(n) for n in range(topics)], amounts, title="Grades", x="topics", y="judgments")
    assert len(picture.svg()) < 120_000


@settings(deadline=None)
@given(st.integers(MOST_COLUMNS + 1, 3 * MOST_COLUMNS))
def test_thinned_columns_keep_an_even_height(columns_before: int) -> None:
    thinned = _thinned(np.full((2, columns_before), 7.0))
    assert thinned.shape == (2, MOST_COLUMNS)
    assert thinned == pytest.approx(np.full((2, MOST_COLUMNS), 7.0))


def test_lines_are_read_out_with_their_highest_point() -> None:
    curve = Line("BM25", [10, 20, 30], [0.5, 0.7, 0.6], low=[0.4, 0.6, 0.5], high=[0.6, 0.8, 0.7])
    picture = lines([curve, Line("random", [10, 20], [0, 0])], title="Depth", x="k", y="nDCG@10", level=0)
    assert "BM25 goes from 0.5 to 0.6, highest 0.7 at 20" in picture.alt
    assert ">BM25</text>" in picture.svg()


@pytest.mark.parametrize("letters", [2, 20, 60])
@pytest.mark.parametrize("runs", [2, 9, 16])
def test_legends_and_titles_of_many_and_long_names_stay_inside_the_picture(runs: int, letters: int) -> None:
    names = [f"{number} {'x' * letters}"[:letters] + f"{number}" for number in range(runs)]
    series = {name: [1.0, 2.0] for name in names}
    curves = [Line(name, [0, 1], [0, 1]) for name in names]
    for picture in (
        bars(["a", "b"], series, title=" ".join(names), x="queries"),
        lines(curves, title=" ".join(names), x="x", y="y"),
    ):
        axes, (legend,) = picture.figure.axes[0], picture.figure.legends
        box, edge = legend.get_window_extent(), picture.figure.bbox
        assert len(legend.get_texts()) == runs
        assert box.x1 <= edge.x1
        assert box.y0 >= edge.y0
        assert axes._left_title.get_window_extent().x1 <= edge.x1
        assert axes.bbox.height > 80  # dots, of which an inch has 100: the axes are not squeezed by their words


def test_more_series_than_colours_are_told_apart_by_hatches() -> None:
    picture = bars(["a"], {str(number): [1.0] for number in range(9)}, title="t", x="x")
    looks = {(patch.get_facecolor(), patch.get_hatch()) for patch in picture.figure.axes[0].patches}
    assert len(looks) == 9


def test_half_a_band_is_refused() -> None:
    with pytest.raises(ParameterError, match="both ends of the band"):
        Line("BM25", [1], [1], low=[0])


def test_numbers_are_written_as_people_read_them() -> None:
    assert [figure_text(value) for value in (1234567, 12.5, 100.0, 0.04, 0)] == ["1,234,567", "12.5", "100", "0", "0"]


def test_long_words_are_cut() -> None:
    assert words("x" * 100, 10) == "x" * 9 + "…"
