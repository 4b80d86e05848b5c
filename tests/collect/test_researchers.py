from __future__ import annotations

import io
import time
import zipfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from threading import Event
from typing import Any
from zipfile import ZipFile

import polars as pl
import pytest
from sqlalchemy import select

from tests.collect.conftest import OpenService
from tests.collect.people import begun, careless, honest, ratings, study, walked, work
from vantage import Corpus
from vantage.collect import quality
from vantage.collect.document import RaterFact
from vantage.collect.export import merged, write
from vantage.collect.tables import reviews
from vantage.collect.views import Participant, QuestionAnswer, RaterRow, Refused
from vantage.errors import InputError
from vantage.measures import alpha


def test_the_overview_counts_what_there_is(open_service: OpenService, tmp_path: Path, database: str) -> None:
    plan = study(tmp_path, 6, raters=2, batch={"size": 3}, conditions={"between": ["plain", "fancy"]})
    service = open_service(plan, database)
    walked(service)
    work(service, begun(service), pages=1)
    service.participants.enter({})
    found = service.researchers.overview()
    assert [arm.wanted for arm in found.arms] == [12, 12]
    assert sorted((arm.answered, arm.reserved, arm.free, arm.participants) for arm in found.arms) == [
        (1, 2, 9, 1),
        (3, 0, 9, 1),
    ]
    assert (found.items, found.answers, found.paused) == (6, 4, False)
    assert found.participants == {"finished": 1, "working": 1, "consent": 1}
    assert {arm.seconds for arm in found.arms} == {2.0, 3.0}
    assert found.funnel == {"came": 3, "agreed": 2, "answered a page": 2, "finished": 1}
    assert sum(count for _, count in found.by_time) == 4
    assert found.by_time[-1][0][:13] in {
        datetime.fromtimestamp(time.time() - ago, UTC).strftime("%Y-%m-%d %H") for ago in (0, 60)
    }


def test_reliability_is_that_of_the_measures(open_service: OpenService, tmp_path: Path, database: str) -> None:
    service = open_service(study(tmp_path, 12, raters=3, batch={"size": 12}), database)
    assert service.researchers.reliability().is_empty()
    for answer in (honest, honest, careless):
        walked(service, answer=answer)
    found = service.researchers.reliability()
    row = found.filter(question="warm", measure="alpha").row(0, named=True)
    by_hand = alpha(service.researchers.corpus().filter(question="warm"), resamples=500).row(0, named=True)
    assert (row["estimate"], row["low"], row["high"]) == (by_hand["estimate"], by_hand["low"], by_hand["high"])
    assert set(found["measure"]) == {"alpha", "pairwise", "split-half"}
    assert "split-half" not in set(found.filter(question="kind")["measure"]), "a nominal scale has no correlation"
    service.researchers.review_rater(service.researchers.raters()[0].rater, "excluded")
    assert service.researchers.reliability().filter(question="warm", measure="alpha")["estimate"][0] == 1.0


def test_raters_are_compared_with_those_who_count(open_service: OpenService, tmp_path: Path) -> None:
    service = open_service(study(tmp_path, raters=2, batch={"size": 12}))
    for _ in range(3):
        walked(
            service,
            answer=lambda page: {
                q: QuestionAnswer(6 - a.value) if q == "warm" else a
                for q, a in honest(page).items()
                if a.value is not None
            },
        )
        (row,) = (row for row in service.researchers.raters() if row.verdict == "pending")
        service.researchers.review_rater(row.rater, "excluded")
    walked(service)
    walked(service)
    assert [(row.agreement, row.flags) for row in service.researchers.raters() if row.verdict == "pending"] == [
        (1.0, ("kind: gave the same answer all 12 times",))
    ] * 2


def test_the_careless_stand_first_with_reasons(open_service: OpenService, tmp_path: Path) -> None:
    gold = {"per_batch": 2, "items": [{"item": f"i00{n}", "accept": {"warm": [n % 5 + 1]}} for n in (0, 1, 3)]}
    plan = study(tmp_path, 40, raters=5, batch={"size": 30}, attention={"per_batch": 3}, gold=gold)
    service = open_service(plan)
    bad, _ = walked(service, answer=careless)
    for _ in range(4):
        walked(service)
    first, *rest = service.researchers.raters()
    assert first.number == bad.number
    assert (first.attention_failed, first.attention_seen, first.gold_failed, first.gold_seen) == (3, 3, 2, 2)
    assert "failed 3 of 3 attention checks" in first.flags
    assert "failed 2 of 2 gold items" in first.flags
    assert (first.longest_run, first.top_share) == (30, 1.0)
    assert "warm: gave the same answer all 30 times" in first.flags
    assert all(row.attention_failed == row.gold_failed == 0 for row in rest)
    assert all("warm" not in flag for row in rest for flag in row.flags)
    assert all(row.agreement is not None and row.agreement > 0.7 for row in rest)
    assert (first.answered, first.pages, first.seconds) == (35, 35, 3.0)
    assert service.researchers.overview().flagged >= 1


