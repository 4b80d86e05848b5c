"""A study's progress: ratings per arm, the items with their answers, and everything that happened."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from statistics import median
from typing import Any, Final

import polars as pl
from sqlalchemy import ColumnElement, Connection, and_, case, func, or_, select, true

from vantage.collect.answers import marked_words
from vantage.collect.study import AnnotationStudy
from vantage.collect.tables import acting, arms, events, items, pages, participants, reviews, submissions
from vantage.collect.views import AnswerDistribution, ArmProgress, ItemAnswers, ItemLine, Overview, Refused
from vantage.collect.web.item_view import texts
from vantage.instruments import Question

RECENT: Final = 5000
"""Number of latest submissions that median times are computed from."""
HOUR: Final = 3600
COLUMNS: Final = 48
COUNTED: Final = or_(pages.c.seat.is_not(None), and_(pages.c.occasion > 0, participants.c.verdict != "excluded"))
"""Pages that count: items that are judged once more have no seat, and those of excluded raters do not count."""
LOG: Final[dict[str, Any]] = {"at": pl.Datetime("ms"), "event": pl.String, "rater": pl.String, "detail": pl.String}


def overview(
    connection: Connection, study: AnnotationStudy, flagged: int, paused: bool, more: Mapping[int, int]
) -> Overview:
    """Progress of every arm, and the number of participants at each stage.

    `more` is how many ratings beyond the core of an adaptive arm are expected to be wanted still.
    """
    by_state = select(pages.c.arm, pages.c.state, func.count()).group_by(pages.c.arm, pages.c.state)
    by_state = by_state.join(participants, participants.c.number == pages.c.participant).where(COUNTED)
    counts: dict[tuple[int, str], int] = {(arm, state): n for arm, state, n in connection.execute(by_state)}
    by_arm = select(pages.c.arm, func.count(pages.c.participant.distinct()).label("n")).group_by(pages.c.arm)
    assigned = by_arm.where(pages.c.seat.is_not(None) | (pages.c.occasion > 0))
    people: dict[int, int] = {row.arm: row.n for row in connection.execute(assigned)}
    by_stage = select(participants.c.stage, func.count().label("n")).group_by(participants.c.stage)
    hour = func.round(submissions.c.at / HOUR - 0.5).label("hour")  # neither database rounds down by a common name
    by_hour = select(hour, func.count()).join(pages, pages.c.id == submissions.c.page).group_by("hour")
    by_hour = by_hour.where(submissions.c.revision == 1, pages.c.kind == "item")
    times = _times(connection)
    answered = select(func.count()).where(pages.c.kind == "item", pages.c.state == "answered")
    all_arms = connection.execute(select(arms).order_by(arms.c.arm)).all()
    free = {arm.arm: arm.seats - arm.next_seat + arm.returned + more.get(arm.arm, 0) for arm in all_arms}
    return Overview(
        arms=tuple(
            ArmProgress(
                block=study.block(arm.question_set).id,
                condition=arm.condition,
                questions=tuple(q.id for q in study.group(arm.question_set)),
                wanted=sum(counts.get((arm.arm, state), 0) for state in ("answered", "open")) + free[arm.arm]
                if study.block(arm.question_set).repeats is None
                else arm.seats,
                answered=counts.get((arm.arm, "answered"), 0),
                reserved=counts.get((arm.arm, "open"), 0),
                free=free[arm.arm],
                participants=people.get(arm.arm, 0),
                seconds=median(times[arm.arm]) if arm.arm in times else None,
            )
            for arm in all_arms
        ),
        participants={row.stage: row.n for row in connection.execute(by_stage)},
        items=connection.execute(select(func.max(items.c.row))).scalar_one() + 1,
        answers=connection.execute(answered).scalar_one(),
        flagged=flagged,
        paused=paused,
        funnel=_funnel(connection),
        by_time=by_time([(HOUR * at, n) for at, n in connection.execute(by_hour)]),
    )


def _funnel(connection: Connection) -> dict[str, int]:
    """How many people came, agreed, answered a page and finished; of those who declined nothing more is known."""
    own = select(pages.c.id).where(pages.c.participant == participants.c.number, pages.c.state == "answered")
    steps = {
        "came": true(),
        "agreed": participants.c.consented_at.is_not(None),
        "answered a page": own.exists(),
        "finished": participants.c.stage == "finished",
    }
    counts = [func.count(case((met, 1))) for met in steps.values()]
    return dict(zip(steps, connection.execute(select(*counts).select_from(participants)).one(), strict=True))


def by_time(amounts: Iterable[tuple[float, float]]) -> tuple[tuple[str, float], ...]:
    """The sums of amounts, each with its time, in equal steps of an hour or more, none left out in between (UTC).

    >>> by_time([(0.0, 2), (10.0, 1), (7300.0, 4)])
    (('1970-01-01 00:00', 3), ('1970-01-01 01:00', 0), ('1970-01-01 02:00', 4))
    >>> by_time([(0.0, 2), (86400.0 * 3, 1)])[1]
    ('1970-01-02', 0)
    """
    known = sorted(amounts)
    if not known:
        return ()
    steps = (HOUR * hours for hours in (1, 24, 7 * 24, 28 * 24, 365 * 24))
    step = next((one for one in steps if (known[-1][0] - known[0][0]) / one < COLUMNS), 10 * 365 * 24 * HOUR)
    sums: dict[int, float] = dict.fromkeys(range(int(known[0][0] // step), int(known[-1][0] // step) + 1), 0)
    for at, amount in known:
        sums[int(at // step)] += amount
    shown = "%Y-%m-%d %H:%M" if step == HOUR else "%Y-%m-%d"
    return tuple((datetime.fromtimestamp(n * step, UTC).strftime(shown), amount) for n, amount in sums.items())


def _times(connection: Connection) -> dict[int, list[float]]:
    last = select(submissions.c.page, submissions.c.seconds).order_by(submissions.c.id.desc()).limit(RECENT).subquery()
    query = select(pages.c.arm, last.c.seconds).join(last, last.c.page == pages.c.id)
    times: dict[int, list[float]] = {}
    for arm, seconds in connection.execute(query.where(pages.c.arm.is_not(None), last.c.seconds.is_not(None))):
        times.setdefault(arm, []).append(seconds)
    return times


def item_lines(connection: Connection, start: int, count: int, find: str) -> list[ItemLine]:
    """A range of the items, or those whose id starts with `find`, with their numbers of ratings."""
    rated, held = (func.count(case((and_(pages.c.state == state, COUNTED), 1))) for state in ("answered", "open"))
    chosen: ColumnElement[bool] = (items.c.row >= start) & (items.c.row < start + count)
    if find:
        # PostgreSQL orders text by the rules of a language, so a prefix is not a range of ids there.
        chosen = items.c.item.startswith(find, autoescape=True)
    lines = select(items).where(chosen).order_by(items.c.row).limit(count).subquery()
    query = (
        select(lines.c.item, lines.c.record, rated, held)
        .outerjoin(pages, and_(pages.c.row == lines.c.row, pages.c.kind == "item"))
        .outerjoin(participants, participants.c.number == pages.c.participant)
        .group_by(lines.c.row, lines.c.item, lines.c.record)
        .order_by(lines.c.row)
    )
    rows = connection.execute(query)
    return [ItemLine(item, _start(json.loads(record)), n, m) for item, record, n, m in rows]


def item_answers(connection: Connection, study: AnnotationStudy, name: str) -> ItemAnswers:
    """An item with the distribution of its answers: the first of each rater, without excluded raters."""
    item = connection.execute(select(items).where(items.c.item == name)).one_or_none()
    if item is None:
        raise Refused(f"There is no item '{name}'.", "unknown")
    query = (
        select(participants.c.rater, pages.c.condition, submissions.c.answers, participants.c.language)
        .join(participants, participants.c.number == pages.c.participant)
        .join(submissions, and_(submissions.c.page == pages.c.id, submissions.c.revision == pages.c.revision))
        .where(pages.c.row == item.row, pages.c.kind != "attention", participants.c.verdict != "excluded")
        .order_by(participants.c.number, pages.c.occasion)
    )
    record = json.loads(item.record)
    given = [
        (rater, condition, json.loads(answers), study.in_language(language).shown_item(record))
        for rater, condition, answers, language in connection.execute(query)
    ]
    distributions = [
        _distribution(question, condition, [one for one in given if one[1] == condition])
        for question in study.questions
        for condition in sorted({seen for _, seen, *_ in given}) or study.conditions
    ]
    raters = {rater for rater, *_ in given}
    return ItemAnswers(name, record, tuple(distributions), len(raters), name in study.kept_apart)


def _distribution(
    question: Question, condition: str, given: Sequence[tuple[str, str, dict[str, Any], Mapping[str, Any]]]
) -> AnswerDistribution:
    scale = question.scale
    counts = {option.name: 0 for option in scale.options} | {opt_out.label: 0 for opt_out in scale.opt_outs}
    labels: dict[str, str] = {opt_out.status: opt_out.label for opt_out in scale.opt_outs}
    rationales, values, counted = [], [], set()
    for rater, _, answers, record in given:
        if question.id not in answers or rater in counted:
            continue
        counted.add(rater)
        value, status, rationale, *more = answers[question.id]
        if more[2:]:
            rationale = marked_words(question, record, more[2])
        label = scale.label(value) if value is not None else labels.get(status, status)
        counts[label] = counts.get(label, 0) + 1
        if value is not None:
            values.append(value)
        if rationale:
            rationales.append((rater, label, rationale))
    mean = sum(values) / len(values) if values and scale.ordered else None
    return AnswerDistribution(question.id, condition, counts, mean, tuple(rationales))


def _start(record: dict[str, Any]) -> str:
    text = " ".join(next(filter(None, texts(record).values()), "").split())
    return text if len(text) <= 90 else text[:89] + "…"


def log(connection: Connection) -> pl.DataFrame:
    """Everything that happened, in order (UTC): events, decisions, and every revision of every submission."""
    rows = [(row.at, row.kind, row.rater, row.detail) for row in connection.execute(select(events))]
    decided = select(reviews, participants.c.rater).join(participants, participants.c.number == reviews.c.participant)
    for row in connection.execute(decided):
        named = {} if row.decided_by in ("researcher", "rule") else acting(row.decided_by)
        detail = json.dumps({"rule": row.rule, "reason": row.note, **named}, ensure_ascii=False)
        rows.append((row.at, row.verdict, row.rater, detail))
    saved = (
        select(submissions.c.at, submissions.c.revision, submissions.c.page, participants.c.rater)
        .join(pages, pages.c.id == submissions.c.page)
        .join(participants, participants.c.number == pages.c.participant)
    )
    rows += [
        (row.at, "submitted", row.rater, json.dumps({"page": row.page, "revision": row.revision}))
        for row in connection.execute(saved)
    ]
    rows.sort(key=lambda row: row[0])
    return pl.DataFrame([(round(at * 1000), *rest) for at, *rest in rows], schema=LOG, orient="row")
