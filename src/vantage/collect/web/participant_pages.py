"""The participant's pages before and after rating: consent, traits, guidelines, quiz and end.

URLs are not trusted: each page looks up the participant's current step and redirects there.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Final

from starlette.responses import Response

from vantage.collect.entry import platform
from vantage.collect.views import InvalidAnswers, Participant, QuizResult, Step, StepKind
from vantage.collect.web.signing import DAY
from vantage.collect.web.visit import Redirect, Visit, whole_number

IN_PROGRESS: Final[tuple[StepKind, ...]] = ("consent", "traits", "guidelines", "quiz", "item", "review")
ENDS: Final[Mapping[StepKind, tuple[str, tuple[str, ...]]]] = {
    "finished": ("Thank you", ("Your answers have been submitted.",)),
    "declined": ("You are not taking part", ("You did not agree, so we asked nothing and stored nothing.",)),
    "screened_out": (
        "Thank you for your time",
        ("You did not meet the study's requirements, such as its quiz, so the study ends here for you.",),
    ),
    "full": (
        "There is no work left",
        ("All items have been assigned to other participants. Thank you for your interest.",),
    ),
    "paused": (
        "The study is paused",
        ("Your answers so far are saved. Come back later with the same link to continue.",),
    ),
}


def path(step: Step) -> str:
    """The path of a step's page.

    >>> path(Step("item", position=3))
    '/item/3'
    """
    if step.kind == "item":
        return f"/item/{step.position}"
    return f"/{step.kind}" if step.kind in IN_PROGRESS else "/end"


def require_step(visit: Visit, kind: StepKind) -> tuple[Participant, Step]:
    """The participant and their current step, which must be of this kind."""
    participant = visit.require_participant()
    step = visit.site.participants.step(participant)
    if step.kind != kind:
        raise Redirect(path(step))
    return participant, step


def start(visit: Visit) -> Response:
    """The study's address: known participants continue, platform workers enter, visitors read the consent."""
    site = visit.site
    via = site.study.plan.recruitment.via
    params = dict(visit.request.query_params)
    if "invitation" not in params and platform(site.study.plan.recruitment)[0] not in params:
        if known := visit.known_participant():
            return visit.redirect(path(site.participants.step(known)))
        if via == "link":
            return _visitor(visit)
    participant = site.participants.enter(params)
    return visit.set_participant_cookie(visit.redirect(path(site.participants.step(participant))), participant)


def _visitor(visit: Visit) -> Response:
    """The consent page for an unknown visitor, who enters only by agreeing."""
    content = visit.site.signer.read_cookie(visit.request, "vantage-visitor", max_age=DAY)
    who = str(content[0]) if content else secrets.token_urlsafe(12)
    response = _consent(visit, f"visitor:{who}")
    if not content:
        visit.site.signer.write_cookie(response, visit.request, "vantage-visitor", [who], max_age=DAY)
    return response


def _consent(visit: Visit, who: str) -> Response:
    site = visit.site
    return visit.render(
        "consent.html",
        heading=site.study.title,
        consent=site.study.consent or "If you agree to take part, please continue.",
        warning=site.study.warning,
        deletes=site.deletes,
        form=site.signer.sign_form(who, "consent"),
        may_withdraw=False,
    )


def consent(visit: Visit) -> Response:
    """The consent page of a participant."""
    if visit.known_participant() is None and visit.site.study.plan.recruitment.via == "link":
        return visit.redirect("/")
    participant, _ = require_step(visit, "consent")
    return _consent(visit, participant.id)


def give_consent(visit: Visit) -> Response:
    """Agrees or declines; a visitor with a plain link enters now."""
    site = visit.site
    agreed = visit.field("agreed") == "yes"
    content = site.signer.read_cookie(visit.request, "vantage-visitor", max_age=DAY)
    who = f"visitor:{content[0]}" if content else ""
    if site.study.plan.recruitment.via == "link" and who and site.signer.check_form(visit.field("form_token"), who):
        token = visit.check_form(who, "consent")
        if not agreed:
            heading, sentences = ENDS["declined"]
            return visit.render("end.html", heading=heading, sentences=sentences, code=None, redirect=None, form=None)
        # The form's number makes a double click on "I agree" enter one participant, not two.
        participant = site.participants.enter({"form": token.view})
        step = site.participants.step(participant)
        if step.kind == "consent":
            step = site.participants.give_consent(participant, agreed=True)
        return visit.set_participant_cookie(visit.redirect(path(step)), participant)
    participant, _ = require_step(visit, "consent")
    visit.check_form(participant.id, "consent")
    return visit.redirect(path(site.participants.give_consent(participant, agreed=agreed)))


def traits(visit: Visit) -> Response:
    """Questions about the participant."""
    participant, _ = require_step(visit, "traits")
    return _traits(visit, participant, {})


def _traits(visit: Visit, participant: Participant, problems: Mapping[str, str]) -> Response:
    traits = visit.site.study.plan.traits
    return visit.render(
        "traits.html",
        422 if problems else 200,
        heading="About you",
        traits=traits,
        optional=not all(trait.required for trait in traits),
        given=visit.form,
        errors=problems,
        problems=[(f"t{n}", trait.ask, problems[trait.id]) for n, trait in enumerate(traits) if trait.id in problems],
        form=visit.site.signer.sign_form(participant.id, "traits"),
    )


