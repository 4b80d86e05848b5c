"""Participants see questions in different presentations; what is stored is what they meant."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from tests.test_presentations import DOCUMENT
from vantage.collect.blocks import assigned
from vantage.collect.flow_document import PresentationPart
from vantage.collect.service import StudyService
from vantage.collect.study import AnnotationStudy
from vantage.collect.views import InvalidAnswers, ItemPage, Participant, QuestionAnswer
from vantage.corpora import Corpus
from vantage.errors import InputError, Problems
from vantage.instruments import Instrument
from vantage.presentations import Presentation

LABELS = {option["code"]: option["label"] for option in DOCUMENT["scales"]["agree"]["options"]}
TEXTS = [f"Text of worth {code}." for code in (-2, -1, 1, 2)]


def study(folder: Path, **plan: Any) -> AnnotationStudy:
    """A study of one question about four texts."""
    folder.mkdir(exist_ok=True)
    document = {**DOCUMENT, "questions": DOCUMENT["questions"][:1]}
    (folder / "worth.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    items = pl.DataFrame({"item": [f"i{n}" for n in range(len(TEXTS))], "text": TEXTS})
    nothing = pl.DataFrame(schema={"item": pl.String, "question": pl.String, "rater": pl.String, "value": pl.Float64})
    nobody = pl.DataFrame(schema={"rater": pl.String})
    Corpus(items, nobody, nothing, Instrument.from_document(document)).write(folder / "corpus")
    given = {"order": {"items": "fixed"}, "raters": 50, **plan}
    return AnnotationStudy.of(folder / "corpus", folder / "worth.yaml", **given)


def meant(page: ItemPage) -> dict[str, QuestionAnswer]:
    """The answer of somebody who reads the wording and the labels: what the text says it is worth."""
    code = float(str(page.record["text"]).split()[-1].rstrip("."))
    (question,) = page.questions
    if question.ask in (DOCUMENT["questions"][0]["reversed"]["ask"], "Reading the text does not pay off."):
        code = -code
    wanted = LABELS[int(code)]
    return {question.id: QuestionAnswer(next(o.code for o in question.scale.shown if o.label == wanted))}


def taken(service: StudyService) -> tuple[Participant, list[ItemPage]]:
    """Somebody takes part and answers everything."""
    people = service.participants
    who = people.enter({})
    people.give_consent(who, agreed=True)
    people.confirm(who)
    seen = []
    for position in range(1, len(TEXTS) + 1):
        page = people.page(who, position)
        people.submit(who, position, meant(page), token=page.token)
        seen.append(page)
        again = people.page(who, position)
        assert again.earlier == meant(page), "an earlier answer is shown where it was given"
    people.finish(who)
    return who, seen


PRESENTATION: Mapping[str, Any] = {
    "order": "random",
    "labels": ["numbers", "letters"],
    "direction": ["plain", "reversed"],
    "wording": [1, 2],
}


@pytest.mark.parametrize("drawn", ["participant", "page"])
def test_participants_see_other_orders_and_mean_the_same(tmp_path: Path, drawn: str) -> None:
    with closing(StudyService(study(tmp_path, presentation={**PRESENTATION, "drawn": drawn}))) as service:
        pages = [taken(service)[1] for _ in range(8)]
        corpus = service.researchers.corpus()
    orders = {tuple(o.code for o in page.questions[0].scale.shown) for seen in pages for page in seen}
    assert len(orders) > 4
    if drawn == "participant":
        assert all(len({page.presentations for page in seen}) == 1 for seen in pages)
    rows = corpus.judgments.join(corpus.items, on="item")
    told = pl.col("text").str.split(" ").list.last().str.strip_chars(".").cast(pl.Float64)
    assert rows.filter(pl.col("value") != told).is_empty()
    ways = [Presentation.parse(text) for text in corpus.judgments["presentation"]]
    for factor in ("direction", "wording", "labels"):
        levels = [str(level) for level in PRESENTATION[factor]]
        counts = [sum(getattr(way, factor) == level for way in ways) for level in levels]
        assert counts == [16, 16], "levels are used equally often"


def test_presentations_are_given_out_in_blocks() -> None:
    part = PresentationPart(order=["up", "down"], direction=["plain", "reversed"])
    for block in range(10):
        given = {str(assigned(part, 7, 4 * block + n)) for n in (1, 2, 3, 4)}
        assert len(given) == 4
    first = {tuple(str(assigned(part, 7, 4 * block + n)) for n in (1, 2, 3, 4)) for block in range(10)}
    assert len(first) > 3, "the order within blocks changes, so that no other assignment goes along with it"


def test_what_was_shown_is_stored_with_the_answer(tmp_path: Path) -> None:
    with closing(StudyService(study(tmp_path, presentation={"order": "down"}))) as service:
        taken(service)
        from vantage.collect.tables import submissions

        stored = service.database.read(lambda c: [row.answers for row in c.execute(submissions.select())])
        assert {json.loads(answers)["worth"][3] for answers in stored} == {"order=down"}
        assert set(service.researchers.corpus().judgments["presentation"]) == {"order=down"}


def test_answers_that_are_not_shown_are_refused(tmp_path: Path) -> None:
    with closing(StudyService(study(tmp_path, presentation={"middle": "hidden", "optout": "hidden"}))) as service:
        people = service.participants
        who = people.enter({})
        people.give_consent(who, agreed=True)
        people.confirm(who)
        page = people.page(who, 1)
        assert [o.code for o in page.questions[0].scale.shown] == [-2, -1, 1, 2]
        for answer in (QuestionAnswer(0.0), QuestionAnswer(None, "ambiguous")):
            with pytest.raises(InvalidAnswers):
                people.submit(who, 1, {"worth": answer}, token=page.token)


def test_without_a_presentation_nothing_is_stored_about_it(tmp_path: Path) -> None:
    with closing(StudyService(study(tmp_path))) as service:
        taken(service)
        assert "presentation" not in service.researchers.corpus().judgments.columns


def test_the_presentation_cannot_change_under_a_running_study(tmp_path: Path) -> None:
    with closing(StudyService(study(tmp_path, presentation={"order": "down"}))) as service:
        taken(service)
    with pytest.raises(InputError, match=r"'presentation\.order' can no longer be changed"):
        StudyService(study(tmp_path, presentation={"order": "up"}), revision="the other way")


@pytest.mark.parametrize(
    ("plan", "problem"),
    [
        ({"presentation": {"order": "sideways"}}, "presentation.order"),
        ({"presentation": {"wording": 3}}, "unknown level of wording '3'"),
        ({"presentation": {"order": ["up", "up"]}}, "duplicate level 'up'"),
        ({"presentation": {}}, "no factor is given"),
        ({"presentation": {"odrer": "up"}}, "odrer"),
        (
            {
                "presentation": {"direction": "reversed"},
                "attention": {
                    "checks": [{"id": "c", "instruction": "Choose agree.", "question": "worth", "accept": [1]}]
                },
            },
            "only 'order' and 'questions' go with them; leave out direction",
        ),
    ],
)
def test_a_presentation_that_does_not_fit_is_refused(tmp_path: Path, plan: dict[str, Any], problem: str) -> None:
    with pytest.raises(Problems, match=problem):
        study(tmp_path, **plan)


def test_a_factor_that_the_instrument_does_not_have_is_refused(tmp_path: Path) -> None:
    study(tmp_path)
    with pytest.raises(Problems, match="question 'irony' has no reversed twin"):
        AnnotationStudy.of(tmp_path / "corpus", "irony", presentation={"direction": ["plain", "reversed"]})


def test_new_paraphrases_do_not_disturb_a_study_that_shows_none(tmp_path: Path) -> None:
    with closing(StudyService(study(tmp_path))) as service:
        taken(service)
    document = yaml.safe_load((tmp_path / "worth.yaml").read_text("utf-8"))
    (question,) = document["questions"]
    question["wordings"].append({"ask": "It pays to read the text."})
    question["reversed"]["wordings"].append({"ask": "It does not pay to read the text."})
    (tmp_path / "worth.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    given: dict[str, Any] = {"order": {"items": "fixed"}, "raters": 50}
    StudyService(AnnotationStudy.of(tmp_path / "corpus", tmp_path / "worth.yaml", **given), revision="new").close()
    question["ask"] = "Is it worth reading?"
    (tmp_path / "worth.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    with pytest.raises(InputError, match=r"'instrument\.questions\.0\.ask' can no longer be changed"):
        StudyService(AnnotationStudy.of(tmp_path / "corpus", tmp_path / "worth.yaml", **given), revision="new")
