"""The participant's pages before and after rating: consent, questionnaires, guidelines, quiz, debriefing and end.

URLs are not trusted: each page looks up the participant's current step and redirects there.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Final

from starlette.responses import RedirectResponse, Response

from vantage.collect.entry import PLATFORMS
from vantage.collect.flow_document import QuestionnairePart, QuizPart, TraitPart
from vantage.collect.phases import Debriefing, Questionnaire, Quiz
from vantage.collect.views import InvalidAnswers, Participant, QuizResult, Step, StepKind
from vantage.collect.web.signing import DAY
from vantage.collect.web.visit import Redirect, Visit, whole_number

IN_PROGRESS: Final[tuple[StepKind, ...]] = (
    *("consent", "screener", "traits", "guidelines", "training", "quiz", "item", "review", "debriefing"),
)
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


def require_step(visit: Visit, *kinds: StepKind) -> tuple[Participant, Step]:
    """The participant and their current step, which must be of one of these kinds."""
    participant = visit.require_participant()
    step = visit.site.participants.step(participant)
    if step.kind not in kinds:
        raise Redirect(path(step))
    return participant, step


def onward(visit: Visit, participant: Participant, step: Step) -> Response:
    """Leads to the next page; those who have just finished go back to their platform, where there is one."""
    if step.kind == "finished" and (address := visit.site.participants.completion(participant).redirect):
        return RedirectResponse(address, 303)
    return visit.redirect(path(step))


def same_page(visit: Visit, participant: Participant, name: str, here: str) -> None:
    """Checks the form; one of an earlier page of the same kind, sent twice, only leads to the current page."""
    token = visit.site.signer.check_form(visit.field("form_token"), participant.id)
    if token and token.page.startswith(f"{name}/") and token.page != f"{name}/{here}":
        raise Redirect(f"/{name}")
    visit.check_form(participant.id, f"{name}/{here}")


def start(visit: Visit) -> Response:
    """The study's address: known participants continue, platform workers enter, visitors read the consent."""
    site = visit.site
    via = site.study.plan.recruitment.via
    params = dict(visit.request.query_params)
    if "invitation" not in params and PLATFORMS.get(via, ("",))[0] not in params:
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
    """Questions about the participant: a questionnaire or a screener."""
    participant, step = require_step(visit, "traits", "screener")
    return _traits(visit, participant, step.kind, {})


def _traits(visit: Visit, participant: Participant, kind: StepKind, problems: Mapping[str, str]) -> Response:
    traits, phase = visit.site.participants.asked(participant), visit.site.participants.phase(participant)
    part = phase.part if isinstance(phase, Questionnaire) else None
    return visit.render(
        "traits.html",
        422 if problems else 200,
        heading=part.title if part and part.title else "About you",
        intro=part.intro if isinstance(part, QuestionnairePart) else "",
        action=kind,
        traits=traits,
        optional=not all(trait.required for trait in traits),
        given=visit.form,
        errors=problems,
        problems=[(f"t{n}", trait.ask, problems[trait.id]) for n, trait in enumerate(traits) if trait.id in problems],
        form=visit.site.signer.sign_form(participant.id, f"{kind}/{_first(traits)}"),
    )


def _first(traits: Sequence[TraitPart]) -> str:
    """Names a page of questions, so that a form that was sent twice does not answer the next page."""
    return traits[0].id if traits else ""


def give_traits(visit: Visit) -> Response:
    """The answers about the participant."""
    participant, step = require_step(visit, "traits", "screener")
    asked = visit.site.participants.asked(participant)
    same_page(visit, participant, step.kind, _first(asked))
    answers = {
        trait.id: visit.form.get(f"t{index}", []) if trait.kind == "several" else visit.field(f"t{index}")
        for index, trait in enumerate(asked)
    }
    try:
        return onward(visit, participant, visit.site.participants.give_traits(participant, answers))
    except InvalidAnswers as invalid:
        return _traits(visit, participant, step.kind, invalid.problems)


def guidelines(visit: Visit) -> Response:
    """The guidelines with worked examples, to confirm once and to read again at any time."""
    participant = visit.require_participant()
    step = visit.site.participants.step(participant)
    guide = visit.site.participants.guide(participant)
    if guide is None:
        raise Redirect(path(step))
    return visit.render(
        "guidelines.html",
        heading="Guidelines",
        guide=visit.site.guide_of(guide, participant.number),
        form=visit.site.signer.sign_form(participant.id, f"guidelines/{guide.number}")
        if step.kind == "guidelines"
        else None,
    )


def confirm_guidelines(visit: Visit) -> Response:
    """Confirms having read the guidelines."""
    participant, _ = require_step(visit, "guidelines")
    same_page(visit, participant, "guidelines", str(visit.site.participants.phase(participant).number))
    return onward(visit, participant, visit.site.participants.confirm(participant))


def debriefing(visit: Visit) -> Response:
    """What participants learn after the task."""
    participant, _ = require_step(visit, "debriefing")
    phase = visit.site.participants.phase(participant)
    assert isinstance(phase, Debriefing)  # noqa: S101
    return visit.render(
        "debriefing.html",
        heading=phase.part.title or "About this study",
        text=phase.part.text,
        form=visit.site.signer.sign_form(participant.id, f"debriefing/{phase.number}"),
    )


def confirm_debriefing(visit: Visit) -> Response:
    """The participant has read it."""
    participant, _ = require_step(visit, "debriefing")
    same_page(visit, participant, "debriefing", str(visit.site.participants.phase(participant).number))
    return onward(visit, participant, visit.site.participants.confirm(participant))


def quiz(visit: Visit) -> Response:
    """The comprehension quiz."""
    participant, step = require_step(visit, "quiz")
    return _quiz(visit, participant, step.attempts_left, None)


def _quiz_part(visit: Visit, participant: Participant) -> tuple[QuizPart, int]:
    phase = visit.site.participants.phase(participant)
    if not isinstance(phase, Quiz):  # it ended in another window
        raise Redirect(path(visit.site.participants.step(participant)))
    return phase.part, phase.number


def _quiz(visit: Visit, participant: Participant, attempts_left: int, result: QuizResult | None) -> Response:
    plan, number = _quiz_part(visit, participant)
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
        form=visit.site.signer.sign_form(participant.id, f"quiz/{number}.{attempts_left}"),
    )


def answer_quiz(visit: Visit) -> Response:
    """An attempt at the quiz."""
    participant, step = require_step(visit, "quiz")
    plan, number = _quiz_part(visit, participant)
    same_page(visit, participant, "quiz", f"{number}.{step.attempts_left}")
    given = [whole_number(visit.field(f"k{index}")) for index in range(len(plan.questions))]
    result = visit.site.participants.answer_quiz(participant, given)
    if result.passed or not result.attempts_left:
        return onward(visit, participant, visit.site.participants.step(participant))
    return _quiz(visit, participant, result.attempts_left, result)


def end(visit: Visit) -> Response:
    """The last page: why the study ends here, with the code or the link back to the platform."""
    participant = visit.require_participant()
    step = visit.site.participants.step(participant)
    if step.kind in IN_PROGRESS:
        raise Redirect(path(step))
    outcome = "Your answers have been deleted." if visit.site.deletes else "Your answers are kept without your name."
    heading, sentences = ENDS.get(step.kind, ("You have withdrawn", (outcome,)))
    sentences = (step.message,) if step.message else sentences
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
