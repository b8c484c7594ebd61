from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from rankwell.core import ParameterError, Pipeline, Queries, RankwellError, Run, Stage, Top

CALLS: list[str] = []


@dataclass(frozen=True)
class Fixed(Stage):
    """Every query finds the same documents."""

    docnos: tuple[str, ...] = ("a", "b", "c")

    def apply(self, run: Run) -> Run:
        CALLS.append("fixed")
        return Run.from_dict(
            {qid: {d: float(i) for i, d in enumerate(self.docnos)} for qid in run}, queries=run.queries
        )


@dataclass(frozen=True)
class Scale(Stage):
    """Scores times a factor."""

    k: float = -1.0

    def apply(self, run: Run) -> Run:
        return run.with_scores(run.scores * self.k)


@dataclass(frozen=True)
class Missing(Stage):
    """A stage that cannot work."""

    what: str = "vectors"

    def apply(self, run: Run) -> Run:
        return run

    def check(self) -> None:
        raise RankwellError(f"no {self.what}")


@dataclass(frozen=True)
class Around(Stage):
    """A stage that has another one as a parameter."""

    inner: Stage
    options: dict[str, float] = field(default_factory=dict)

    def apply(self, run: Run) -> Run:
        return self.inner.apply(run)


@pytest.mark.parametrize("given", ["words", ["words"], {"1": "words"}, Queries.of("words")])
def test_a_stage_takes_queries_in_any_shape(given: str | list[str] | dict[str, str] | Queries) -> None:
    run = Fixed()(given)
    assert run.to_dict() == {"1": {"c": 2.0, "b": 1.0, "a": 0.0}}
    assert run.queries is not None
    assert run.queries.texts() == {"1": "words"}


def test_stages_are_put_together_with_arrows_or_words() -> None:
    arrows = Fixed() >> Scale() >> Top(2)
    assert arrows == Fixed().then(Scale()).then(Top(2)) == (Fixed() >> Scale()).top(2)
    assert arrows("x").to_dict() == {"1": {"a": 0.0, "b": -1.0}}


def test_putting_together_does_not_care_about_brackets() -> None:
    assert (Fixed() >> Scale()) >> Top(1) == Fixed() >> (Scale() >> Top(1))


def test_the_order_of_stages_matters() -> None:
    assert (Fixed().top(1) >> Scale())("x").to_dict() == {"1": {"c": -2.0}}
    assert (Fixed() >> Scale()).top(1)("x").to_dict() == {"1": {"a": 0.0}}


def test_a_pipeline_explains_itself_a_line_a_step() -> None:
    assert (Fixed(("z",)) >> Scale(0.5)).top(3).explain().splitlines() == [
        "1. Fixed(docnos=('z',))",
        "2. Scale(k=0.5)",
        "3. Top(k=3)",
    ]


def test_every_stage_is_checked_before_the_first_one_runs() -> None:
    CALLS.clear()
    with pytest.raises(RankwellError, match="no vectors"):
        (Fixed() >> Missing())("x")
    assert CALLS == []


def test_an_empty_pipeline_gives_what_it_got() -> None:
    run = Fixed()("x")
    assert Pipeline(())(run) is run


def test_top_wants_at_least_one_document() -> None:
    with pytest.raises(ParameterError, match="at least 1, found 0"):
        Fixed().top(0)


def test_fingerprints_are_equal_for_equal_configurations() -> None:
    assert (Fixed() >> Top(3)).fingerprint() == Fixed().top(3).fingerprint()
    assert Around(Top(3), {"a": 1, "b": 2}).fingerprint() == Around(Top(3), {"b": 2, "a": 1}).fingerprint()


@pytest.mark.parametrize(
    "other",
    [
        Around(Top(4)),
        Around(Scale(3)),  # another class with a parameter of the same name and value
        Around(Top(3), {"x": 1.0}),
        Around(Around(Top(3))),
        Top(3),
    ],
)
def test_fingerprints_differ_by_class_and_parameter_at_every_depth(other: Stage) -> None:
    assert Around(Top(3)).fingerprint() != other.fingerprint()


def test_a_new_version_of_an_algorithm_has_a_new_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Around(Top(3)).fingerprint()
    monkeypatch.setattr(Top, "version", 2)
    assert Around(Top(3)).fingerprint() != before


def test_a_stage_shows_its_parameters() -> None:
    assert Scale(0.5).parameters() == {"k": 0.5}
