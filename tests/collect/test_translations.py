"""One study in several languages of content: equivalent instruments, texts in every language, answers in one code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.collect.web.studies import OPENED, Visitor
from tests.instruments.test_kinds import ORDERS
from tests.runs.test_local import Here
from vantage import ChatRater
from vantage.collect.rating import flow_plan
from vantage.collect.service import StudyService
from vantage.collect.study import AnnotationStudy
from vantage.corpora import Corpus
from vantage.documents import dump
from vantage.errors import Problems
from vantage.instruments import Instrument
from vantage.measures import pairwise
from vantage.raters.models.base import Completion, Request
from vantage.recruit.rehearsal.rehearse import rehearse
from vantage.runs import RunOptions, RunStore, run
from vantage.runs.rating import added

GERMAN = ORDERS.with_name("orders.de.yaml")
JOB = {"id": "job", "ask": "Your job?", "options": ["paid", "other"], "required": True}
TEXTS = {"Speeches": "Reden", "Your job?": "Ihr Beruf?", "paid": "bezahlt", "Please help.": "Bitte helfen Sie."}


def written(folder: Path, german: Path = GERMAN, columns: dict[str, list[str | None]] | None = None) -> Path:
    """A study file in English and German."""
    own = columns or {"text_de": ["Wir brauchen Arbeit.", "Nein, danke."], "place:de": ["Rom", "Genf"]}
    items = {"item": ["a", "b"], "text": ["We need work first.", "No, thank you."], "place": ["Rome", "Geneva"], **own}
    Corpus.of_items(pl.DataFrame(items), Instrument.load(ORDERS)).write(folder / "corpus")
    plan: dict[str, Any] = {"id": "two", "title": "Speeches", "corpus": "corpus", "instrument": str(ORDERS)}
    plan |= {"raters": 2, "order": {"items": "fixed"}, "consent": "Please help.", "traits": [JOB]}
    back = "Translated back by a second person; 'aims' was reworded."
    plan["translations"] = {"de": {"instrument": str(german), "back_translation": back, "texts": TEXTS}}
    file = folder / "study.yaml"
    file.write_text(dump(plan), "utf-8")
    return file


def edited(folder: Path, old: str, new: str) -> Path:
    """The German instrument with something else in it."""
    file = folder / "other.de.yaml"
    file.write_text(GERMAN.read_text("utf-8").replace(old, new), "utf-8")
    return file


def test_people_answer_in_their_language_and_tables_keep_it(tmp_path: Path) -> None:
    service = StudyService(AnnotationStudy.load(written(tmp_path)))
    OPENED.append(service)
    seen = {}
    for code in ("de", "en"):
        visitor = Visitor(service)
        visitor.client.headers["accept-language"] = code
        visitor.get("/")
        seen[code, "consent"] = visitor.text
        visitor.send("/consent", {"agreed": "yes"})
        seen[code, "traits"] = visitor.text
        # Another language cannot be chosen once somebody has begun.
        visitor.get("/language/en?to=/traits")
        visitor.send("/traits", {"t0": "paid"})
        seen[code, "guidelines"] = visitor.text
        visitor.send("/guidelines")
        seen[code, "item"] = visitor.text
        for position in (1, 2):
            form = {"a0": "1", "a1": "2", "a2": "3", "a3": "1", "m4.1": "1", "m4.2": "1"}
            visitor.send(
                f"/item/{position}", form if position == 1 else {"o0": "not_mentioned", "a3": "0", "m4.0": "1"}
            )
        visitor.send("/review")
        assert visitor.path == "/end"
    assert "Bitte helfen Sie." in seen["de", "consent"]
    assert "<title>Reden · Reden</title>" in seen["de", "consent"]
    assert "Please help." in seen["en", "consent"]
    for words in ("Ihr Beruf?", 'value="paid"', "bezahlt"):
        assert words in seen["de", "traits"]
    assert "Lesen Sie die Rede." in seen["de", "guidelines"]
    assert "Zuerst brauchen wir Arbeit" in seen["de", "guidelines"]
    for words in ("Was ist dem Redner wichtig?", "das Klima, die Natur", "<span>brauchen</span>", "Genf", "Rom"):
        assert (words in seen["de", "item"]) == (words != "Genf")
    assert "We need" not in re.sub("<[^>]+>", "", seen["de", "item"])
    assert '<p class="said" dir="auto" lang="de">Wir brauchen Arbeit.' in seen["de", "item"]
    assert "Arbeit" not in seen["en", "item"]

    corpus = service.researchers.corpus()
    rows = corpus.judgments.select("item", "question", "language", "value", "rationale")
    assert rows.filter(item="a", language="de").select("question", "value", "rationale").rows() == [
        ("aims.jobs", 1.0, None),
        ("aims.the-climate-or-nature", 2.0, None),
        ("aims.safety", 3.0, None),
        ("side", 1.0, None),
        ("side-words", 1.0, "brauchen Arbeit."),
    ]
    assert rows.filter(item="a", question="side-words", language="en")["rationale"].to_list() == ["need work"]
    assert corpus.raters["job"].to_list() == ["paid", "paid"]
    assert [one.id for one in corpus.instruments] == ["orders"]
    assert set(pairwise(corpus.filter(question="side"), by=["question", "language"])["language"]) == {"de", "en"}
    # The study goes on from its database, with both instruments.
    service.close()
    again = StudyService(AnnotationStudy.load(tmp_path / "study.yaml"))
    OPENED.append(again)
    german = again.study.in_language("de").instrument
    assert german.question("aims.jobs").whole is not None
    assert again.researchers.corpus().judgments.equals(corpus.judgments)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("language: de", "language: en", "name the translation by its own language"),
        ("{code: 0, label: dagegen}", "{code: 2, label: dagegen}", "question 'side' has other answers"),
        ("marks: text}", "marks: place}", "question 'side-words' has another 'marks' than in 'orders'"),
        ("  - {name: place, title: Ort}\n", "", "its fields must be those of 'orders'"),
        ("not_mentioned:", "not_said:", "its questions must be those of 'orders'"),
        ("[{code: 1, label: Arbeit}, {code: 2,", "[{code: 2, label: Arbeit}, {code: 1,", "its questions must be those"),
    ],
)
def test_translations_that_are_not_equivalent_are_refused(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    german = edited(tmp_path, old, new)
    if "name: place" in old:
        german.write_text(german.read_text("utf-8").replace(", place: Hier", ""), "utf-8")
    with pytest.raises(Problems, match=re.escape(sentence)):
        AnnotationStudy.load(written(tmp_path, german))


def test_texts_must_be_there_in_every_language(tmp_path: Path) -> None:
    with pytest.raises(Problems, match="the items have no texts in 'de'; add a column text_de or text:de"):
        AnnotationStudy.load(written(tmp_path, columns={"other": ["x", "y"]}))
    with pytest.raises(Problems, match="the column 'text_de' is empty for 1 items"):
        AnnotationStudy.load(written(tmp_path, columns={"text_de": ["x", None]}))


def test_a_study_in_two_languages_is_rehearsed(tmp_path: Path) -> None:
    made = rehearse(AnnotationStudy.load(written(tmp_path)), people=2, seed=1, mix={"careful": 1})
    assert made.summary.select("finished", "answered").row(0) == (2, 4), made.stuck.to_dicts()


def test_the_bundled_flow_for_stereomap_is_in_two_languages(tmp_path: Path) -> None:
    groups = pl.DataFrame({"item": ["n", "l"], "group": ["nurses", "lawyers"], "group_de": ["Pflegekräfte", "Anwälte"]})
    folder = Corpus.of_items(groups, Instrument.load("stereotype-content:short")).write(tmp_path / "groups")
    study = AnnotationStudy.load("flow:stereomap", folder)
    assert study.languages == ("en", "de")
    german = study.in_language("de")
    assert "in der deutschen Gesellschaft" in german.instrument.guidelines
    assert german.consent.startswith("Sie lesen die Namen")
    assert german.shown_item({"group": "nurses", "group_de": "Pflegekräfte"}) == {"group": "Pflegekräfte"}
    shown = [question.ask for phase in study.plan.flow for question in phase.questions_here]
    assert all(german.said(text) != text for text in [study.title, *shown])


class Bilingual(Here):
    """Answers in the language of the question, and keeps what it has read."""

    def complete(self, requests: Sequence[Request]) -> list[Completion]:
        read = ["\n".join(message.content for message in request.messages) for request in requests]
        self.options += [[text] for text in read]
        says = {
            "Ist der Redner dafür": '{"side": "dafür", "side-words": "Arbeit"}',
            "Is the speaker in favour": '{"side": "for it", "side-words": "work"}',
            "Was ist dem Redner wichtig": "Sicherheit; Arbeit; das Klima, die Natur",
            "What matters to the speaker": "?",
        }
        return [Completion(says[max(says, key=text.rfind)], "stop") for text in read]


def test_a_model_is_asked_in_every_language_and_answers_in_one_code(tmp_path: Path) -> None:
    study, model = AnnotationStudy.load(written(tmp_path)), Bilingual()
    plan = flow_plan(study, [ChatRater(model)])
    with RunStore(tmp_path / "runs.sqlite") as store:
        corpus = added(study.corpus, *run(plan, store, RunOptions()).judged)
    asked = [text for (text,) in model.options]
    german = [text for text in asked if "Wir brauchen Arbeit." in text or "Nein, danke." in text]
    english = [text for text in asked if "We need work first." in text or "No, thank you." in text]
    assert len(german) >= 4
    assert len(english) >= 4
    assert all(("Lesen Sie die Rede." in text and "Rom" in text) or "Genf" in text for text in german)
    assert not any("Redner" in text for text in english)
    raters = dict(corpus.judgments.group_by("language").agg(pl.col("rater").unique().first()).iter_rows())
    assert raters == {"en": "here+zero-shot", "de": "here+zero-shot+de"}
    of_german = corpus.judgments.filter(language="de", item="a").select("question", "value")
    jobs, climate = "aims.jobs", "aims.the-climate-or-nature"
    assert dict(of_german.iter_rows()) == {jobs: 2.0, climate: 3.0, "aims.safety": 1.0, "side": 1.0, "side-words": 1.0}
    assert [one.id for one in corpus.instruments] == ["orders"]
    assert set(corpus.judgments["question"]) == {question.id for question in study.instrument.questions}
    # What could be read is not asked again.
    again = flow_plan(replace(study, corpus=corpus), [ChatRater(model)])
    assert not [call for part in again.parts if part.language == "de" for call in part.calls(part.done())]
