from __future__ import annotations

import pytest

from rankwell.core import Document, ParameterError, Template

PAPER = Document("p", {"title": "Masks", "abstract": "They help.", "full text": "Long {title}."})


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{title} {abstract}", "Masks They help."),
        ("{abstract}", "They help."),
        ("{title}. {keywords} {abstract}", "Masks.  They help."),
        ("{keywords} {title}", "Masks"),
        ("Title: {title}", "Title: Masks"),
        ("{full text}", "Long {title}."),  # what stands in a document is text, never a template
        ("{keywords}", ""),
    ],
)
def test_fields_take_their_places_and_missing_ones_are_left_out(template: str, expected: str) -> None:
    assert Template(template).fill(PAPER) == expected


@pytest.mark.parametrize("template", ["", "title", "{}", "{title", "title}", "{{title}}", "{title} {"])
def test_what_is_no_template_is_refused(template: str) -> None:
    with pytest.raises(ParameterError, match="document: expected text with the names of fields in braces"):
        Template(template)


def test_attributes_of_fields_are_only_names() -> None:
    assert Template("{title.__class__}x").fill(PAPER) == "x"


def test_names_that_no_document_has_are_refused_with_those_they_have() -> None:
    Template("{title}").check(PAPER.fields)
    with pytest.raises(ParameterError, match=r'expected fields of the documents \(title, abstract\), found "{titel}"'):
        Template("{titel}").check(["title", "abstract"])
