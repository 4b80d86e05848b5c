"""One simulated person on the web: reads a page, fills in its form, sends it, until the study ends for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import urlsplit

import httpx2 as httpx
import numpy as np

from vantage.recruit.rehearsal.answering import Guest, RehearsalAnswers
from vantage.recruit.rehearsal.forms import Page, code_of, read_page

Outcome = Literal["at work", "finished", "ended early", "declined", "returned", "vanished", "stuck", "failed"]
READING: Final = 238 / 60
"""Words read in a second (Brysbaert 2019)."""
CHOOSING: Final = 2.5
"""Seconds to choose an answer."""
TYPING: Final = 40 / 60
"""Words typed in a second."""
TRIES: Final = 3
"""How often somebody tries to pass a page before they give up."""
AGENTS: Final = {
    False: "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0",
    True: "Mozilla/5.0 (iPhone) Mobile Safari/604.1",
}


@dataclass
class Walker:
    """A person at work."""

    guest: Guest
    answers: RehearsalAnswers
    base: str
    start: str
    """The address that the platform sends them to."""
    submission: str
    half_way: int
    """After how many forms those leave who leave half-way."""
    done_code: str
    arrived: float = 0.0
    outcome: Outcome = "at work"
    code: str = ""
    seconds: float = 0.0
    sent: int = 0
    """Forms sent."""
    came_back: bool | None = None
    """Whether somebody who changed the device could continue."""
    passed: list[str] = field(default_factory=list)
    stuck_at: str = ""
    why: str = ""
    _page: Page | None = None
    _tries: int = 0
    _detours: int = 0
    _own_link: str = ""
    _away: bool = False

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng([self.answers.seed, 2, self.guest.number])
        self._http = self._browser(phone=False)

    def has_vanished(self) -> bool:
        """Whether this person has left without a word."""
        return self.outcome == "vanished"

    def _browser(self, *, phone: bool) -> httpx.Client:
        headers = {"user-agent": AGENTS[phone], "accept-language": "en"}
        # Plain HTTP on this machine: there is no certificate to check.
        return httpx.Client(base_url=self.base, headers=headers, timeout=60, verify=False)

    def step(self) -> float | None:
        """Does the next thing; the seconds until the one after it, null where this person is done."""
        if self._page is None:
            self._look(self._http.get(self.start))
        elif not self._send(self._page):
            return None
        if self.outcome != "at work":
            self._http.close()
            return None
        wait = self._time_for(self._page) if self._page else 0.0
        if self._away:
            self._away = False
            wait += 20 * 60.0
        self.seconds += wait
        return wait

    def leave(self, outcome: Outcome) -> None:
        """Ends here."""
        self.outcome = outcome
        self._http.close()

    def _send(self, page: Page) -> bool:
        """Sends the form of the open page; false where the person leaves instead."""
        if self.sent >= self.half_way and self.guest.kind == "leaving":
            self.leave("returned" if self.guest.number % 2 else "vanished")
            return False
        if self.sent >= self.half_way and self.guest.kind == "phone" and self.came_back is None:
            self._http.close()
            self._http = self._browser(phone=True)
            self._away = True
            before = page.path
            self._look(self._http.get(self._own_link or self.start))
            self.came_back = self.outcome == "at work" and self._page is not None and self._page.path == before
            if self.came_back is False and self.outcome != "at work":
                self.outcome, self.why = "stuck", "could not continue on another device"
            return True
        self._look(self._http.post(page.action, data=self._filled(page)), page)
        self.sent += 1
        return True

    def _look(self, response: httpx.Response, before: Page | None = None) -> None:
        """Follows redirects within the study and reads the page that follows."""
        for _ in range(10):
            if not response.is_redirect:
                break
            leads = response.headers["location"]
            if urlsplit(leads).netloc and not leads.startswith(self.base):
                self._ended(code_of(leads))
                return
            response = self._http.get(leads)
        page = read_page(response.text, str(response.url))
        self._own_link = page.own_link or self._own_link
        if response.is_error and response.status_code != 422:
            if page.leads and response.status_code < 500 and self._detours < TRIES:
                self._detours += 1  # a page that says what to do next has a link to it
                self._page = None
                self._look(self._http.get(page.leads))
                return
            self.outcome, self.why = "failed", f"{response.status_code} at {page.path}: {page.heading}"
            self.stuck_at = page.name
            return
        again = before is not None and response.status_code == 422
        self._tries = self._tries + 1 if again else 0
        if before is not None and not again:
            self.passed.append(before.name)
        if self._tries >= TRIES:
            self.outcome, self.stuck_at, self.why = "stuck", page.name, "; ".join(page.errors)[:200]
        elif not page.action or page.path.endswith("/end"):
            self._ended(page.code)
        else:
            self._page = page

    def _ended(self, code: str) -> None:
        self.code = code
        declined = self.guest.kind == "declining" and self.sent == 0
        self.outcome = "finished" if code == self.done_code else "declined" if declined else "ended early"

    def _filled(self, page: Page) -> dict[str, str | list[str]]:
        """The form with this person's answers."""
        content: dict[str, str | list[str]] = dict(page.hidden)
        for one in page.fields:
            if one.kind == "choice":
                content[one.name] = self.answers.choice(page, one, self.guest, self._rng)
            elif one.kind == "several":
                # A box that stands alone beside another way to answer is left as it is.
                if len(one.options) > 1 or one.required:
                    content[one.name] = [one.options[int(self._rng.integers(len(one.options)))][0]]
            elif one.kind == "number":
                content[one.name] = self.answers.number(page, one, self.guest, self._rng)
            elif one.required or self.guest.behaviour.pace >= 0.5:
                content[one.name] = self.answers.text(page, one, self.guest, self._rng)
        if page.buttons:
            declines = self.guest.kind == "declining" and self.sent == 0
            name, value = page.buttons[-1 if declines else 0]
            if name:
                content[name] = value
        return content

    def _time_for(self, page: Page) -> float:
        """Seconds that this person takes for a page."""
        typed = 12 / TYPING * sum(one.kind == "long text" and one.required for one in page.fields)
        choices = CHOOSING * len(page.fields)
        chance = float(np.exp(self._rng.normal(0, 0.3)))
        return (page.words / READING + choices + typed) * self.guest.behaviour.pace * self.guest.speed * chance
