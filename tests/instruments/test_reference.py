from __future__ import annotations

import pytest
from pydantic import BaseModel, Field

from tools.formats import reference
from vantage.collect.document import StudyDocument
from vantage.instruments.document import InstrumentDocument


@pytest.mark.parametrize("document", [InstrumentDocument, StudyDocument])
def test_every_key_of_a_file_has_a_meaning(document: type[BaseModel]) -> None:
    rows = [line for line in reference(document, "T", "I").splitlines() if line.startswith("| `")]
    assert len(rows) > 40
    assert [row for row in rows if row.endswith("|  |")] == []


class Inner(BaseModel):
    """What stands inside."""

    size: int = Field(1, description="How large | it is.")


class Outer(BaseModel):
    """A file."""

    first: Inner
    more: list[Inner] = []


def test_a_part_is_told_once_and_where_it_is_first_met() -> None:
    page = reference(Outer, "Title", "Words.")
    assert page.startswith("# Title\n\nWords.\n")
    assert page.count("How large") == 1
    assert "| `first` | mapping | **required** | What stands inside. |" in page
    assert "| `more` | list of mapping |  | What stands inside. |" in page
    assert "| `size` | whole number | `1` | How large \\| it is. |" in page
