"""Simulates people who take part in a study, in simulated time, and forecasts its duration, cost and outcomes.

The study runs on a database of its own that is thrown away. People arrive as from Prolific and fill in the typed form
of each step, which does what the page does; whoever acts next in simulated time acts next, one at a time, so that the
same seed gives the same rehearsal.
"""

from __future__ import annotations

import heapq
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any, Final
from unittest.mock import patch

import numpy as np

from vantage.collect.document import OfferPart
from vantage.collect.private import pseudonym
from vantage.collect.service import StudyService
from vantage.collect.study import AnnotationStudy
from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.recruit.draft import longest_time, reward
from vantage.recruit.people import free_seats
from vantage.recruit.rehearsal.answering import Guest, RehearsalAnswers, crowd
from vantage.recruit.rehearsal.results import Rehearsal, results
from vantage.recruit.rehearsal.walker import Walker
from vantage.recruit.standing import OUT

PACKAGES = ("vantage.collect", "vantage.recruit")


def clock_from(start: float) -> SimpleNamespace:
    """Stands for the module `time`, with a time of its own: `now`."""
    clock = SimpleNamespace(**vars(time), now=start)
    clock.time = lambda: clock.now
    return clock


@contextmanager
def simulated_time() -> Iterator[SimpleNamespace]:
    """Within the block, the study reads a clock that only the rehearsal moves."""
    clock = clock_from(time.time())
    names = [name for name in sys.modules if name.startswith(PACKAGES) and name != __name__]
    modules = [module for name in names if getattr(module := sys.modules[name], "time", None) is time]
    with ExitStack() as changed:
        for module in modules:
            changed.enter_context(patch.object(module, "time", clock))
        yield clock


BETWEEN: Final = 45.0
"""Seconds between two arrivals, on average."""
AGAIN: Final = 600.0
"""Seconds after which somebody who found no place looks again."""
NOWHERE: Final = "http://rehearsal.invalid"
FORECAST: Final = 7
"""Careful people whose median is the forecast of the duration."""
CODES: Final = {
    "completion_code": "REHEARSED",
    "screen_out_code": "SCREENED",
    "no_consent_code": "DECLINED",
    "failed_check_code": "FAILED",
    "full_code": "FULL",
}
Advance = Callable[[int, int], None]
Stage = tuple[StudyService, RehearsalAnswers, SimpleNamespace]


def rehearse(
    study: AnnotationStudy,
    *,
    people: int = 200,
    seed: int = 0,
    mix: Mapping[str, float] | None = None,
    pilot: Corpus | None = None,
    advance: Advance | None = None,
) -> Rehearsal:
    """Rehearses a study with simulated people, and discards everything.

    Args:
        study: The study whose pages they walk.
        people: How many simulated people take part (at most 5,000).
        seed: Random seed.
        mix: The shares of careful, hasty, careless, copying, leaving, phone … people. The kinds are `answering.KINDS`.
        pilot: Whose answers the model of ratings is taken from, instead of stated parameters.
        advance: Called with how many people have walked.
    """
    if not 1 <= people <= 5000:
        raise InputError(f"{people:,} people cannot rehearse a study", remedy="choose 1 to 5,000")
    minutes = _offer(study).minutes or forecast(study, seed=seed)
    reward(_offer(study), minutes)  # an offer that is not fair is refused before anybody comes
    with _stage(study, seed, minutes, pilot) as stage:
        walkers, unneeded = _played(stage, minutes, crowd(people, seed, mix), advance)
        return results(*stage[:2], minutes, walkers, unneeded)


def forecast(study: AnnotationStudy, *, seed: int = 0) -> float:
    """The minutes that a study takes: the median of a few careful people."""
    minutes = 10.0
    with _stage(study, seed, minutes, None) as stage:
        walkers, _ = _played(stage, minutes, crowd(FORECAST, seed, {"careful": 1.0}))
    # How fast somebody is by nature is known here, and half of all people are slower than 1: few people are enough.
    finished = [walker for walker in walkers if walker.outcome == "finished"]
    return round(median(one.seconds / 60 / one.guest.speed for one in finished or walkers), 1)


def _played(
    stage: Stage, minutes: float, guests: list[Guest], advance: Advance | None = None
) -> tuple[list[Walker], list[Guest]]:
    """Lets people come and go; those who came, and those for whom there was no place."""
    service, answers, clock = stage
    rng = np.random.default_rng([answers.seed, 3])
    order, start = count(), clock.now
    arrivals = start + np.cumsum(rng.exponential(BETWEEN, len(guests)))
    events: list[tuple[float, int, Guest | Walker]] = []
    for at, guest in zip(arrivals.tolist(), guests, strict=True):
        heapq.heappush(events, (at, next(order), guest))
    walkers: list[Walker] = []
    unneeded: list[Guest] = []
    done = 0
    while events:
        clock.now, _, who = heapq.heappop(events)
        if isinstance(who, Guest):
            if service.participants.arrival().kind == "consent":
                walkers.append(Walker(who, answers, service.participants, clock.now))
                heapq.heappush(events, (clock.now, next(order), walkers[-1]))
            elif any(isinstance(one, Walker) for _, _, one in events):
                heapq.heappush(events, (clock.now + AGAIN, next(order), who))
            else:
                unneeded.append(who)
            continue
        expired = who.outcome == "vanished"
        if expired:  # the platform has noticed that the time is over
            if who.participant is not None:
                free_seats(service, who.participant.number)
            continue
        if (wait := who.step()) is not None:
            heapq.heappush(events, (clock.now + wait, next(order), who))
            continue
        done += 1
        if advance is not None:
            advance(len(walkers) + len(unneeded), done)
        if who.outcome == "vanished":
            late = who.arrived + longest_time(minutes) * 60
            heapq.heappush(events, (max(late, clock.now), next(order), who))
        elif not who.code and who.participant is not None:
            # A submission that is returned is not paid, and its seats go to others at once.
            rater = pseudonym(service.database.key, "prolific", who.guest.id)
            service.researchers.review_rater(rater, "excluded", rule=OUT["RETURNED"])
    return walkers, unneeded


def _offer(study: AnnotationStudy) -> OfferPart:
    plain = OfferPart(url=NOWHERE, description="A rehearsal.", hourly_pay=9.0, currency="GBP")
    return study.plan.recruitment.offer or plain


@contextmanager
def _stage(study: AnnotationStudy, seed: int, minutes: float, pilot: Corpus | None) -> Iterator[Stage]:
    """A study on a database that is deleted afterwards."""
    memory = Path("/dev/shm")  # noqa: S108 - a database that nobody keeps needs no disk
    place = str(memory) if memory.is_dir() and os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="vantage-rehearsal-", dir=place) as folder, simulated_time() as clock:
        service = StudyService(_copied(study, minutes), f"sqlite:///{folder}/rehearsal.sqlite", apart=False)
        with closing(service):
            yield service, RehearsalAnswers(service.study, seed, pilot), clock


def _copied(study: AnnotationStudy, minutes: float) -> AnnotationStudy:
    """The study as it is rehearsed: through Prolific, with codes where it has none."""
    recruitment = study.plan.recruitment
    codes = {name: getattr(recruitment, name) or code for name, code in CODES.items()}
    offer = _offer(study).model_copy(update={"url": NOWHERE, "minutes": minutes, "places": None})
    update: dict[str, Any] = {"via": "prolific", "completion_url": None, "offer": offer, **codes}
    plan = study.plan.model_copy(update={"recruitment": recruitment.model_copy(update=update)})
    return replace(study, plan=plan)
