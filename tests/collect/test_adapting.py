"""Adaptive studies: the core is even, further ratings go where answers differ, and measures use the core."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import polars as pl
import pytest

import vantage
from tests.collect.conftest import OpenService
from tests.collect.people import Answer, begun, study, walked, work
from vantage.collect.service import StudyService
from vantage.collect.study import AnnotationStudy
from vantage.collect.views import ItemPage, Participant, QuestionAnswer
from vantage.errors import InputError, Problems

RULE = {"min": 3, "max": 14, "until": "width 0.3"}


def divided(seed: int) -> Answer:
    """Everyone agrees about items with an even number; about the others people are split."""

    def answer(page: ItemPage) -> dict[str, QuestionAnswer]:
        number = int("".join(c for c in str(page.record["text"]) if c.isdigit()))
        value = float((seed + number) % 2) if number % 2 else 1.0
        return {q.id: QuestionAnswer(value) for q in page.questions}

    return answer


def run(service: StudyService, people: int = 60) -> int:
    """So many people, or as many as find work."""
    for seed in range(people):
        person = begun(service)
        if service.participants.step(person).kind == "full":
            return seed
        work(service, person, divided(seed))
        service.participants.finish(person)
    return people


def kinds(folder: Path, **given: object) -> AnnotationStudy:
    """A study of one question with two answers."""
    return study(folder, items=10, questions=[["kind"]], batch={"size": 5}, **given)


def test_split_items_get_more_ratings_and_the_core_stays_even(
    tmp_path: Path, database: str, open_service: OpenService
) -> None:
    service = open_service(kinds(tmp_path, raters=RULE), database)
    while service.researchers.overview().arms[0].answered < 30:
        walked(service, answer=divided(0))
    assert service.participants.arrival().kind == "consent", "there is work beyond the core"
    people = run(service)
    assert people < 60, "the study must end by itself"
    assert service.participants.arrival().kind == "full"
    judgments = service.researchers.corpus().judgments
    core = judgments.filter(allocation="core").group_by("item").len()
    assert core["len"].to_list() == [3] * 10
    total = judgments.with_columns(odd=pl.col("item").str.slice(-1).cast(pl.Int32) % 2).group_by("item", "odd").len()
    agreed, split = (total.filter(odd=odd)["len"] for odd in (0, 1))
    assert split.min() == split.max() == 14
    assert agreed.max() < 14  # type: ignore[operator]
    assert agreed.min() >= 9  # type: ignore[operator]
    assert judgments.select("item", "rater").is_unique().all()
    (arm,) = service.researchers.adaptive()
    assert (arm.known, arm.open, arm.at_most) == (5, 0, 5)
    overview = service.researchers.overview().arms[0]
    assert overview.wanted == overview.answered == len(judgments)


def test_ratings_that_are_on_their_way_count(tmp_path: Path, open_service: OpenService) -> None:
    service = open_service(kinds(tmp_path, raters={"min": 1, "max": 3, "until": "error 0.01"}))
    waiting = [begun(service) for _ in range(6)]
    assert [service.participants.step(person).kind for person in waiting] == ["item"] * 6
    assert service.participants.step(begun(service)).kind == "full"


def test_gold_items_are_never_open(tmp_path: Path, open_service: OpenService) -> None:
    gold = {"per_batch": 1, "items": [{"item": f"i{n:03}", "accept": {"kind": [1]}} for n in (0, 4, 9)]}
    for rule in ("error 0.25", "width 0.4"):
        folder = tmp_path / rule.split()[0]
        folder.mkdir()
        service = open_service(kinds(folder, gold=gold, raters={"min": 2, "max": 30, "until": rule}))
        assert run(service) < 60
        (arm,) = service.researchers.adaptive()
        assert (arm.known, arm.open) == (7, 0)
        judged = service.researchers.corpus().judgments["item"].unique()
        assert not {"i000", "i004", "i009"} & set(judged)


def test_a_lapsed_seat_beyond_the_core_can_be_taken_again(
    tmp_path: Path, open_service: OpenService, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = open_service(kinds(tmp_path, raters={"min": 1, "max": 2, "until": "error 0.01"}))
    for _ in range(2):
        walked(service, answer=divided(1))
    late = begun(service)
    page = service.participants.page(late, 1)
    now = 10_000.0 + time.time()
    monkeypatch.setattr("time.time", lambda: now)
    other = begun(service)
    assert service.participants.step(other).kind == "item"
    # The first comes back: their item is answered if it is still free, and nobody has it twice.
    work(service, late, divided(1))
    work(service, other, divided(0))
    judgments = service.researchers.corpus().judgments
    assert page.token
    assert judgments.group_by("item").len()["len"].max() <= 2  # type: ignore[operator]


def test_every_perspective_sees_every_item(tmp_path: Path, open_service: OpenService) -> None:
    traits = [{"id": "side", "ask": "Which side?", "options": ["left", "right"], "required": True}]
    rule = {"min": 2, "max": 4, "until": "error 0.9", "balance": ["side"]}
    service = open_service(kinds(tmp_path, raters=rule, traits=traits))
    # Three on the left come first; the core alone would be theirs.
    for number, side in enumerate(["left", "left", "left", "right", "right", "right", "left"]):
        person = service.participants.enter({})
        if service.participants.give_consent(person, agreed=True).kind != "traits":
            break
        if service.participants.give_traits(person, {"side": side}).kind == "full":
            continue
        service.participants.confirm(person)
        work(service, person, divided(number))
        service.participants.finish(person)
    corpus = service.researchers.corpus()
    seen = corpus.with_columns_of(["side"]).group_by("item").agg(pl.col("side").n_unique())
    assert seen["side"].to_list() == [2] * 10


def test_excluding_a_rater_reopens_the_core(tmp_path: Path, open_service: OpenService) -> None:
    service = open_service(kinds(tmp_path, raters=RULE))
    run(service)
    corpus = service.researchers.corpus()
    rater = corpus.judgments.filter(allocation="core")["rater"][0]
    service.researchers.review_rater(rater, "excluded")
    run(service, 3)
    core = service.researchers.corpus().judgments.filter(pl.col("rater") != rater, allocation="core")
    assert core.group_by("item").len()["len"].to_list() == [3] * 10


def test_measures_use_the_core_and_say_so(tmp_path: Path, open_service: OpenService) -> None:
    service = open_service(kinds(tmp_path, raters=RULE))
    run(service)
    corpus = service.researchers.corpus()
    again = vantage.Corpus.read(corpus.write(tmp_path / "export"))
    core = corpus.judgments.filter(allocation="core").drop("allocation")
    plain = vantage.measures.alpha(core, level="nominal", ci="none").row(0, named=True)
    for data in (again, corpus.judgments):
        found = vantage.measures.alpha(data, level="nominal", ci="none").row(0, named=True)
        assert found["estimate"] == plain["estimate"]
        assert found["left_out"]["extra"] == len(corpus.judgments) - 30
        assert "core alone" in found["reason"]
        pooled = vantage.measures.alpha(data, level="nominal", ci="none", include_extra=True).row(0, named=True)
        assert pooled["judgments"] == len(corpus.judgments)
        assert pooled["estimate"] < found["estimate"] - 0.05, "split items weigh more where ratings are pooled"
        assert "biased" in pooled["reason"]
        each = vantage.measures.entropy(data, by="item")
        assert each["judgments"].sum() == len(corpus.judgments)


def test_a_study_stops_when_alpha_is_known(tmp_path: Path, open_service: OpenService) -> None:
    plan = study(
        tmp_path, items=40, questions=[["kind"]], batch={"size": 20}, raters={"min": 2, "max": 30, "until": "alpha 0.6"}
    )
    service = open_service(plan)

    def answer(page: ItemPage) -> dict[str, QuestionAnswer]:
        return {"kind": QuestionAnswer(float(int(str(page.record["text"])[5:-1]) % 2))}

    people = 0
    while service.participants.step(person := begun(service)).kind != "full" and people < 60:
        work(service, person, answer)
        service.participants.finish(person)
        people += 1
    assert 4 <= people < 20
    assert "allocation" not in service.researchers.corpus().judgments.columns
    (row,) = service.researchers.sequential()
    assert row["high"] - row["low"] <= 0.6
    assert row["sentence"].startswith("Stop now")


def test_what_cannot_be_met_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Problems, match=r"'max' must be at least 16 .*, and 93 where people are split"):
        kinds(tmp_path, raters={"min": 3, "max": 12, "until": "width 0.2"})
    with pytest.raises(Problems, match="'max' is 3, which is not more than 'min', 3"):
        kinds(tmp_path, raters={"min": 3, "max": 3, "until": "width 0.3"})
    with pytest.raises(Problems, match="unknown trait 'side'"):
        kinds(tmp_path, raters={**RULE, "balance": ["side"]})


def test_the_rule_of_a_running_study_stays(tmp_path: Path, open_service: OpenService) -> None:
    begun(open_service(kinds(tmp_path, raters=RULE)))
    open_service(kinds(tmp_path, raters={**RULE, "max": 20}), revision="more").close()
    with pytest.raises(InputError, match="Only 'max' of an adaptive 'raters' may change"):
        open_service(kinds(tmp_path, raters={**RULE, "min": 4, "max": 20}), revision="more")
    with pytest.raises(InputError, match="cannot begin or stop being adaptive"):
        open_service(kinds(tmp_path, raters=3), revision="fewer")


@pytest.mark.slow
def test_no_seat_is_lost_or_doubled_whatever_people_do(
    tmp_path: Path, database: str, open_service: OpenService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two workers serve people who finish, leave, come back late, withdraw or are excluded."""
    plan = kinds(tmp_path, raters={"min": 2, "max": 9, "until": "width 0.4"})
    workers = [open_service(plan, database) for _ in range(2)]
    clock = [time.time()]
    monkeypatch.setattr("time.time", lambda: clock[0])
    rng = Random(5)  # noqa: S311 - a walk that repeats
    away: list[Participant] = []
    for number in range(80):
        service = workers[number % 2]
        clock[0] += rng.choice([5, 5, 4000])
        back = away and rng.random() < 0.3
        person = away.pop() if back else begun(service)
        deed = rng.choice(["finish", "finish", "finish", "leave", "withdraw", "exclude"])
        work(service, person, divided(number), pages=2 if deed == "leave" else None)
        if deed == "leave":
            away.append(person)
        elif deed == "withdraw":
            service.participants.withdraw(person)
        elif service.participants.step(person).kind == "review":
            service.participants.finish(person)
            if deed == "exclude":
                rows = [row for row in service.researchers.raters() if row.verdict == "pending"]
                service.researchers.review_rater(rng.choice(rows).rater, "excluded")
    clock[0] += 4000
    for number in range(60):  # the last ones all finish
        person = begun(workers[number % 2])
        if workers[number % 2].participants.step(person).kind != "item":
            break
        work(workers[number % 2], person, divided(number))
        workers[number % 2].participants.finish(person)
    corpus = workers[0].researchers.corpus()
    counted = corpus.filter(~pl.col("excluded")).judgments
    assert counted.filter(allocation="core").group_by("item").len()["len"].to_list() == [2] * 10
    (arm,) = workers[0].researchers.adaptive()
    assert arm.open == 0
    held = counted.group_by("item").len()["len"]
    assert held.max() <= 9  # type: ignore[operator]
    assert counted.select("item", "rater").is_unique().all()
