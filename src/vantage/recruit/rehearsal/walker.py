"""One simulated person: reads the form of each step, fills it in and sends it, until the study ends for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from typing import Final, Literal

import numpy as np

from vantage.collect.form import StudyForm, consent_form, form_of
from vantage.collect.participants import ParticipantService
from vantage.collect.views import ENDS, InvalidAnswers, Participant, Refused, Step
from vantage.recruit.rehearsal.answering import Guest, RehearsalAnswers

Outcome = Literal["at work", "finished", "ended early", "declined", "returned", "vanished", "stuck", "failed"]
READING: Final = 238 / 60
"""Words read in a second (Brysbaert 2019)."""
CHOOSING: Final = 2.5
"""Seconds to choose an answer."""
TYPING: Final = 40 / 60
"""Words typed in a second."""
TRIES: Final = 3
"""How often somebody tries to pass a page before they give up."""
AWAY: Final = 20 * 60.0
"""Seconds after which somebody comes back who changes the device."""


@dataclass
class Walker:
    """A person at work."""

    guest: Guest
    answers: RehearsalAnswers
    people: ParticipantService
    arrived: float
    outcome: Outcome = "at work"
    code: str = ""
    seconds: float = 0.0
    sent: int = 0
    came_back: bool | None = None
    """Whether somebody who changed the device could continue."""
    passed: list[str] = field(default_factory=list)
    stuck_at: str = ""
    why: str = ""
    participant: Participant | None = None
    """Who they are in the study, once they have agreed."""
    _form: StudyForm | None = None
    _wait: float = 0.0
    _tries: int = 0
    _detours: int = 0

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng([self.answers.seed, 2, self.guest.number])
        self._params = {"PROLIFIC_PID": self.guest.id, "STUDY_ID": "rehearsal", "SESSION_ID": self.guest.id}

    def step(self) -> float | None:
        """Does the next thing; the seconds until the one after it, null where this person is done."""
        half_way = self.sent >= max(3, ceil(self.people.study.plan.batch.size / 2))
        if self._form is None:
            self._arrive()
        elif half_way and self.guest.kind == "leaving":
            self.outcome = "returned" if self.guest.number % 2 else "vanished"
        elif half_way and self.guest.kind == "phone" and self.came_back is None:
            self._wait = AWAY
            self._return(self._form)
        else:
            self._send(self._form)
        if self.outcome != "at work":
            return None
        self.seconds += self._wait
        return self._wait

    def _arrive(self) -> None:
        step = self.people.arrival()
        if step.kind == "consent":
            languages = self.people.study.languages
            self._open(consent_form(self.people, self._params, languages[self.guest.number % len(languages)]))
        else:
            self._end(step)

    def _return(self, form: StudyForm) -> None:
        """Comes back later, on another device; the form must still be there."""
        assert self.participant is not None  # noqa: S101 - those who leave half-way have agreed
        step = self.people.step(self.participant)
        if step.kind in ENDS:
            self.came_back, self.outcome, self.why = False, "stuck", "could not continue on another device"
        else:
            self._form = form_of(self.people, self.participant, step)
            self.came_back = self._form.name == form.name

    def _send(self, form: StudyForm) -> None:
        given = self.answers.filled(form, self.guest, self._rng)
        self.sent += 1
        try:
            step = form.send(given, self._wait)
        except InvalidAnswers as invalid:
            self._tries += 1
            if form.name == "quiz":
                self._open(form)
            elif self._tries >= TRIES:
                self.outcome, self.stuck_at, self.why = "stuck", form.name, str(invalid)[:200]
            return
        except Refused as refused:  # such as a page that somebody else has by now: people go on with what is left
            self._detours += 1
            if self.participant is None or self._detours > TRIES:
                self.outcome, self.stuck_at, self.why = "failed", form.name, refused.sentence
                return
            step = self.people.step(self.participant)
        if self.participant is None and step.kind != "declined":
            known = self.people.known(self._params)
            self.participant = known[0] if known else None
        self.passed.append(form.name)
        if step.kind in ENDS or self.participant is None:
            self._end(step)
        else:
            self._tries = 0
            self._open(form_of(self.people, self.participant, step))

    def _open(self, form: StudyForm) -> None:
        required = [one.kind == "text" or any(q.rationale == "required" for q in one.questions) for one in form.fields]
        typed = 12 / TYPING * sum(required)
        chance = float(np.exp(self._rng.normal(0, 0.3)))
        seconds = form.words / READING + CHOOSING * len(form.fields) + typed
        self._form, self._wait = form, seconds * self.guest.behaviour.pace * self.guest.speed * chance

    def _end(self, step: Step) -> None:
        leaving = self.people.departure(step) if self.participant is None else None
        self.code = (leaving or self.people.completion(self.participant)).code or ""  # type: ignore[arg-type]
        ends: dict[str, Outcome] = {"finished": "finished", "declined": "declined"}
        self.outcome = ends.get(step.kind, "ended early")
