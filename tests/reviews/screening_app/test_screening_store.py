from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from screening_projects import make_project, references

from rankwell.collections.tagged import write_nbib, write_ris
from rankwell.core import ParameterError, RankwellError
from rankwell.reviews import Reference
from rankwell.reviews.screening.decisions import Answer, agreement
from rankwell.reviews.screening.files import read_records
from rankwell.reviews.screening.ranking import LiveRanking
from rankwell.reviews.screening.store import ProjectSettings, open_project

INCLUDE, EXCLUDE, MAYBE = Answer.INCLUDE, Answer.EXCLUDE, Answer.MAYBE


def test_a_project_is_as_it_was_when_it_is_opened_again(address: str) -> None:
    with make_project(address, reviewers=("Ada", "Ben")) as project:
        project.decisions.decide(1, 3, EXCLUDE, "outcome", "no depression scale")
        project.change(ProjectSettings("Other title", "Adults only.", ("age", "design")))
        key = project.key
    with open_project(address) as project:
        assert project.key == key
        assert project.settings == ProjectSettings("Other title", "Adults only.", ("age", "design"))
        assert [reviewer.name for reviewer in project.reviewers()] == ["Ada", "Ben"]
        assert project.decisions.of(1)[3][1:] == (EXCLUDE, "outcome", "no depression scale")
        assert [record.reference for record in project.records.all()] == references()


def test_a_decision_is_changed_and_undone_step_by_step_and_all_stays_in_the_history(address: str) -> None:
    with make_project(address) as project:
        decisions = project.decisions
        decisions.decide(1, 2, INCLUDE)
        decisions.decide(1, 5, MAYBE)
        decisions.decide(1, 2, EXCLUDE, "outcome")
        assert [(one.record, one.answer) for one in decisions.of(1).values()] == [(2, EXCLUDE), (5, MAYBE)]
        assert decisions.undo(1) == 2
        assert decisions.of(1)[2].answer is INCLUDE
        assert decisions.undo(1) == 5
        assert decisions.undo(1) == 2
        assert decisions.undo(1) is None
        assert decisions.of(1) == {}
        assert decisions.history() == 3


def test_what_another_program_changes_is_seen_at_once(address: str) -> None:
    with (
        make_project(address, [*references(6), references(1)[0]]) as one,
        open_project(address) as two,
    ):
        one.decisions.decide(1, 2, INCLUDE)
        assert list(one.decisions.of(1)) == list(two.decisions.of(1)) == [2]
        two.decisions.decide(1, 3, EXCLUDE)
        one.decisions.decide(1, 4, EXCLUDE)
        assert list(one.decisions.of(1)) == list(two.decisions.of(1)) == [2, 3, 4]
        one.decisions.decide(1, 2, MAYBE)
        assert two.decisions.of(1)[2].answer is one.decisions.of(1)[2].answer is MAYBE
        assert list(one.decisions.of(1)) == [2, 3, 4]  # a second look does not change when the first was
        two.decisions.undo(1)
        assert one.decisions.of(1)[2].answer is INCLUDE
        two.duplicates.judge(1, 7, same=False)
        one.decisions.decide(1, 7, INCLUDE)
        assert 7 in two.decisions.of(1)
        two.duplicates.judge(1, 7, same=True)
        assert 7 not in one.decisions.of(1)


def test_decisions_of_many_threads_are_all_kept(address: str) -> None:
    with make_project(address, references(40), ("Ada", "Ben")) as project:

        def decide(place: int) -> None:
            project.decisions.decide(place % 2 + 1, place // 2 + 1, INCLUDE if place % 3 else EXCLUDE)
            assert place // 2 + 1 in project.decisions.of(place % 2 + 1)

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(decide, range(80)))
        with open_project(address) as fresh:
            for reviewer in (1, 2):
                assert project.decisions.of(reviewer) == fresh.decisions.of(reviewer)
                assert len(fresh.decisions.of(reviewer)) == 40


def test_only_an_exclusion_has_a_reason(address: str) -> None:
    with make_project(address) as project:
        project.decisions.decide(1, 1, INCLUDE, "outcome")
        assert project.decisions.of(1)[1].reason == ""


