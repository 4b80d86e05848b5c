"""What researchers can do: follow progress and quality, review raters, look at items, invite, export."""

from __future__ import annotations

import json
import re
import secrets
import threading
import time
from collections.abc import Callable
from copy import copy
from itertools import product
from typing import Any, Final, TypeVar, cast, get_args

import polars as pl
from sqlalchemy import Connection, case, func, select

from vantage.collect import assignment, export, progress, quality
from vantage.collect.adapting import ArmState
from vantage.collect.answers import cleaned
from vantage.collect.database import StudyDatabase
from vantage.collect.export import RESEARCHER
from vantage.collect.outgoing import webhook_states
from vantage.collect.private import password_hash, password_matches, pseudonym
from vantage.collect.quality import RULE, decide, facts
from vantage.collect.study_setup import stored_items
from vantage.collect.tables import acting, invitations, pages, participants, record, reviews, submissions
from vantage.collect.views import (
    Invitation,
    ItemAnswers,
    ItemLine,
    Overview,
    RaterRow,
    Refused,
    Role,
    Verdict,
    WebhookState,
)
from vantage.corpora import Corpus
from vantage.corpora.disclosure import guard
from vantage.errors import InputError, nearest

T = TypeVar("T")
ROLES: Final[tuple[Role, ...]] = get_args(Role)
NAME: Final = re.compile(rf"(?!({RULE}|{RESEARCHER})$)[a-z][a-z0-9_-]{{0,31}}")
"""What a researcher may be called: nothing that stands for somebody else in the log."""
QUICK: Final = 0.2
PATIENCE: Final = 20
"""A result that took longer than `QUICK` seconds is reused for this many times as long."""


