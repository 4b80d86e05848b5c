"""The participant's way in and out: consent, traits, guidelines, quiz, and whatever ends it. The items are `judging`.

Nobody is where an address says they are: each page asks the desk for the participant's place and sends them there.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Final

from starlette.responses import Response

from vantage.collect.views import Participant, Place, PlaceKind, QuizResult, Unanswered
from vantage.collect.web.seals import DAY
from vantage.collect.web.visit import Elsewhere, Visit

IDENTIFIED_BY: Final = {"prolific": "PROLIFIC_PID", "mturk": "workerId"}
"""The parameter of a platform's link that says who comes; invitations are taken in every study."""
UNDERWAY: Final[tuple[PlaceKind, ...]] = ("consent", "traits", "guidelines", "quiz", "item", "review")
ENDS: Final[Mapping[PlaceKind, tuple[str, tuple[str, ...]]]] = {
    "finished": ("Thank you", ("Your answers have been handed in.",)),
    "declined": ("You do not take part", ("You have not agreed, so nothing was asked and nothing is kept.",)),
    "screened_out": (
        "Thank you for your time",
        ("Not enough of the answers about the guidelines were right, so the study ends here for you.",),
    ),
    "full": (
        "There is no work left",
        ("Everything that there is to judge has been given to others. Thank you for coming.",),
    ),
    "paused": (
        "The study is paused",
        ("What you have answered is kept. Come back later by the same link and go on where you were.",),
    ),
}


def path(place: Place) -> str:
    """Where the page of a place stands.

    >>> path(Place("item", position=3))
    '/item/3'
    """
    if place.kind == "item":
        return f"/item/{place.position}"
    return f"/{place.kind}" if place.kind in UNDERWAY else "/end"


def at(visit: Visit, kind: PlaceKind) -> tuple[Participant, Place]:
    """The participant and their place, which must be of this kind."""
    participant = visit.someone()
    place = visit.site.desk.place(participant)
    if place.kind != kind:
        raise Elsewhere(path(place))
    return participant, place


def entrance(visit: Visit) -> Response:
    """The study's address: a known participant goes on, a platform's worker is entered, a visitor reads the consent."""
    site = visit.site
    via = site.study.recruitment.via
    params = dict(visit.request.query_params)
    if "invitation" not in params and IDENTIFIED_BY.get(via) not in params:
        if known := visit.known():
            return visit.go(path(site.desk.place(known)))
        if via == "link":
            return _visitor(visit)
    participant = site.desk.arrive(params)
    return visit.remember(visit.go(path(site.desk.place(participant))), participant)


def _visitor(visit: Visit) -> Response:
    """The consent for somebody whom nobody knows yet: entered only when they agree."""
    content = visit.site.seals.read(visit.request, "vantage-visitor", max_age=DAY)
    who = str(content[0]) if content else secrets.token_urlsafe(12)
    response = _consent(visit, f"visitor:{who}")
    if not content:
        visit.site.seals.write(response, visit.request, "vantage-visitor", [who], max_age=DAY)
    return response


def _consent(visit: Visit, who: str) -> Response:
    site = visit.site
    return visit.page(
        "consent.html",
        heading=site.study.title,
        consent=site.study.consent or "If you agree to take part, please continue.",
        warning=site.study.warning,
        deletes=site.deletes,
        form=site.seals.seal(who, "consent"),
        may_withdraw=False,
    )


def consent(visit: Visit) -> Response:
    """The consent of an entered participant."""
    if visit.known() is None and visit.site.study.recruitment.via == "link":
        return visit.go("/")
    participant, _ = at(visit, "consent")
    return _consent(visit, participant.id)


def give_consent(visit: Visit) -> Response:
    """Agreed or declined; a visitor by a plain link is entered now."""
    site = visit.site
    agreed = visit.one("agreed") == "yes"
    content = site.seals.read(visit.request, "vantage-visitor", max_age=DAY)
    who = f"visitor:{content[0]}" if content else ""
    if site.study.recruitment.via == "link" and who and site.seals.check(visit.one("seal"), who):
        seal = visit.sealed(who, "consent")
        if not agreed:
            heading, sentences = ENDS["declined"]
            return visit.page("end.html", heading=heading, sentences=sentences, code=None, redirect=None, form=None)
        with site.entered.lock:
            earlier = site.desk.participant(site.entered.get(seal.view) or "")
            participant = earlier or site.desk.arrive({})
            site.entered.put(seal.view, participant.id)
        place = site.desk.place(participant)
        if place.kind == "consent":
            place = site.desk.give_consent(participant, agreed=True)
        return visit.remember(visit.go(path(place)), participant)
    participant, _ = at(visit, "consent")
    visit.sealed(participant.id, "consent")
    return visit.go(path(site.desk.give_consent(participant, agreed=agreed)))


def traits(visit: Visit) -> Response:
    """Questions about the participant."""
    participant, _ = at(visit, "traits")
    return _traits(visit, participant, {})


def _traits(visit: Visit, participant: Participant, problems: Mapping[str, str]) -> Response:
    asked = [
        {
            "name": f"t{index}",
            "ask": trait.ask,
            "kind": trait.kind,
            "options": trait.options,
            "required": trait.required,
            "given": [value for value in visit.form.get(f"t{index}", []) if value],
            "error": problems.get(trait.id, ""),
        }
        for index, trait in enumerate(visit.site.study.traits)
    ]
    return visit.page(
        "traits.html",
        422 if problems else 200,
        heading="About you",
        traits=asked,
        optional=not all(trait.required for trait in visit.site.study.traits),
        problems=[(t["name"], t["ask"], t["error"]) for t in asked if t["error"]],
        form=visit.site.seals.seal(participant.id, "traits"),
    )


