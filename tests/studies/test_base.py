from __future__ import annotations

import pytest

from tests.studies.small import STUDY
from vantage.errors import InputError
from vantage.studies import find, names


@pytest.mark.parametrize("name", sorted(names()))
def test_every_study_can_be_found_and_explains_its_options(name: str) -> None:
    study = find(name)
    assert study.name == name
    assert study.title
    assert all(question.endswith("?") for question in study.questions)
    assert all(entry.help for entry in study.described())
    assert study.options() == study.options(**{entry.name: entry.default for entry in study.described()})


def test_options_have_types_and_defaults() -> None:
    told = {entry.name: (entry.default, entry.help) for entry in STUDY.described()}
    assert told["items"] == (4, "how many sentences")
    assert told["words"] == (("a",), "some words")
    assert {entry.name: entry.type for entry in STUDY.described()}["items"] is int


def test_unknown_studies_and_options_get_a_hint() -> None:
    with pytest.raises(InputError, match="did you mean 'stereomap'"):
        find("steromap")
    with pytest.raises(InputError, match="study 'small' has no option 'item'; did you mean 'items'"):
        STUDY.options(item=3)