class ResearcherService:
    """What researchers can do. See `service` for the rules that hold for every method."""

    def __init__(self, database: StudyDatabase) -> None:
        self.database, self.study = database, database.study
        self.by = ""
        """The researcher who acts, for the log; empty for whoever has the study's files."""
        self._results: dict[str, tuple[Any, tuple[object, object], float]] = {}
        """Results with the state of the database they were computed from, and until when they may be reused."""
        self._computing = threading.RLock()

    def acting(self, researcher: str) -> ResearcherService:
        """The same service in the name of a researcher."""
        other = copy(self)
        other.by = researcher
        return other

    def has_password(self) -> bool:
        """Whether the study's password has been set."""
        return bool(self.database.private.setting("password"))

    def set_password(self, password: str, researcher: str = "", role: Role = "manage") -> None:
        """Stores the hash of a password, of the study (which may do everything) or of one researcher with a role.

        Their sessions end, with the study's password those of everybody, and wrong passwords are forgotten.
        """
        if len(password) < 8:
            raise InputError("The password is too short", remedy="use at least 8 characters")
        if researcher and not NAME.fullmatch(researcher):
            raise InputError(f"'{researcher}' is not a name", remedy="use up to 32 of a-z, 0-9, '-' and '_'")
        key, role_of = (f"password:{researcher}", f"{role} ") if researcher else ("password", "")
        self.database.private.set(key, role_of + password_hash(password))
        self.database.private.end_sessions(researcher)
        known = {"researcher": researcher, "role": role} if researcher else {}
        self.database.write(lambda c: record(c, "password set", **known))

    def remove_researcher(self, researcher: str) -> None:
        """Takes a researcher's password away and ends their sessions; what they did stays in the log."""
        if researcher not in (known := self.named()):
            raise InputError(f"There is no researcher '{researcher}'", remedy=nearest(researcher, list(known)))
        self.database.private.set(f"password:{researcher}", "")
        self.database.private.end_sessions(researcher)
        self.database.write(lambda c: record(c, "researcher removed", researcher=researcher))

    def named(self) -> dict[str, Role]:
        """The researchers who have a password of their own, with their roles."""
        names = self.database.private.settings("password:")
        return {name: role for name in names if (role := self.role(name)) is not None}

    def role(self, researcher: str = "", password: str | None = None) -> Role | None:
        """What a researcher may do; null for nobody, and where a password is given that is not theirs.

        Checking a password is deliberately slow, so limit attempts and keep it off the event loop.
        """
        stored = self.database.private.setting(f"password:{researcher}" if researcher else "password") or ""
        role, _, hashed = stored.rpartition(" ")
        if not hashed or (password is not None and not password_matches(password, hashed)):
            return None
        return next((one for one in ROLES if one == role), "manage")

    def overview(self) -> Overview:
        """The study's progress."""
        flagged = sum(1 for row in self.raters() if row.flags and row.verdict == "pending")
        more = {arm: state.expected for arm, state in enumerate(self.adaptive())}
        return self.database.read(lambda c: progress.overview(c, self.study, flagged, self.database.is_paused(c), more))

    def reliability(self) -> pl.DataFrame:
        """Agreement by question and condition with intervals; see `quality.reliability`.

        Excluded raters are left out. Recomputed only when answers or verdicts have changed.
        """
        return self._fresh("reliability", lambda: quality.reliability(self.study, quality.included(self._collected())))

    def adaptive(self) -> list[ArmState]:
        """How far items are known, by condition and group of questions; empty unless items are rated adaptively."""
        adapting = self.database.batches.adapting
        return [] if adapting is None else self.database.read(adapting.arm_states)

    def sequential(self) -> list[dict[str, Any]]:
        """Alpha by question and condition, with an interval that holds at all looks together, and what to do."""
        pools: dict[tuple[str, str], int] = {}
        sizes = {block.id: self.database.batches.arms[block.first_arm].pool for block in self.study.blocks}
        for block in self.study.blocks:
            for key in product(block.questions, block.conditions):
                known = pools.get(key, 0)
                pools[key] = known + sizes[block.id] if block.repeats is None else known or sizes[block.repeats]
        return self._fresh(
            "sequential", lambda: quality.sequential(self.study, quality.included(self._collected()), pools)
        )

    def raters(self, *, now: bool = False) -> list[RaterRow]:
        """Per-rater quality, flagged raters first. Recomputed only when something has changed.

        With `now`, also where that is slow: whoever pays raters must not rely on an earlier result.
        """

        def compute() -> list[RaterRow]:
            answered = func.count(case((pages.c.state == "answered", 1)))
            counts = select(pages.c.participant, answered, func.count())
            counts = counts.where(pages.c.position > 0, pages.c.state != "lapsed").group_by(pages.c.participant)
            shown = {who: (done, every) for who, done, every in self.database.read(lambda c: c.execute(counts).all())}
            known = self.database.read(lambda c: facts(c, self.study))
            return quality.rater_rows(self.study, self._collected(now=now), shown, self.database.key, known)

        return self._fresh("raters", compute, now=now)

    def review_rater(self, rater: str, verdict: Verdict, note: str = "", rule: str | None = None) -> None:
        """Approves, excludes or reopens ('pending') a rater, by pseudonym.

        Excluding a rater assigns their items to others; the excluded ratings stay in the export, marked with the rule
        (by default the flags that the rater has, or "judgment") and the reason. Reopening restores the ratings of items
        that nobody else has been assigned since.
        """
        note = cleaned(note)[:1000]
        if verdict != "excluded":
            rule = ""
        elif rule is None:
            flags = next((row.flags for row in self.raters() if row.rater == rater), ())
            rule = "; ".join(flags) or "judgment"
        rule = cleaned(rule)[:1000]

        def job(connection: Connection) -> None:
            query = select(participants).where(participants.c.rater == rater).with_for_update()
            person = connection.execute(query).one_or_none()
            if person is None:
                raise Refused(f"There is no rater '{rater}'.", "unknown")
            decide(connection, person, verdict, note, rule=rule, by=self.by or RESEARCHER)
            if person.stage == "finished" and person.verdict == "excluded" != verdict:
                traits = json.loads(person.traits or "{}")
                assignment.take_quotas(connection, self.study.plan.quotas, person.number, traits)

        self.database.write(job)

    def pause(self, paused: bool = True) -> None:
        """Pauses or resumes the study: participants see `paused`; pages they have open can still be submitted."""
        self.database.pause(paused, self.by)

    def items(self, start: int = 0, count: int = 50, find: str = "") -> list[ItemLine]:
        """A range of the items, or those whose id starts with `find`."""
        return self.database.read(lambda c: progress.item_lines(c, start, count, find))

    def item(self, item: str) -> ItemAnswers:
        """An item with the distribution of its answers and the rationales."""
        return self.database.read(lambda c: progress.item_answers(c, self.study, item))

    def invite(self, count: int, note: str = "") -> list[Invitation]:
        """Creates invitations."""
        if not 1 <= count <= 10_000:
            raise InputError(f"Cannot create {count} invitations", remedy="ask for 1 to 10,000")
        note = cleaned(note)[:200]
        made = [{"token": secrets.token_urlsafe(16), "note": note, "made_at": time.time()} for _ in range(count)]

        def job(connection: Connection) -> None:
            connection.execute(invitations.insert(), made)
            record(connection, "invited", count=count, note=note, **acting(self.by))

        self.database.write(job)
        return [Invitation(str(one["token"]), note) for one in made]

    def invitations(self) -> list[Invitation]:
        """All invitations, the latest first, and whether each has been used."""
        query = select(invitations).order_by(invitations.c.made_at.desc(), invitations.c.token)
        raters = select(participants.c.rater).where(participants.c.source == "invitation")
        rows, used = self.database.read(lambda c: (c.execute(query).all(), set(c.execute(raters).scalars())))
        key = self.database.key
        return [Invitation(row.token, row.note, pseudonym(key, "invitation", row.token) in used) for row in rows]

    def webhooks(self) -> list[WebhookState]:
        """The addresses that receive events, and what waits for them."""
        return self.database.read(lambda c: webhook_states(c, self.study.plan.webhooks))

    def corpus(self) -> Corpus:
        """Everything collected so far as a corpus: the study's items, human raters and their judgments."""
        items = self.database.read(lambda c: stored_items(c, self.study))
        return export.corpus_of(self.study, self._collected(now=True), items)

    def checks(self) -> pl.DataFrame:
        """Answers to attention checks and gold items, separate from the judgments."""
        return self._collected(now=True).checks

    def platform_ids(self) -> pl.DataFrame:
        """Who the raters are on their platform, one row for each submission there, with times and how it ended.

        Also those who were screened out or did not finish. Of those whose answers were deleted no id is left.
        """
        return export.platform_table(self._collected(now=True).people, self.database.private.identities())

    def export_zip(self) -> bytes:
        """The exported corpus folder and the checks as one zip file, whose notes say if traits single people out."""
        self.note_export("zip")
        return export.zipped(guard(self.corpus(), allow_unique=True), self.checks(), self.study.id)

    def note_export(self, what: str) -> None:
        """Records that data left the database."""
        self.database.write(lambda c: record(c, "exported", what=what, **acting(self.by)))

    def log(self) -> pl.DataFrame:
        """Everything that happened, in order; see `progress.log`."""
        return self.database.read(progress.log)

    def _collected(self, *, now: bool = False) -> export.Collected:
        return self._fresh("collected", lambda: self.database.read(lambda c: export.collected(c, self.study)), now=now)

    def _fresh(self, name: str, compute: Callable[[], T], *, now: bool = False) -> T:
        """The cached result unless the data changed since; one computation at a time.

        A slow result is not recomputed for every new answer, so that a dashboard never slows participants down; the
        researcher's own decisions show at once. While one request computes, others get the last result.
        """
        result = self._results.get(name)
        if not self._computing.acquire(blocking=now or result is None) and result is not None:
            return cast("T", result[0])
        try:
            state = self.database.read(_state)
            value, known, until = self._results.get(name, (None, (None, None), 0.0))
            if known[0] != state[0] or (known != state and (now or time.monotonic() > until)):
                start = time.monotonic()
                value = compute()
                took = time.monotonic() - start
                until = time.monotonic() + (took * PATIENCE if took > QUICK else 0.0)
                self._results[name] = value, state, until
            return cast("T", value)
        finally:
            self._computing.release()


def _state(connection: Connection) -> tuple[object, object]:
    """A fingerprint of the data: decisions and withdrawals, and answers."""
    at = select(func.count()).select_from(participants)
    query = select(
        select(func.max(reviews.c.id)).scalar_subquery(),
        at.where(participants.c.stage == "withdrawn").scalar_subquery(),
        at.where(participants.c.stage == "finished").scalar_subquery(),
        select(func.max(submissions.c.id)).scalar_subquery(),
    )
    decided, withdrawn, finished, answered = connection.execute(query).one()
    return (decided, withdrawn), (finished, answered)