def give_traits(visit: Visit) -> Response:
    """The answers about the participant."""
    participant, _ = at(visit, "traits")
    visit.sealed(participant.id, "traits")
    answers = {
        trait.id: visit.form.get(f"t{index}", []) if trait.kind == "several" else visit.one(f"t{index}")
        for index, trait in enumerate(visit.site.study.traits)
    }
    try:
        place = visit.site.desk.give_traits(participant, answers)
    except Unanswered as unanswered:
        return _traits(visit, participant, unanswered.problems)
    return visit.go(path(place))


def guidelines(visit: Visit) -> Response:
    """The guidelines with worked examples: to be read once, and there to be read again."""
    participant = visit.someone()
    place = visit.site.desk.place(participant)
    if place.kind in ("consent", "traits"):
        raise Elsewhere(path(place))
    study = visit.site.study
    every = tuple(question for group in study.question_sets for question in group)
    return visit.page(
        "guidelines.html",
        heading="Guidelines",
        guide=visit.site.guide(study.conditions, every),
        form=visit.site.seals.seal(participant.id, "guidelines") if place.kind == "guidelines" else None,
    )


def read_guidelines(visit: Visit) -> Response:
    """The guidelines have been read."""
    participant, _ = at(visit, "guidelines")
    visit.sealed(participant.id, "guidelines")
    return visit.go(path(visit.site.desk.read_guidelines(participant)))


def quiz(visit: Visit) -> Response:
    """The comprehension quiz."""
    participant, place = at(visit, "quiz")
    return _quiz(visit, participant, place.attempts_left, None)


def _quiz(visit: Visit, participant: Participant, attempts_left: int, result: QuizResult | None) -> Response:
    plan = visit.site.study.quiz
    assert plan is not None  # noqa: S101
    wrong = result.wrong if result else ()
    asked = [
        {
            "name": f"k{index}",
            "ask": question.ask,
            "options": question.options,
            "given": _whole(visit.one(f"k{index}")),
            "error": (question.explain or "This is not right.") if index in wrong else "",
        }
        for index, question in enumerate(plan.questions)
    ]
    return visit.page(
        "quiz.html",
        422 if wrong else 200,
        heading="A few questions about the guidelines",
        questions=asked,
        attempts_left=attempts_left,
        problems=[(q["name"], q["ask"], q["error"]) for q in asked if q["error"]],
        # The number of attempts in the seal tells a form that was sent twice from a second attempt.
        form=visit.site.seals.seal(participant.id, f"quiz/{attempts_left}"),
    )


def answer_quiz(visit: Visit) -> Response:
    """An attempt at the quiz."""
    participant, place = at(visit, "quiz")
    seal = visit.site.seals.check(visit.one("seal"), participant.id)
    if seal and seal.page.startswith("quiz/") and seal.page != f"quiz/{place.attempts_left}":
        raise Elsewhere("/quiz")
    visit.sealed(participant.id, f"quiz/{place.attempts_left}")
    plan = visit.site.study.quiz
    assert plan is not None  # noqa: S101
    result = visit.site.desk.answer_quiz(
        participant, [_whole(visit.one(f"k{index}")) for index in range(len(plan.questions))]
    )
    if result.passed or not result.attempts_left:
        return visit.go(path(visit.site.desk.place(participant)))
    return _quiz(visit, participant, result.attempts_left, result)


def end(visit: Visit) -> Response:
    """Whatever ends a participant's way: the code or the way back to the platform, and a word on why."""
    participant = visit.someone()
    place = visit.site.desk.place(participant)
    if place.kind in UNDERWAY:
        raise Elsewhere(path(place))
    kept = "Your answers have been deleted." if visit.site.deletes else "Your answers are kept, without your name."
    heading, sentences = ENDS.get(place.kind, ("You have withdrawn", (kept,)))
    completion = None if place.kind == "paused" else visit.site.desk.completion(participant)
    via = visit.site.study.recruitment.via
    return visit.page(
        "end.html",
        heading=heading,
        sentences=sentences,
        code=completion.code if completion else None,
        redirect=completion.redirect if completion else None,
        leave="Return to Prolific" if via == "prolific" else "Leave the study",
        form=visit.site.seals.seal(participant.id, "more") if place.more else None,
        may_withdraw=place.kind in ("finished", "paused"),
    )


def more(visit: Visit) -> Response:
    """Another batch for somebody who has finished one."""
    participant = visit.someone()
    visit.sealed(participant.id, "more")
    place = visit.site.desk.place(participant)
    if place.kind == "finished" and place.more:
        place = visit.site.desk.another_batch(participant)
    return visit.go(path(place))


def withdraw(visit: Visit) -> Response:
    """Asks whether somebody really wants to withdraw."""
    participant = visit.someone()
    if visit.site.desk.place(participant).kind == "withdrawn":
        raise Elsewhere("/end")
    form = visit.site.seals.seal(participant.id, "withdraw")
    return visit.page("withdraw.html", heading="Stop and withdraw?", deletes=visit.site.deletes, form=form)


def really_withdraw(visit: Visit) -> Response:
    """Withdraws."""
    participant = visit.someone()
    visit.sealed(participant.id, "withdraw")
    return visit.go(path(visit.site.desk.withdraw(participant)))


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else None