def test_only_a_larger_share_of_failed_checks_than_the_threshold_is_flagged(tmp_path: Path) -> None:
    plan = study(tmp_path, attention={"per_batch": 2, "threshold": 0.25})
    for failed, flags in ((1, []), (2, ["failed 2 of 4 attention checks"])):
        assert quality._failures(plan, {"failed attention": RaterFact(failed / 4, 4)}) == flags
    assert quality._failures(plan, {"failed attention": RaterFact(0.0, 4)}) == quality._failures(plan, {}) == []


def test_an_excluded_rater_is_replaced_marked_and_may_be_reopened(
    open_service: OpenService, tmp_path: Path, database: str
) -> None:
    service = open_service(study(tmp_path, 5, raters=1, batch={"size": 5}), database)
    bad, _ = walked(service, answer=careless)
    rater = service.researchers.raters()[0].rater
    service.researchers.review_rater(rater, "excluded", "always the same")
    assert service.researchers.overview().arms[0].free == 5
    good, _ = walked(service)
    corpus = service.researchers.corpus()
    assert len(corpus.judgments) == 20
    assert dict(corpus.raters.select("rater", "excluded").iter_rows()) == {
        row.rater: row.number == bad.number for row in service.researchers.raters()
    }
    assert Counter(ratings(service).values()) == {1: 5}
    service.researchers.review_rater(rater, "pending")
    assert service.researchers.overview().arms[0].answered == 5, "others have the seats by now"
    history = service.database.read(
        lambda c: c.execute(select(reviews.c.verdict).order_by(reviews.c.id)).scalars().all()
    )
    assert list(history) == ["excluded", "pending"]
    assert good.number != bad.number


def test_reopening_in_time_takes_the_ratings_back(open_service: OpenService, tmp_path: Path) -> None:
    service = open_service(study(tmp_path, 5, raters=1, batch={"size": 5}))
    person = begun(service)
    work(service, person, pages=3)
    rater = service.researchers.raters()[0].rater
    service.researchers.review_rater(rater, "excluded")
    assert service.participants.step(person).kind == "screened_out"
    assert service.researchers.overview().arms[0].free == 5
    service.researchers.review_rater(rater, "approved")
    assert service.participants.step(person).position == 4
    work(service, person)
    service.participants.finish(person)
    assert Counter(ratings(service).values()) == {1: 5}
    assert service.researchers.overview().arms[0].free == 0


def test_unknown_raters_and_items_are_refused(open_service: OpenService, tmp_path: Path) -> None:
    service = open_service(study(tmp_path, 2))
    for ask in (lambda: service.researchers.review_rater("p-x", "approved"), lambda: service.researchers.item("nope")):
        with pytest.raises(Refused) as error:
            ask()
        assert error.value.kind == "unknown"


def test_items_show_their_answers(open_service: OpenService, tmp_path: Path, database: str) -> None:
    service = open_service(study(tmp_path, 12, raters=3, batch={"size": 12}), database)
    walked(service)
    walked(service, answer=careless)
    found = service.researchers.item("i004")
    warm, kind = found.distributions
    assert warm.counts == {"1": 0, "2": 0, "3": 1, "4": 0, "5": 1}
    assert (warm.mean, kind.counts, kind.mean) == (4.0, {"no": 1, "yes": 1}, None)
    assert (found.raters, found.record) == (2, {"text": "Text 4."})
    assert [(line.item, line.ratings) for line in service.researchers.items(start=3, count=2)] == [
        ("i003", 2),
        ("i004", 2),
    ]
    assert [line.item for line in service.researchers.items(find="i01")] == ["i010", "i011"]
    assert service.researchers.items(find="%") == []
    assert service.researchers.items(find="i004")[0].start == "Text 4."


