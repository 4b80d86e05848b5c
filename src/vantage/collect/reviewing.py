"""Decisions about raters: by a researcher, or by a rule of the study file when a rater finishes."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from itertools import groupby
from statistics import median
from typing import Any, Final

from sqlalchemy import Connection, select, update
from sqlalchemy.engine import Row

from vantage.collect import assignment
from vantage.collect.export import passed_check
from vantage.collect.rules import RaterFact, Rule
from vantage.collect.study import AnnotationStudy
from vantage.collect.tables import items, pages, participants, reviews, submissions
from vantage.collect.views import Verdict

RESEARCHER: Final = "researcher"
RULE: Final = "rule"


def decide(
    connection: Connection, person: Row[Any], verdict: Verdict, note: str, *, rule: str = "", by: str = RESEARCHER
) -> None:
    """Records a verdict with who decided and the rule applied, and assigns the work of an excluded rater to others."""
    if verdict == "excluded":
        assignment.release(connection, person.number, ["answered"])
        assignment.release(connection, person.number, ["open"], becomes="lapsed")
        assignment.free_quotas(connection, [person.number])
    elif person.verdict == "excluded":
        own = (pages.c.participant == person.number, pages.c.state == "answered", pages.c.kind == "item")
        for page in connection.execute(select(pages).where(*own, pages.c.seat.is_(None))).all():
            assignment.reclaim(connection, page.id, page.arm, page.row)
    # A participant who is still working gets the open pages back on their next request.
    lease = None if verdict == "excluded" else person.lease
    changed = update(participants).where(participants.c.number == person.number)
    connection.execute(changed.values(verdict=verdict, note=note, rule=rule, lease=lease))
    review = {"participant": person.number, "verdict": verdict, "note": note, "rule": rule}
    connection.execute(reviews.insert(), {**review, "decided_by": by, "at": time.time()})


def apply_rules(connection: Connection, study: AnnotationStudy, person: Row[Any]) -> None:
    """Excludes a rater who breaks a rule of the study file; a researcher's verdict stands."""
    if person.verdict != "pending" or not any(part.exclude for part in study.plan.rules):
        return
    known = facts(connection, study, person.number)
    for part in study.plan.rules:
        if part.exclude and Rule.parse(part.exclude).breaks(known):
            decide(connection, person, "excluded", "", rule=part.exclude, by=RULE)
            return


def broken_rules(connection: Connection, study: AnnotationStudy) -> dict[int, list[str]]:
    """The rules that flag participants, by their number."""
    rules = [part.flag for part in study.plan.rules if part.flag]
    if not rules:
        return {}
    numbers = connection.execute(select(pages.c.participant).where(pages.c.state == "answered").distinct()).scalars()
    known = {number: facts(connection, study, number) for number in numbers.all()}
    return {number: [rule for rule in rules if Rule.parse(rule).breaks(own)] for number, own in known.items()}


def facts(connection: Connection, study: AnnotationStudy, participant: int) -> dict[str, RaterFact]:
    """What rules look at, from a participant's current answers."""
    query = (
        select(*(pages.c[name] for name in ("kind", "check", "question_set")), items.c.item, submissions.c.answers)
        .add_columns(submissions.c.seconds)
        .join(submissions, (submissions.c.page == pages.c.id) & (submissions.c.revision == pages.c.revision))
        .outerjoin(items, items.c.row == pages.c.row)
        .where(pages.c.participant == participant, pages.c.state == "answered")
        .order_by(pages.c.batch, pages.c.position)
    )
    seen = [
        (kind, check, group, item, json.loads(answered), seconds)
        for kind, check, group, item, answered, seconds in connection.execute(query)
    ]
    by_name: dict[str, RaterFact] = {}
    for name in ("attention", "gold"):
        tested = [(check, group, answered) for kind, check, group, _, answered, _ in seen if kind == name]
        results = [_failed(study, name, *one) for one in tested]
        if results:
            by_name[f"failed {name}"] = RaterFact(sum(results) / len(results), len(results))
    judged = [(item, answered, seconds) for kind, _, _, item, answered, seconds in seen if kind == "item"]
    if times := [seconds for _, _, seconds in judged if seconds is not None]:
        by_name["seconds"] = RaterFact(median(times), len(times))
    answers: dict[str, list[str]] = {}
    rated = {question.id for question in study.rated}
    for _, answered, _ in judged:
        for question in rated & answered.keys():
            answers.setdefault(question, []).append(str(answered[question][:2]))
    if answers:
        many = min(map(len, answers.values()))
        runs = max(len([*run]) for given in answers.values() for _, run in groupby(given))
        same = max(max(map(given.count, set(given))) / len(given) for given in answers.values())
        by_name |= {"longest run": RaterFact(runs, many), "same answer": RaterFact(same, many)}
    reasons = [(item, question, answered[question][2]) for item, answered, _ in judged for question in answered]
    copied, compared = study.model_reasons.copied([one for one in reasons if one[2]])
    if compared:
        by_name["copied reasons"] = RaterFact(sum(copied.values()) / compared, compared)
    return by_name


def _failed(study: AnnotationStudy, kind: str, check: str, group: int | None, answers: Mapping[str, Any]) -> bool:
    block = study.blocks[0] if group is None else study.block(group)
    results = (passed_check(block, kind, check, question, answer[0]) for question, answer in answers.items())
    return any(result is False for result in results)
