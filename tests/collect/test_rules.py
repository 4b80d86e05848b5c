"""Quality while a study runs: rules of the study file, copied reasons, evidence on typing, hidden checks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml
from sqlalchemy import select

from tests.collect.conftest import OpenService
from tests.collect.people import Answer, begun, careless, corpus, honest, instrument, study, walked, work
from tests.instruments.test_kinds import KINDS, OPINIONS, ORDERS, diary
from vantage import Corpus, Instrument
from vantage.collect import evidence, tables
from vantage.collect.document import FACTS, Rule
from vantage.collect.quality import repetition
from vantage.collect.study import AnnotationStudy
from vantage.collect.views import ItemPage, QuestionAnswer
from vantage.corpora.disclosure import risk
from vantage.documents import dump
from vantage.errors import InputError, Problems
from vantage.instruments import Question, grouped

REASON = "The reply praises the very thing that the first message complains about, which I read as mockery."


def test_a_rule_excludes_with_its_name_the_time_and_who_decided(
    tmp_path: Path, database: str, open_service: OpenService
) -> None:
    rules = [{"exclude": "failed attention > 0.5 after 2"}, {"exclude": "same answer > 0.99 after 100"}]
    plan = study(tmp_path, attention={"per_batch": 2}, raters=1, batch={"size": 12}, rules=rules)
    service = open_service(plan, database)
    walked(service, answer=careless)
    (row,) = service.researchers.raters()
    assert row.verdict == "excluded"
    assert row.rule == "failed attention > 0.5 after 2"
    assert row.decided.startswith("decided by the rule, 20")
    # The work goes to somebody else, who passes.
    walked(service)
    raters = service.researchers.corpus().raters.sort("excluded")
    assert raters["excluded"].to_list() == [False, True]
    assert raters["excluded_by"].to_list() == [None, "rule"]
    assert raters["excluded_rule"].to_list() == [None, "failed attention > 0.5 after 2"]
    assert raters["excluded_at"][1].startswith("20")
    assert risk(service.researchers.corpus()) is None, "who decided when says nothing about the person"
    stored = service.database.read(lambda c: c.execute(select(tables.reviews)).all())
    assert [(one.rule, one.decided_by) for one in stored] == [("failed attention > 0.5 after 2", "rule")]


def test_checks_of_two_blocks_may_have_one_name(tmp_path: Path, open_service: OpenService) -> None:
    def block(name: str, answer: int) -> dict[str, object]:
        check = {"id": "choose", "instruction": f"Choose {answer}.", "question": "warm", "accept": [answer]}
        items = {"ids": [f"i00{n}" for n in (range(3) if answer == 5 else range(3, 6))]}
        return {"block": {"id": name, "items": items, "attention": {"per_batch": 1, "checks": [check]}}}

    def attentive(page: ItemPage) -> dict[str, QuestionAnswer]:
        return honest(page) | ({"warm": QuestionAnswer(float(page.instruction[-2]))} if page.instruction else {})

    rules = [{"exclude": "failed attention > 0.1"}]
    service = open_service(study(tmp_path, 6, flow=["consent", block("one", 5), block("two", 1)], rules=rules))
    person = begun(service)
    for _ in range(2):
        work(service, person, attentive)
        service.participants.finish(person)
    (row,) = service.researchers.raters()
    assert (row.verdict, row.attention_failed, row.attention_seen) == ("pending", 0, 2)


def test_checks_of_several_batches_are_counted_one_by_one(tmp_path: Path, open_service: OpenService) -> None:
    batch = {"size": 1, "per_participant": 6}
    service = open_service(study(tmp_path, attention={"per_batch": 1, "checks": ["choose-five"]}, batch=batch))
    person = begun(service)
    for number in range(6):
        work(service, person, careless if number == 2 else honest)
        service.participants.finish(person)
        if number < 5:
            service.participants.another_batch(person)
    (row,) = service.researchers.raters()
    assert (row.attention_failed, row.attention_seen) == (1, 6)
    assert (row.answered, row.pages) == (12, 12), "checks are pages, too"


def test_answers_in_own_words_are_not_all_the_same(tmp_path: Path, open_service: OpenService) -> None:
    data = {**instrument().document, "id": "own", "checks": [], "conditions": {}}
    data["scales"] = {**data["scales"], "free": {"text": 100}}
    data["questions"] = [
        {"id": "stars", "title": "Stars", "ask": "How many?", "scale": data["questions"][0]["scale"]},
        {"id": "why", "title": "Why", "ask": "Why?", "scale": "free"},
    ]
    (tmp_path / "own.yaml").write_text(dump(data), encoding="utf-8")
    rules = [{"exclude": "same answer > 0.9 after 5"}, {"exclude": "longest run > 5"}]
    service = open_service(AnnotationStudy.of(corpus(tmp_path), tmp_path / "own.yaml", raters=2, rules=rules))

    def written(page: ItemPage) -> dict[str, QuestionAnswer]:
        number = int("".join(filter(str.isdigit, page.record["text"])))
        return {"stars": QuestionAnswer(1.0 + number % 5), "why": QuestionAnswer(1.0, "answered", f"Since {number}.")}

    for _ in range(2):
        walked(service, answer=written)
    assert [(row.verdict, row.flags, row.agreement) for row in service.researchers.raters()] == [
        ("pending", (), 1.0)
    ] * 2
    assert set(service.researchers.reliability()["question"]) == {"stars"}


RULES = [Rule.parse("same answer > 0.9 after 20"), Rule.parse("longest run > 15 after 20")]
ASKED = [diary().questions, *(Instrument.load(file).questions for file in (OPINIONS, ORDERS))]
ALONE = [group for asked in ASKED for group in grouped(asked) if not (group[0].confidence or group[0].marks)]
FIELDS = {"+".join(q.id for q in group): group for group in [*ALONE, *ASKED]}
"""What is asked as one, each kind alone, and all of them on a page."""


def simulated(
    questions: tuple[Question, ...], rng: np.random.Generator, *, careful: bool
) -> list[dict[str, list[Any]]]:
    """Twenty pages of somebody who answers as the item asks for, or the same throughout."""
    pages = []
    shapes = [(q, bool(q.scale.text), q.scale.slides, q.scale.codes) for q in questions]
    for drawn in rng.normal(size=(20, len(questions))).tolist():
        page: dict[str, list[Any]] = {}
        for (q, text, slides, options), seen in zip(shapes, drawn if careful else [0.3] * len(shapes), strict=True):
            if q.marks:
                page[q.id] = [1.0, "answered", None, "", None, [int(10 + 5 * seen)]]
            elif q.shares:
                first = round(min(max(0.5 + 0.2 * seen, 0.0), 1.0), 2)
                page[q.id] = [
                    options[first < 0.5],
                    "answered",
                    None,
                    "",
                    [first, 1 - first, *[0.0] * (len(options) - 2)],
                ]
            elif q.whole is not None and q.whole.ranked:
                own = drawn if careful else [0.3 * n for n in range(len(shapes))]
                rank = sorted(own[: len(q.whole.part_ids)]).index(own[q.whole.part_ids.index(q.id)])
                page[q.id] = [1.0 + rank, "answered", None]
            elif text:
                page[q.id] = [1.0, "answered", f"Since {seen:.2f}." if careful else "ok"]
            elif q.whole is not None:  # an option that applies to one item in five
                page[q.id] = [float(seen > 0.84), "answered", None]
            elif slides:
                page[q.id] = [float(round(50 + 15 * seen)), "answered", None]
            else:
                codes = [code for code in options if not q.unlike or code != page[q.unlike][0]]
                page[q.id] = [codes[min(max(int((seen + 2) / 4 * len(codes)), 0), len(codes) - 1)], "answered", None]
        pages.append(page)
    return pages


@pytest.mark.parametrize("people", [100, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("field", FIELDS)
def test_no_careful_rater_breaks_a_rule_and_every_careless_one_does(field: str, people: int) -> None:
    rng = np.random.default_rng(1)

    def breaking(careful: bool, people: int) -> int:
        known = [repetition(FIELDS[field], simulated(FIELDS[field], rng, careful=careful)) for _ in range(people)]
        return sum(any(rule.breaks(one) for rule in RULES) for one in known)

    assert breaking(True, people) == 0
    assert breaking(False, 20) == 20


def test_options_that_were_never_ticked_are_no_answers(tmp_path: Path, open_service: OpenService) -> None:
    rules = [{"exclude": "same answer > 0.9"}, {"flag": "longest run > 3"}]
    data = {**yaml.safe_load(KINDS.read_text()), "examples": []}
    data["questions"] = [one for one in data["questions"] if one["id"] == "emotions"]
    data["scales"] = {"emotions": data["scales"]["emotions"]}
    (tmp_path / "diary.yaml").write_text(dump(data), encoding="utf-8")
    plan = AnnotationStudy.of(corpus(tmp_path, 10), tmp_path / "diary.yaml", raters=3, rules=rules, batch={"size": 10})
    service = open_service(plan)

    def ticked(page: ItemPage) -> dict[str, QuestionAnswer]:
        number = int("".join(filter(str.isdigit, page.record["text"])))
        return {q.id: QuestionAnswer(float(n == number % 3 - 1)) for n, q in enumerate(page.questions)}

    for _ in range(2):
        walked(service, answer=ticked)
    walked(service, answer=lambda page: {q.id: QuestionAnswer(0.0) for q in page.questions})
    rows = sorted(service.researchers.raters(), key=lambda row: row.number)
    assert [(row.verdict, row.flags) for row in rows[:2]] == [("pending", ())] * 2
    assert (rows[2].verdict, rows[2].rule) == ("excluded", "same answer > 0.9")
    assert "gave the same answer all 10 times" in rows[2].flags


def test_a_researcher_decides_beside_the_rules(tmp_path: Path, open_service: OpenService) -> None:
    rules = [{"flag": "longest run > 5"}, {"exclude": "failed attention > 0.5 after 5"}]
    service = open_service(study(tmp_path, attention={"per_batch": 2}, rules=rules))
    walked(service, answer=careless)
    (row,) = service.researchers.raters()
    assert row.verdict == "pending"
    assert "rule: longest run > 5" in row.flags
    service.researchers.review_rater(row.rater, "excluded", "clicked through")
    (row,) = service.researchers.raters()
    assert row.decided.startswith("decided by a researcher")


def test_a_rule_does_not_overrule_a_researcher(tmp_path: Path, open_service: OpenService) -> None:
    rules = [{"exclude": "failed attention > 0.5"}]
    service = open_service(study(tmp_path, attention={"per_batch": 2}, rules=rules))
    person = begun(service)
    work(service, person, careless)
    (row,) = service.researchers.raters()
    service.researchers.review_rater(row.rater, "approved", "we spoke")
    service.participants.finish(person)
    assert [one.verdict for one in service.researchers.raters()] == ["approved"]


def test_rules_are_written_before_the_study_starts(tmp_path: Path, open_service: OpenService) -> None:
    begun(open_service(study(tmp_path, rules=[{"exclude": "seconds < 1"}])))
    with pytest.raises(InputError, match=r"'rules\.0\.exclude' can no longer be changed"):
        open_service(study(tmp_path), revision="no rules")


@pytest.mark.parametrize(
    "rule", [{"exclude": "too quick"}, {}, {"exclude": "seconds < 1", "flag": "seconds < 2"}, {"flag": "seconds = 1"}]
)
def test_what_is_no_rule_is_refused(tmp_path: Path, rule: dict[str, str]) -> None:
    with pytest.raises(Problems, match=r"is no rule; write for example|give either 'exclude' or 'flag'"):
        study(tmp_path, rules=[rule])


def test_every_fact_can_be_in_a_rule() -> None:
    for fact in FACTS:
        assert Rule.parse(f"{fact} > 0.5 after 3") == Rule(fact, below=False, limit=0.5, after=3)


def test_instructions_inside_an_item_look_like_any_item(tmp_path: Path, open_service: OpenService) -> None:
    service = open_service(study(tmp_path, items=30, batch={"size": 6}, attention={"per_batch": 2, "placed": "inside"}))
    person, shown = begun(service), []

    def attentive(page: ItemPage) -> dict[str, QuestionAnswer]:
        assert page.instruction == ""
        shown.append(str(page.record["text"]))
        if "Choose" in shown[-1]:
            return {q.id: QuestionAnswer(5.0 if q.id == "warm" else 1.0) for q in page.questions}
        return honest(page)

    assert work(service, person, attentive) == 8
    assert sum("Choose" in text for text in shown) == 2
    assert all(text.startswith("Text ") for text in shown)
    (row,) = service.researchers.raters()
    assert (row.attention_failed, row.attention_seen) == (0, 2)


def with_reasons(folder: Path) -> AnnotationStudy:
    """A study whose corpus holds a model's reasons, and whose participants give theirs."""
    data = dict(instrument().document)
    data["questions"] = [{**question, "rationale": "optional"} for question in data["questions"]]
    (folder / "mine.yaml").write_text(dump(data), encoding="utf-8")
    base = Corpus.read(corpus(folder))
    judged = pl.DataFrame(
        {"item": base.items["item"], "question": "warm", "rater": "bot", "value": 3.0, "rationale": REASON}
    )
    raters = pl.DataFrame({"rater": ["bot"], "kind": ["model"]})
    whole = Corpus(base.items, raters, judged, Instrument.from_document(data)).write(folder / "with")
    return AnnotationStudy.of(whole, folder / "mine.yaml", rules=[{"exclude": "copied reasons > 0.5 after 3"}])


