"""Pages of a batch: reading one for display, and storing answers. Statements are compiled once and reused."""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Select, and_, bindparam, insert, select, update
from sqlalchemy.engine import Row

from vantage.collect import assignment, drafts
from vantage.collect.answers import read
from vantage.collect.blocks import Block, decoded
from vantage.collect.languages import sentence
from vantage.collect.study import AnnotationStudy
from vantage.collect.tables import evidence, items, pages, participants, submissions
from vantage.collect.views import ItemPage, Refused, Step, Submitted

_SHOWN = ("id", "position", "question_set", "condition", "kind", "check", "revision", "shown_at")
OPENED: Final[Select[Any]] = (
    select(
        *(*participants.c, *(pages.c[name].label(f"page_{name}") for name in _SHOWN)),
        *(items.c.record, submissions.c.answers.label("earlier"), drafts.OF_PAGE.label("draft")),
    )
    .outerjoin(
        pages,
        and_(
            *(pages.c.participant == participants.c.number, pages.c.batch == participants.c.batch),
            *(pages.c.position == bindparam("position"), pages.c.state != "lapsed"),
        ),
    )
    .outerjoin(items, items.c.row == pages.c.row)
    .outerjoin(submissions, and_(submissions.c.page == pages.c.id, submissions.c.revision == pages.c.revision))
    .where(participants.c.number == bindparam("number"))
)
"""A participant with the page at a position of their batch, its item, earlier answers and draft: all that it shows."""
_LAST = select(submissions.c.answers).where(
    submissions.c.page == bindparam("page"), submissions.c.revision == bindparam("revision")
)
_OWN = (
    select(
        *(pages.c.id, pages.c.position, pages.c.state, pages.c.revision, pages.c.arm, pages.c.row),
        *(pages.c.participant, pages.c.batch, pages.c.seat, pages.c.occasion, pages.c.shown_at, pages.c.question_set),
        (pages.c.batch == participants.c.batch).label("present"),
        *(participants.c.number, participants.c.stage, participants.c.verdict, participants.c.lease),
        *(participants.c.pages, participants.c.answered, participants.c.deadline),
    )
    .join(participants, participants.c.number == pages.c.participant)
    .where(
        pages.c.id.in_(bindparam("pages", expanding=True)),
        participants.c.number.in_(bindparam("numbers", expanding=True)),
    )
    .order_by(participants.c.number)  # the order in which they are locked
    .with_for_update()
)
_TOKEN = select(submissions.c.revision).where(
    submissions.c.page == bindparam("page"), submissions.c.token == bindparam("token")
)
_INSERT, _COUNTS = insert(submissions), insert(evidence)
_ANSWERED = (
    update(pages).where(pages.c.id == bindparam("of")).values(state="answered", revision=bindparam("new_revision"))
)
_LEASE = (
    update(participants)
    .where(participants.c.number == bindparam("own"))
    .values(lease=bindparam("until"), answered=bindparam("count"))
)

_TOKEN_PARTS: Final = re.compile(r"([0-9]{1,18})\.([0-9]{1,9})\.[A-Za-z0-9_-]{1,60}")
GRACE: Final = 10.0
"""Seconds after the end of a time limit in which answers are still stored, for slow connections."""
OVER: Final = sentence(
    "The time for this part is over. Your answers so far are saved. Please continue with the next part."
)
GONE: Final = sentence(
    "You were away for a while, and somebody else has this text now. The answers you saved before are safe. "
    "Please continue with the next text."
)


@dataclass(frozen=True, slots=True)
class Submission:
    """The answers of one page, checked and as stored."""

    participant: int
    page: int
    group: int
    position: int
    token: str
    answers: str
    seconds: float | None
    evidence: str | None = None
    limit: float | None = None
    """The time limit of the page in seconds."""


def page_of(token: str) -> tuple[int, int]:
    """The page that a token belongs to, and its set of questions, which never changes; `Refused` for anything else."""
    match = _TOKEN_PARTS.fullmatch(token)
    if match is None:
        raise Refused(sentence("This form is damaged. Please open the page again."), "conflict")
    return int(match[1]), int(match[2])


def item_page(study: AnnotationStudy, opened: Row[Any], step: Step) -> ItemPage:
    """The page of a participant, with earlier answers."""
    if opened.page_id is None:
        raise Refused(sentence("There is no such page."), "unknown")
    group: int = opened.page_question_set
    block, seen = study.block(group), study.shown(group, opened.number, opened.page_id)
    earlier = read(opened.earlier) if opened.earlier else {}
    check = opened.page_check
    instruction = study.said(block.checks[check].instruction) if opened.page_kind == "attention" else ""
    known = json.loads(opened.record or "null")
    record = _substitute(block, check, instruction) if known is None else study.shown_item(known)
    if instruction and block.attention and block.attention.placed == "inside":
        record, instruction = _with_instruction(block, record, instruction), ""
    return ItemPage(
        position=opened.page_position,
        pages=step.pages,
        answered=step.answered,
        condition=opened.page_condition,
        record=record,
        questions=seen[0],
        group=group,
        presentations=tuple(str(way) for way in seen[1]),
        instruction=instruction,
        earlier=decoded(earlier, seen),
        # The page's number ties the answers to this page, whatever else is open in another tab.
        token=f"{opened.page_id}.{group}.{secrets.token_urlsafe(9)}",
        draft=drafts.decoded(opened.draft),
        left=step.left,
        share=step.share,
        seconds_left=_left(step, opened, block.page_seconds),
    )