def test_platform_ids_leave_only_when_asked_for(open_service: OpenService, tmp_path: Path) -> None:
    service = open_service(study(tmp_path, 3, recruitment={"via": "prolific", "completion_code": "C"}))
    walked(service, {"PROLIFIC_PID": "person5a9d64", "SESSION_ID": "s9"})
    plain, named = service.researchers.corpus(), service.researchers.platform_ids()
    assert "person5a9d64" not in str(plain.raters.to_dicts())
    assert named.select("platform_id", "SESSION_ID").row(0) == ("person5a9d64", "s9")
    assert plain.raters["rater"][0].startswith("p-")
    packed = zipfile.ZipFile(io.BytesIO(service.researchers.export_zip()))
    assert {Path(name).name for name in packed.namelist()} == {
        *("corpus.yaml", "items.parquet", "raters.parquet", "judgments.parquet"),
    }
    assert not any(b"person5a9d64" in packed.read(name) for name in packed.namelist())


def test_the_export_joins_the_corpus_and_can_be_repeated(open_service: OpenService, tmp_path: Path) -> None:
    plan = study(tmp_path, 4, raters=2, attention={"per_batch": 1})
    service = open_service(plan)
    walked(service)
    base = Corpus.read(plan.folder)
    whole = merged(base, service.researchers.corpus(), plan.id)
    write(whole, service.researchers.checks(), plan.folder)
    walked(service)
    again = merged(Corpus.read(plan.folder), service.researchers.corpus(), plan.id)
    write(again, service.researchers.checks(), plan.folder)
    found = Corpus.read(plan.folder)
    assert len(found.judgments) == 16
    assert found.judgments.columns[-2:] == ["seconds", "position"]
    assert (plan.folder / "checks.csv").read_text("utf-8").count("attention") == 2
    # The items were written again, with the same content: the study goes on.
    assert open_service(study_again(plan.folder, tmp_path)).researchers.overview().answers == 8


def study_again(folder: Path, tmp_path: Path):  # type: ignore[no-untyped-def]
    from vantage.collect.study import AnnotationStudy

    return AnnotationStudy.of(folder, tmp_path / "mine.yaml", raters=2, attention={"per_batch": 1})


def test_rationales_are_kept_and_shown(open_service: OpenService, tmp_path: Path) -> None:
    service = open_service(study(tmp_path, 2))
    person = begun(service)
    page = service.participants.page(person, 1)
    service.participants.submit(
        person, 1, {q.id: QuestionAnswer(1.0, rationale="<b>=1+1") for q in page.questions}, token=page.token
    )
    assert service.researchers.corpus().judgments["rationale"].to_list() == [None, None], (
        "the instrument asks for no reason"
    )


def test_passwords(open_service: OpenService, tmp_path: Path) -> None:
    service = open_service(study(tmp_path, 2))
    assert not service.researchers.has_password()
    assert service.researchers.role("", "") is None
    with pytest.raises(InputError, match="too short"):
        service.researchers.set_password("short")
    service.researchers.set_password("long enough")
    assert service.researchers.has_password()
    assert service.researchers.role("", "long enough") == "manage"
    assert service.researchers.role("", "Long enough") is None


