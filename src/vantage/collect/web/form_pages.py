"""The pages of the steps between consent and end, drawn from the typed form of the step; items have `rating_pages`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from vantage.collect.flow_document import QuestionnairePart
from vantage.collect.form import Given, StudyForm, form_of
from vantage.collect.languages import sentence
from vantage.collect.phases import Debriefing, Questionnaire
from vantage.collect.views import InvalidAnswers, Participant, Practice, Step, StepKind
from vantage.collect.web import forms
from vantage.collect.web.item_view import panels
from vantage.collect.web.participant_pages import keep_draft, onward, require_step, same_page
from vantage.collect.web.site import answer_text, chosen_text
from vantage.collect.web.visit import Form, Handler, Visit
from vantage.instruments import MultipleChoice, Question, put


def form_pages(*kinds: StepKind) -> Mapping[str, Handler]:
    """The handlers of an address: GET draws the form of a step of these kinds, POST sends it."""

    def show(visit: Visit) -> Response:
        participant, step = require_step(visit, *kinds)
        people = visit.site.participants
        form = form_of(people, participant, step)
        draft = people.draft(participant, form.place) if form.fields else {}
        return _drawn(visit, participant, step, form, draft, restored=bool(draft))

    def send(visit: Visit) -> Response:
        participant, step = require_step(visit, *kinds)
        people = visit.site.participants
        form = form_of(people, participant, step)
        token = same_page(visit, participant, form.place)
        try:
            return onward(visit, participant, form.send(_given(form, visit.form), token.seconds))
        except InvalidAnswers as invalid:
            keep_draft(visit, participant, token)
            step = people.step(participant)
            return _drawn(visit, participant, step, form_of(people, participant, step), visit.form, invalid)

    return {"GET": show, "POST": send}


def _given(form: StudyForm, sent: Form) -> Given:
    if form.questions:
        return forms.read(form.questions, _last(sent))
    values = [(one, sent.get(f"t{n}", [])) for n, one in enumerate(form.fields)]
    return {one.name: given if one.kind == "several" else "".join(given[-1:]) for one, given in values}


def _last(sent: Form) -> dict[str, str]:
    return {name: values[-1] for name, values in sent.items()}


def _errors(form: StudyForm, invalid: InvalidAnswers) -> dict[str, str]:
    if form.questions:
        return forms.errors(form.questions, invalid)
    return {f"t{n}": invalid.problems[one.name] for n, one in enumerate(form.fields) if one.name in invalid.problems}


def _drawn(
    visit: Visit,
    participant: Participant,
    step: Step,
    form: StudyForm,
    given: Form,
    invalid: InvalidAnswers | None = None,
    *,
    restored: bool = False,
) -> Response:
    titles = [q.title for q in form.questions] or [visit.language.say(one.label) for one in form.fields]
    wrong = _errors(form, invalid) if invalid else {}
    errors = {name: visit.language.say(problem) for name, problem in wrong.items()}
    template, heading, values = _page(visit, step, form, given, errors)
    return visit.render(
        f"{template}.html",
        422 if errors else 200,
        **values,
        heading=visit.language.say(heading),
        fields=form.fields,
        given=given,
        restored=restored,
        errors=errors,
        problems=[(name, titles[int(name[1:])], problem) for name, problem in errors.items()],
        action=step.kind,
        draft=form.place,
        left=step.left,
        share=step.share,
        form=visit.site.signer.sign_form(participant.id, form.place),
    )


def _page(
    visit: Visit, step: Step, form: StudyForm, given: Form, errors: Mapping[str, str]
) -> tuple[str, str, dict[str, Any]]:
    """The template of a form, its heading, and what else it shows."""
    shows = form.shows
    if isinstance(shows, Practice):
        return "training", sentence("Practice"), _practice(visit, shows, form, given, errors)
    if isinstance(shows, Debriefing):
        return "debriefing", shows.part.title or sentence("About this study"), {"text": shows.part.text}
    if isinstance(shows, Questionnaire):
        intro = shows.part.intro if isinstance(shows.part, QuestionnairePart) else ""
        return "questions", shows.part.title or sentence("About you"), {"intro": intro}
    if step.kind == "quiz":
        heading = sentence("A few questions about the guidelines")
        return "questions", heading, {"attempts_left": step.attempts_left}
    return "review", sentence("Before you submit"), {"pages": step.pages}


def _practice(
    visit: Visit, practice: Practice, form: StudyForm, given: Form, errors: Mapping[str, str]
) -> dict[str, Any]:
    instrument, site = practice.instrument, visit.site
    sections = site.practice_cache(visit.language).sections(
        form.questions, practice.record, practice.condition, _last(given), errors
    )
    feedback = [_feedback(practice, question) for question in put([instrument.question(q) for q in practice.answers])]
    return {
        "position": practice.position,
        "items": practice.items,
        "panels": panels(instrument, practice.record, practice.condition),
        "item_lang": site.item_lang(visit.language),
        "sections": sections,
        "feedback": feedback,
        "explain": practice.explain,
    }


def _feedback(practice: Practice, question: Question) -> tuple[str, str, bool]:
    """The title of a question, the answer to it in words, and whether it is right; of options together."""
    names = question.part_ids if isinstance(question, MultipleChoice) else (question.id,)
    given = {name: practice.answers[name] for name in names if name in practice.answers}
    values = {name: answer.status if answer.value is None else answer.value for name, answer in given.items()}
    right = all(practice.right[name] for name in given)
    first = next(iter(values.values()))
    if isinstance(question, MultipleChoice) and not isinstance(first, str):
        return question.title, chosen_text(question, values), right
    return question.title, answer_text(question, first), right
