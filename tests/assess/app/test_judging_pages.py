from __future__ import annotations

from visitor import Visitor

from rankwell.assess.store import Store


def test_an_invitation_leads_to_the_first_passage(visitor: Visitor, store: Store) -> None:
    visitor.join(store)
    page = visitor.begin()
    assert "1 of 4 in this query" in page.text
    assert "query 1 of 6" in page.text
    assert "totally irrelevant" in page.text


def test_each_grade_is_stored_as_it_is_given(visitor: Visitor, store: Store) -> None:
    name = visitor.join(store)
    visitor.begin()
    for answer in (3, "unsure", 5):
        visitor.grade(answer, note="a note" if answer == 5 else "")
    stored = {(row.assessor, row.passage_order): row.grade for row in store.answers()}
    assert stored == {(name, 1): 3, (name, 2): None, (name, 3): 5}
    assert "4 of 4 in this query" in visitor.get("/judge").text
