"""An opened study: the study file, its database, and what both sides of the desk need of them."""

from __future__ import annotations

import json
import time
from typing import Any, Final

from sqlalchemy import Connection, bindparam, select
from sqlalchemy.engine import Row

from vantage.collect.batches import Batches
from vantage.collect.opening import arms_of, open_store, read_setting, write_setting
from vantage.collect.pseudonyms import code_of, derived
from vantage.collect.study import Study
from vantage.collect.tables import items, participants
from vantage.collect.views import Completion, Refused

PROLIFIC: Final = "https://app.prolific.com/submissions/complete?cc={code}"
REMEMBERED: Final = 1.0
"""For how many seconds a worker relies on what it knows of the pause, which another worker may have changed."""

_BY_NUMBER = select(participants).where(participants.c.number == bindparam("number"))
_LOCKED = _BY_NUMBER.with_for_update()


class Opened:
    """A study with its database open."""

    def __init__(self, study: Study, database: str | None = None) -> None:
        self.study = study
        self.store = open_store(study, database)
        told = self.store.read(lambda c: {key: read_setting(c, key) or "" for key in ("secret", "count", "gold")})
        self._secret = told["secret"]
        gold_rows = tuple(json.loads(told["gold"]))
        seats = arms_of(study, int(told["count"]), gold_rows)
        self._batches = Batches(study, seats, self.store.read(lambda c: _ids(c, gold_rows)))
        self._paused = (False, 0.0)

    def close(self) -> None:
        """Finishes what waits and closes the database."""
        self.store.close()

    def secret(self, purpose: str) -> bytes:
        """32 bytes for signing cookies and the like: the same for every worker and after a restart; per purpose."""
        return derived(self._secret, f"page:{purpose}")

    @property
    def paused(self) -> bool:
        """Whether the researcher has paused the study."""
        return self.store.read(self._is_paused)

    def _is_paused(self, connection: Connection) -> bool:
        known, until = self._paused
        if time.monotonic() > until:
            known = read_setting(connection, "paused") == "yes"
            self._paused = (known, time.monotonic() + REMEMBERED)
        return known

    def pause(self, paused: bool = True) -> None:
        """Pauses or resumes the study: participants see `paused`; answers in flight are still taken."""
        self.store.write(lambda c: write_setting(c, "paused", "yes" if paused else ""))
        self._paused = (paused, time.monotonic() + REMEMBERED)

    def _person(self, connection: Connection, number: int, *, lock: bool = False) -> Row[Any]:
        found = connection.execute(_LOCKED if lock else _BY_NUMBER, {"number": number}).one_or_none()
        if found is None:
            raise Refused(
                "We do not know you any more. Please open the study from the link that you were sent.", "unknown"
            )
        return found

    def _completion(self, person: Row[Any]) -> Completion:
        """With what a participant leaves from the stage they are at."""
        plan = self.study.recruitment
        if person.stage == "withdrawn":
            return Completion()
        done = person.stage == "finished"
        if plan.via == "prolific" and person.source == "prolific":
            code = plan.completion_code if done else plan.screen_out_code
            code = plan.full_code if person.stage == "full" else code
            url = plan.completion_url if done and plan.completion_url else PROLIFIC
            return Completion(code, url.replace("{code}", code or "") if code or "{code}" not in url else None)
        if not done:
            return Completion()
        code = code_of(self._secret, person.rater) if person.source == "mturk" else plan.completion_code
        return Completion(code, plan.completion_url.replace("{code}", code or "") if plan.completion_url else None)


def _ids(connection: Connection, rows: tuple[int, ...]) -> dict[str, int]:
    found = connection.execute(select(items.c.item, items.c.row).where(items.c.row.in_(rows)))
    return {one.item: one.row for one in found}