def test_nothing_can_be_decided_about_records_that_are_not_there(address: str) -> None:
    with make_project(address, [*references(4), references(1)[0]]) as project:
        assert not project.decisions.decide(1, 99, INCLUDE)
        assert not project.decisions.decide(1, 5, INCLUDE)  # a duplicate that was set aside
        assert project.duplicates.judge(1, 5, same=False)
        assert project.decisions.decide(1, 5, INCLUDE)


def test_reviewers_are_blind_until_both_have_decided_and_conflicts_are_resolved(address: str) -> None:
    with make_project(address, reviewers=("Ada", "Ben")) as project:
        project.decisions.decide(1, 1, INCLUDE)
        assert project.outcomes.all() == {}
        assert not project.outcomes.resolve(1, 1, INCLUDE)
        project.decisions.decide(2, 1, EXCLUDE, "outcome")
        assert project.outcomes.all()[1].open_conflict
        assert project.outcomes.all()[1].answer is None
        assert project.outcomes.resolve(2, 1, EXCLUDE, "study design")
        found = project.outcomes.all()[1]
        assert (found.answer, found.reason, found.open_conflict) == (EXCLUDE, "study design", False)
        project.outcomes.reopen(1)
        assert project.outcomes.all()[1].open_conflict
        project.outcomes.resolve(2, 1, INCLUDE)
        project.decisions.decide(2, 1, MAYBE)  # what was agreed on was agreed on about other answers
        assert project.outcomes.all()[1].open_conflict
        project.decisions.decide(2, 1, INCLUDE)
        assert project.outcomes.all()[1].answer is INCLUDE
        assert not project.outcomes.resolve(1, 1, EXCLUDE)


def test_the_counts_of_prisma_add_up(address: str) -> None:
    with make_project(address, reviewers=("Ada", "Ben")) as project:
        project.import_references("again.nbib", references(3))
        answers = ((INCLUDE, INCLUDE), (EXCLUDE, EXCLUDE), (EXCLUDE, EXCLUDE), (MAYBE, MAYBE), (INCLUDE, EXCLUDE))
        for record, (one, other) in enumerate(answers, 1):
            project.decisions.decide(1, record, one, "outcome" if record == 2 else "")
            project.decisions.decide(2, record, other)
        project.decisions.decide(1, 6, INCLUDE)
        found = project.prisma()
        assert found.sources == {"records.ris": 12, "again.nbib": 3}
        assert (found.identified, found.duplicates, found.screened, found.not_screened) == (15, 3, 5, 7)
        assert found.excluded == {"outcome": 1, "no reason given": 1}
        assert (found.included, found.excluded_in_all, found.maybe, found.conflicts) == (1, 2, 0, 2)
        assert found.identified == found.duplicates + found.screened + found.not_screened
        assert found.screened == found.included + found.excluded_in_all + found.maybe + found.conflicts
        assert found.to_dict()["not_screened"] == 7


def test_every_kind_of_file_is_imported(tmp_path: Path) -> None:
    few = references(3)
    write_ris(tmp_path / "a.ris", few)
    write_nbib(tmp_path / "b.nbib", [replace(of, pmid=str(number)) for number, of in enumerate(few, 1)])
    (tmp_path / "c.csv").write_text("Title,Abstract,Year,DOI\nOne,Text,2001,10.1000/1\nTwo,,2002,\n")
    (tmp_path / "d.jsonl").write_text('{"id": "x", "title": "T", "text": "Body"}\n')
    assert [of.title for of in read_records(tmp_path / "a.ris")] == [of.title for of in few]
    assert [of.pmid for of in read_records(tmp_path / "b.nbib")] == ["1", "2", "3"]
    assert [(of.title, of.year, of.doi) for of in read_records(tmp_path / "c.csv")] == [
        ("One", 2001, "10.1000/1"),
        ("Two", 2002, ""),
    ]
    assert [(of.title, of.abstract) for of in read_records(tmp_path / "d.jsonl")] == [("T", "Body")]