def test_slow_results_wait_for_answers_but_not_for_decisions(
    open_service: OpenService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vantage.collect.researchers.QUICK", -1.0)
    monkeypatch.setattr("vantage.collect.researchers.PATIENCE", 1e6)
    service = open_service(study(tmp_path, 4, raters=3))
    walked(service)
    before = service.researchers.raters()
    walked(service)
    assert service.researchers.raters() is before
    assert len(service.researchers.corpus().raters) == 2, "an export is never stale"
    service.researchers.review_rater(before[0].rater, "approved")
    assert len(service.researchers.raters()) == 2


def test_while_one_request_computes_the_others_get_the_last_result(
    open_service: OpenService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = open_service(study(tmp_path, 4, raters=3))
    walked(service)
    before = service.researchers.raters()
    walked(service)
    started, proceed, rater_rows = Event(), Event(), quality.rater_rows

    def slow(*given: Any) -> list[RaterRow]:
        started.set()
        assert proceed.wait(30)
        return rater_rows(*given)

    monkeypatch.setattr(quality, "rater_rows", slow)
    with ThreadPoolExecutor(1) as pool:
        computing = pool.submit(service.researchers.raters)
        assert started.wait(30)
        assert service.researchers.raters() is before
        proceed.set()
        assert len(computing.result()) == 2
    assert len(service.researchers.raters()) == 2


def test_a_million_items_cost_a_page_no_more_than_a_thousand(open_service: OpenService, tmp_path: Path) -> None:
    """What a page asks of the database is found by keys: no step looks through the items."""
    service = open_service(study(tmp_path, 50, raters=1, batch={"size": 5}))
    begun(service)
    statements = (
        "SELECT record FROM items WHERE row = 7",
        "SELECT * FROM pages WHERE participant = 1 AND batch = 1 AND position = 1",
        "SELECT seat FROM returned WHERE arm = 0 AND seat > -1 ORDER BY seat LIMIT 500",
        "SELECT number FROM participants WHERE lease < 1",
        "SELECT answers FROM submissions WHERE page = 1 AND revision = 1",
    )
    for statement in statements:
        plan = service.database.read(lambda c, s=statement: c.exec_driver_sql(f"EXPLAIN QUERY PLAN {s}").all())  # type: ignore[misc]
        assert all("SEARCH" in step[-1] for step in plan), (statement, plan)


def test_counts_of_judgments_are_whole(open_service: OpenService, tmp_path: Path) -> None:
    service = open_service(study(tmp_path, 3))
    walked(service)
    assert service.researchers.corpus().judgments.select(pl.col("seconds").is_not_null().all()).item()


def test_the_dashboard_and_the_exported_corpus_give_the_same_alpha(open_service: OpenService, tmp_path: Path) -> None:
    service = open_service(study(tmp_path, 8, raters=3, batch={"size": 8}))
    for answer in (honest, honest, careless):
        walked(service, answer=answer)
    before = alpha(service.researchers.corpus(), by="question", ci="none")["estimate"].to_list()
    careless_one = next(row.rater for row in service.researchers.raters() if row.top_share == 1.0)
    service.researchers.review_rater(careless_one, "excluded")
    shown = service.researchers.reliability().filter(pl.col("measure") == "alpha").sort("question")
    measured = alpha(service.researchers.corpus(), by="question", ci="none")
    assert measured["estimate"].to_list() == pytest.approx(shown["estimate"].to_list())
    assert measured["estimate"].to_list() != pytest.approx(before)
    assert measured["left_out"].struct.field("excluded").to_list() == [8, 8]


def test_whoever_is_excluded_stops_there_and_leaves_a_place_in_the_quota(
    open_service: OpenService, tmp_path: Path
) -> None:
    trait = {"id": "gender", "ask": "Gender?", "options": ["man", "woman"], "required": True}
    flow = ["consent", {"questionnaire": {"questions": [trait]}}, {"block": {"id": "only", "batch": 4}}]
    platform = {"via": "prolific", "completion_code": "DONE", "screen_out_code": "OUT", "failed_check_code": "FAILED"}
    plan = study(tmp_path, flow=flow, quotas={"gender": {"man": 1}}, recruitment=platform)
    service = open_service(plan)

    def arrived(name: str) -> tuple[Participant, str]:
        person = service.participants.enter({"PROLIFIC_PID": name, "SESSION_ID": name})
        service.participants.give_consent(person, agreed=True)
        return person, service.participants.give_traits(person, {"gender": "man"}).kind

    ann, step = arrived("ann")
    assert step == "item"
    assert arrived("bob")[1] == "full"
    (rater,) = [one for one in service.researchers.platform_ids().iter_rows(named=True) if one["platform_id"] == "ann"]
    service.researchers.review_rater(rater["rater"], "excluded", "no")
    assert service.participants.step(ann).kind == "screened_out"
    assert service.participants.completion(ann).code == "FAILED"
    assert arrived("cem")[1] == "item"


def test_whoever_was_excluded_gets_no_more_work(open_service: OpenService, tmp_path: Path) -> None:
    service = open_service(study(tmp_path, batch={"size": 4, "per_participant": 2}))
    person, _ = walked(service)
    assert service.participants.step(person).more
    (row,) = service.researchers.raters()
    service.researchers.review_rater(row.rater, "excluded", "no")
    assert not service.participants.step(person).more
    with pytest.raises(Refused, match="no more work"):
        service.participants.another_batch(person)


def test_a_download_says_where_traits_single_people_out(open_service: OpenService, tmp_path: Path) -> None:
    service = open_service(study(tmp_path, traits=[{"id": "work", "ask": "Work?", "kind": "text"}]))
    for work_ in ("baker", "judge"):
        person = service.participants.enter({})
        service.participants.give_consent(person, agreed=True)
        service.participants.give_traits(person, {"work": work_})
        service.participants.confirm(person)
        work(service, person)
    with ZipFile(BytesIO(service.researchers.export_zip())) as packed:
        about = packed.read("mine/corpus.yaml").decode()
    assert "2 of 2 raters share their traits with fewer than 5 people" in about