def giving(reason: str) -> Answer:
    """Somebody who gives one reason about every item, in which its text may stand."""

    def answer(page: ItemPage) -> dict[str, QuestionAnswer]:
        return {q.id: QuestionAnswer(1.0, rationale=reason.format(**page.record)) for q in page.questions}

    return answer


def test_reasons_that_nearly_copy_a_models_are_found(tmp_path: Path, open_service: OpenService) -> None:
    service = open_service(with_reasons(tmp_path))
    own = "{text} It sounds friendly enough to me, and nobody in it seems to be upset at all."
    walked(service, answer=giving(REASON.replace("very thing", "same thing").lower()))
    walked(service, answer=giving(own))
    rows = {row.verdict: row for row in service.researchers.raters()}
    assert "12 of 12 reasons nearly copy those of bot" in rows["excluded"].flags
    assert not any("copy" in flag for flag in rows["pending"].flags)


def test_reasons_that_nearly_copy_another_persons_flag_both(tmp_path: Path, open_service: OpenService) -> None:
    """Nobody is excluded by a rule, because it cannot be told who copied whom."""
    service = open_service(with_reasons(tmp_path))
    own = "{text} It sounds friendly enough to me, and nobody in it seems to be upset at all."
    for reason in (
        own,
        own.upper().replace("{TEXT}", "{text}"),
        "{text} Somebody is thanked for help that they gave.",
    ):
        walked(service, answer=giving(reason))
    first, second, third = sorted(service.researchers.raters(), key=lambda row: row.number)
    assert f"24 of 24 reasons nearly copy those of {second.rater}" in first.flags
    assert f"24 of 24 reasons nearly copy those of {first.rater}" in second.flags
    assert not any("copy" in flag for flag in third.flags)
    assert {row.verdict for row in (first, second, third)} == {"pending"}