def _left(step: Step, opened: Row[Any], limit: float | None) -> float | None:
    """The time left for a page: that of its block, or its own, whichever is less."""
    shown_at = opened.page_shown_at or time.time()
    own = limit and not opened.page_revision and limit - (time.time() - shown_at)
    times = [seconds for seconds in (step.seconds_left, own) if isinstance(seconds, float)]
    return max(0.0, min(times)) if times else None


def show(connection: Connection, page: int) -> None:
    """Starts the clock of a page with a time limit."""
    connection.execute(update(pages).where(pages.c.id == page, pages.c.shown_at.is_(None)).values(shown_at=time.time()))


def already_saved(connection: Connection, token: str) -> bool:
    """Whether answers with this token are stored."""
    return connection.execute(_TOKEN, {"page": page_of(token)[0], "token": token}).first() is not None


def save(connection: Connection, every: Sequence[Submission], lease: float) -> list[Submitted | Refused]:
    """Stores submissions of different participants, with one statement of each kind for all of them.

    A repeated one is stored once. Reservations are extended to `lease` seconds from now.
    """
    wanted = {"pages": [new.page for new in every], "numbers": [new.participant for new in every]}
    own: dict[int, Any] = {page.id: page for page in connection.execute(_OWN, wanted)}
    now, results = time.time(), list[Submitted | Refused]()
    rows, counts, answered, held, sent = (list[dict[str, Any]]() for _ in range(5))
    for new in every:
        try:
            done = _accepted(connection, own.get(new.page), new)
        except Refused as refused:
            results.append(refused)
            continue
        results.append(done)
        if done.repeated or done.late:
            continue
        place = {"page": new.page, "revision": done.revision}
        rows.append({**place, "token": new.token, "answers": new.answers, "seconds": new.seconds, "at": now})
        counts += [{**place, "counts": new.evidence}] if new.evidence is not None else []
        answered.append({"of": new.page, "new_revision": done.revision})
        sent.append({"who": new.participant, "where": drafts.item_place(new.page)})
        if not done.expired:
            held.append({"own": new.participant, "until": now + lease, "count": done.step.answered})
    made = ((_INSERT, rows), (_COUNTS, counts), (_ANSWERED, answered), (_LEASE, held), (drafts.DROP, sent))
    for statement, parameters in made:
        if parameters:
            connection.execute(statement, parameters)
    return results


def _accepted(connection: Connection, page: Row[Any] | None, new: Submission) -> Submitted:
    """What a submission leads to; `Refused` where it cannot be stored."""
    if page is None or page.number != new.participant or page.question_set != new.group:
        raise Refused(sentence("There is no such page."), "unknown")
    if page.revision:
        again = connection.execute(_TOKEN, {"page": page.id, "token": new.token}).scalar_one_or_none()
        last = connection.execute(_LAST, {"page": page.id, "revision": page.revision}).scalar_one()
        if again is not None or (last == new.answers and page.present):
            return Submitted(page.position, page.revision, repeated=True)
    if page.stage != "working" or not page.present or page.verdict == "excluded":
        raise Refused(sentence("Your answers are final and can no longer be changed."), "conflict")
    lapsed, now = page.state == "lapsed", time.time()
    if page.deadline and now > page.deadline + GRACE:
        raise Refused(OVER, "conflict")
    if lapsed and not (
        page.position > 0 and (page.occasion or assignment.reclaim(connection, page.id, page.arm, page.row))
    ):
        raise Refused(GONE, "conflict", sentence("Somebody else has this text now"))
    if new.limit and page.state == "open" and page.shown_at and now > page.shown_at + new.limit + GRACE:
        return Submitted(page.position, page.revision, late=True)
    if not lapsed and (page.position != new.position or new.position > page.answered + 1):
        raise Refused(sentence("This page has moved. Please open it again."), "conflict")
    if page.lease is None:
        return Submitted(page.position, page.revision + 1, expired=True)
    step = Step.in_batch(page.pages, page.answered + (page.state != "answered"))
    return Submitted(page.position, page.revision + 1, step=step)


def _with_instruction(block: Block, record: Mapping[str, Any], instruction: str) -> dict[str, Any]:
    """An item with an instruction at the end of what is judged, so that only those who read it will see it."""
    shown = [field.name for field in block.instrument.fields if field.kind != "target" and record.get(field.name)]
    name = shown[-1] if shown else block.instrument.fields[-1].name
    text = record.get(name) or ""
    if isinstance(text, list):
        *turns, last = text
        return {**record, name: [*turns, {**last, "text": f"{last['text']}\n\n{instruction}"}]}
    return {**record, name: f"{text}\n\n{instruction}".strip()}


def _substitute(block: Block, check: str, instruction: str) -> Mapping[str, Any]:
    """What an attention check shows where no item can be spared: an example, or its own instruction."""
    examples = block.instrument.examples
    if examples:
        return examples[len(check) % len(examples)].item
    return {
        field.name: [{"speaker": "", "text": instruction}] if field.kind == "conversation" else instruction
        for field in block.instrument.fields
    }