def give_traits(visit: Visit) -> Response:
    """The answers about the participant."""
    participant, _ = require_step(visit, "traits")
    visit.check_form(participant.id, "traits")
    answers = {
        trait.id: visit.form.get(f"t{index}", []) if trait.kind == "several" else visit.field(f"t{index}")
        for index, trait in enumerate(visit.site.study.plan.traits)
    }
    try:
        step = visit.site.participants.give_traits(participant, answers)
    except InvalidAnswers as invalid:
        return _traits(visit, participant, invalid.problems)
    return visit.redirect(path(step))


def guidelines(visit: Visit) -> Response:
    """The guidelines with worked examples, to confirm once and to read again at any time."""
    participant = visit.require_participant()
    step = visit.site.participants.step(participant)
    if step.kind in ("consent", "traits"):
        raise Redirect(path(step))
    study = visit.site.study
    every = tuple(question for group in study.question_sets for question in group)
    return visit.render(
        "guidelines.html",
        heading="Guidelines",
        guide=visit.site.guide(study.conditions, every, study.presentation(participant.number)),
        form=visit.site.signer.sign_form(participant.id, "guidelines") if step.kind == "guidelines" else None,
    )


def confirm_guidelines(visit: Visit) -> Response:
    """Confirms having read the guidelines."""
    participant, _ = require_step(visit, "guidelines")
    visit.check_form(participant.id, "guidelines")
    return visit.redirect(path(visit.site.participants.confirm_guidelines(participant)))


def quiz(visit: Visit) -> Response:
    """The comprehension quiz."""
    participant, step = require_step(visit, "quiz")
    return _quiz(visit, participant, step.attempts_left, None)


def _quiz(visit: Visit, participant: Participant, attempts_left: int, result: QuizResult | None) -> Response:
    plan = visit.site.study.plan.quiz
    assert plan is not None  # noqa: S101
    errors = {f"k{n}": plan.questions[n].explain or "This is not right." for n in (result.wrong if result else ())}
    return visit.render(
        "quiz.html",
        422 if errors else 200,
        heading="A few questions about the guidelines",
        questions=plan.questions,
        attempts_left=attempts_left,
        given=visit.form,
        errors=errors,
        problems=[(name, plan.questions[int(name[1:])].ask, problem) for name, problem in errors.items()],
        # The number of attempts in the token tells a form that was sent twice from a second attempt.
        form=visit.site.signer.sign_form(participant.id, f"quiz/{attempts_left}"),
    )


def answer_quiz(visit: Visit) -> Response:
    """An attempt at the quiz."""
    participant, step = require_step(visit, "quiz")
    token = visit.site.signer.check_form(visit.field("form_token"), participant.id)
    if token and token.page.startswith("quiz/") and token.page != f"quiz/{step.attempts_left}":
        raise Redirect("/quiz")
    visit.check_form(participant.id, f"quiz/{step.attempts_left}")
    plan = visit.site.study.plan.quiz
    assert plan is not None  # noqa: S101
    given = [whole_number(visit.field(f"k{index}")) for index in range(len(plan.questions))]
    result = visit.site.participants.answer_quiz(participant, given)
    if result.passed or not result.attempts_left:
        return visit.redirect(path(visit.site.participants.step(participant)))
    return _quiz(visit, participant, result.attempts_left, result)


def end(visit: Visit) -> Response:
    """The last page: why the study ends here, with the code or the link back to the platform."""
    participant = visit.require_participant()
    step = visit.site.participants.step(participant)
    if step.kind in IN_PROGRESS:
        raise Redirect(path(step))
    outcome = "Your answers have been deleted." if visit.site.deletes else "Your answers are kept without your name."
    heading, sentences = ENDS.get(step.kind, ("You have withdrawn", (outcome,)))
    completion = None if step.kind == "paused" else visit.site.participants.completion(participant)
    via = visit.site.study.plan.recruitment.via
    return visit.render(
        "end.html",
        heading=heading,
        sentences=sentences,
        code=completion.code if completion else None,
        redirect=completion.redirect if completion else None,
        leave="Return to Prolific" if via == "prolific" else "Leave the study",
        form=visit.site.signer.sign_form(participant.id, "more") if step.more else None,
        may_withdraw=step.kind in ("finished", "paused"),
    )


def more(visit: Visit) -> Response:
    """Another batch for a participant who has finished one."""
    participant = visit.require_participant()
    visit.check_form(participant.id, "more")
    step = visit.site.participants.step(participant)
    if step.kind == "finished" and step.more:
        step = visit.site.participants.another_batch(participant)
    return visit.redirect(path(step))


def withdraw(visit: Visit) -> Response:
    """Asks for confirmation before withdrawing."""
    participant = visit.require_participant()
    if visit.site.participants.step(participant).kind == "withdrawn":
        raise Redirect("/end")
    form = visit.site.signer.sign_form(participant.id, "withdraw")
    return visit.render("withdraw.html", heading="Stop and withdraw?", deletes=visit.site.deletes, form=form)


def confirm_withdrawal(visit: Visit) -> Response:
    """Withdraws."""
    participant = visit.require_participant()
    visit.check_form(participant.id, "withdraw")
    return visit.redirect(path(visit.site.participants.withdraw(participant)))