@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02", b"name,size\na,1\n", b"{}"])
def test_a_file_without_records_is_refused_by_its_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.csv").write_bytes(content)
    with pytest.raises(RankwellError, match=r"bad\.csv"):
        read_records(tmp_path / "bad.csv")


def test_files_of_others_and_of_later_versions_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("This is no database, however long it may be. " * 50)
    with pytest.raises(RankwellError, match="expected a screening project"):
        open_project(tmp_path / "text.db")
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE things (name)")
    other.close()
    with pytest.raises(RankwellError, match="another kind"):
        open_project(tmp_path / "other.db")
    make_project(tmp_path / "p.db").close()
    with sqlite3.connect(tmp_path / "p.db") as newer:
        newer.execute("UPDATE alembic_version SET version_num = '9999'")
    newer.close()
    with pytest.raises(RankwellError, match="a newer Rankwell made them"):
        open_project(tmp_path / "p.db")
    with pytest.raises(RankwellError, match="no folder"):
        open_project(tmp_path / "nowhere" / "p.db")


def test_a_project_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    make_project(tmp_path / "p.db").close()
    assert (tmp_path / "p.db").stat().st_mode & 0o077 == 0


def test_a_third_reviewer_and_an_empty_title_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="at most 2 reviewers"):
        open_project(tmp_path / "p.db", reviewers=("Ada", "Ben", "Cy"))
    with pytest.raises(ParameterError, match="title"):
        open_project(tmp_path / "q.db", title="  ")
    assert not (tmp_path / "q.db").exists()


def test_words_are_found_in_any_field_and_wildcards_are_characters(address: str) -> None:
    records = [Reference(title="100% cotton", authors=("Nguyen T",)), Reference(title="1000 cottons", abstract="Wool")]
    with make_project(address, records) as project:
        assert project.records.with_words(["COTTON"]) == {1, 2}
        assert project.records.with_words(["0%"]) == {1}
        assert project.records.with_words(["nguyen"]) == {1}
        assert project.records.with_words(["cotton", "wool"]) == {2}


def test_the_ranking_learns_from_decisions_and_each_reviewer_has_their_own(address: str) -> None:
    with make_project(address, reviewers=("Ada", "Ben"), title="Bridges and depression") as project:
        ranking = LiveRanking(project)
        assert ranking.order(1).records == tuple(range(1, 13))  # as imported, until something is learned
        project.decisions.decide(1, 2, INCLUDE)
        project.decisions.decide(1, 1, EXCLUDE)
        project.decisions.decide(2, 1, INCLUDE)
        project.decisions.decide(2, 2, EXCLUDE)
        ranking.start()
        try:
            assert ranking.wait(60)
            ada, ben = ranking.order(1), ranking.order(2)
            assert {record % 2 for record in ada.records[:6]} == {0}  # exercise stands at even numbers
            assert {record % 2 for record in ben.records[:6]} == {1}
            assert (ada.learned, ben.learned) == (2, 2)
            project.import_references("more.ris", [Reference(title="Dancing against depression", abstract="Exercise.")])
            assert ranking.order(1).records[-1] == 13
            ranking.changed()
            assert ranking.wait(60)
            assert ranking.order(1).records.index(13) < 7
        finally:
            ranking.close()


def test_records_without_a_word_are_screened_in_their_order(address: str) -> None:
    with make_project(address, [Reference(), Reference(title="?")], title="!") as project:
        ranking = LiveRanking(project)
        ranking.start()
        assert ranking.wait(60)
        ranking.close()
        assert ranking.order(1).records == (1, 2)


def test_agreement_is_cohens_kappa() -> None:
    yes, no = "include", "exclude"
    # The example of Wikipedia's article on Cohen's kappa: 20 and 15 agreed, 5 and 10 not.
    pairs = [(yes, yes)] * 20 + [(yes, no)] * 5 + [(no, yes)] * 10 + [(no, no)] * 15
    found = agreement(pairs)
    assert found is not None
    assert (found.records, found.share, found.kappa) == (50, 0.7, pytest.approx(0.4))
    assert agreement([]) is None
    assert agreement([(yes, yes)]) == (1, 1.0, None)