def test_typing_is_counted_only_where_the_consent_says_so(tmp_path: Path, open_service: OpenService) -> None:
    plan = study(tmp_path, evidence="typing", consent="Taking part is voluntary.")
    assert plan.consent == f"Taking part is voluntary.\n\n{evidence.CONSENT}"
    service = open_service(plan)
    person = begun(service)
    page = service.participants.page(person, 1)
    counts = evidence.read(json.dumps({"pastes": 2, "pasted": 90, "keys": 4, "words": "secret"}))
    service.participants.submit(person, 1, honest(page), token=page.token, evidence=counts)
    work(service, person)
    service.participants.finish(person)
    (row,) = service.researchers.raters()
    assert row.evidence == "pastes: 2, characters pasted: 90, keys: 4"
    assert row.verdict == "pending"
    assert not any("paste" in flag for flag in row.flags)
    # Withdrawing deletes it.
    service.participants.withdraw(person)
    assert service.database.read(lambda c: c.execute(select(tables.evidence)).all()) == []


def test_a_study_without_that_consent_stores_nothing(tmp_path: Path, open_service: OpenService) -> None:
    service = open_service(study(tmp_path))
    person = begun(service)
    page = service.participants.page(person, 1)
    service.participants.submit(person, 1, honest(page), token=page.token, evidence='{"keys": 3}')
    assert service.database.read(lambda c: c.execute(select(tables.evidence)).all()) == []
