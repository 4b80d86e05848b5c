"""The pages on which participants practise: an item with its questions, then feedback on the answers."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from vantage.collect.languages import sentence
from vantage.collect.views import InvalidAnswers, Participant, Practice
from vantage.collect.web import forms
from vantage.collect.web.item_view import panels
from vantage.collect.web.participant_pages import onward, require_step, same_page
from vantage.collect.web.visit import Visit


def training(visit: Visit) -> Response:
    """An item to practise on, or the feedback on it."""
    participant, _ = require_step(visit, "training")
    return _training(visit, participant, visit.site.participants.practice(participant), {})


def answer_training(visit: Visit) -> Response:
    """The answers to an item; or the participant goes on after the feedback."""
    participant, _ = require_step(visit, "training")
    practice = visit.site.participants.practice(participant)
    same_page(visit, participant, "training", _page(practice))
    if practice.answers:
        return onward(visit, participant, visit.site.participants.confirm(participant))
    given = {key: values[-1] for key, values in visit.form.items()}
    try:
        step = visit.site.participants.give_practice(participant, forms.read(practice.questions, given))
    except InvalidAnswers as invalid:
        return _training(visit, participant, practice, forms.errors(practice.questions, invalid))
    return onward(visit, participant, step)


def _page(practice: Practice) -> str:
    """Names a page, so that a form that was sent twice does not answer the next one."""
    return f"{practice.position}.{'feedback' if practice.answers else 'item'}"


def _training(visit: Visit, participant: Participant, practice: Practice, errors: Mapping[str, str]) -> Response:
    given = {key: values[-1] for key, values in visit.form.items()}
    errors = {name: visit.language.say(problem) for name, problem in errors.items()}
    titles = {question.id: question.title for question in practice.questions}
    return visit.render(
        "training.html",
        422 if errors else 200,
        heading=visit.language.say(sentence("Practice")),
        position=practice.position,
        items=practice.items,
        panels=panels(practice.instrument, practice.record, practice.condition),
        item_lang=visit.site.item_lang,
        sections=visit.site.practice_cache(visit.language).sections(
            practice.questions, practice.record, practice.condition, given, errors
        ),
        feedback=[
            (titles[name], practice.instrument.question(name), answer, practice.right[name])
            for name, answer in practice.answers.items()
        ],
        explain=practice.explain,
        problems=[(name, practice.questions[int(name[1:])].title, problem) for name, problem in errors.items()],
        form=visit.site.signer.sign_form(participant.id, f"training/{_page(practice)}"),
    )
