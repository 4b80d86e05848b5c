"""A study for people from a table of texts: a corpus folder with an instrument of one question and a study file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from vantage.collect import AnnotationStudy
from vantage.corpora import Corpus
from vantage.documents import dump
from vantage.errors import InputError
from vantage.instruments import Instrument

STUDY: Final = "study.yaml"
INSTRUMENT: Final = "instrument.yaml"
_POINTS: Final = re.compile(r"(-?\d+)\s*(?:-|–|to|\.\.)\s*(-?\d+)")
BATCH: Final = 20
"""Most items of a participant, unless the file is changed."""
CONSENT: Final = (
    "You will read short texts and say how you see them. Taking part is voluntary, and you can stop at any time. "
    "Your answers are stored without your name."
)


def instrument_of(name: str, ask: str, answers: str) -> dict[str, Any]:
    """The document of an instrument that asks one question about a text.

    The answers are numbers (`1-7`) or labels (`no, unsure, yes`).

    >>> instrument_of("posts", "Is this ironic?", "no, yes")["scales"]["answer"]["options"]
    [{'code': 0, 'label': 'no'}, {'code': 1, 'label': 'yes'}]
    """
    labels = [label.strip() for label in answers.split(",") if label.strip()]
    if points := _POINTS.fullmatch(answers.strip()):
        low, high = map(int, points.groups())
        scale: dict[str, Any] = {"level": "ordinal", "from": low, "to": high}
        right, shown = high, str(high)
    elif len(labels) > 1:
        options = [{"code": code, "label": label} for code, label in enumerate(labels)]
        scale, right, shown = {"level": "nominal", "options": options}, len(labels) - 1, labels[-1]
    else:
        raise InputError(f"'{answers}' is not a list of answers", remedy="write for example '1-7' or 'no, unsure, yes'")
    title = ask.rstrip("?. ")
    instruction = f"This is a check that you are reading: please choose “{shown}” here."
    return {
        "id": name,
        "version": 1,
        "title": ask,
        "description": f"One question about a text: {ask}",
        "fields": [{"name": "text", "title": "Text"}],
        "guidelines": "Read the text and answer as you see it. There are no right and wrong answers.",
        "scales": {"answer": scale},
        "questions": [
            {"id": "answer", "title": title, "ask": ask.replace("{", "{{").replace("}", "}}"), "scale": "answer"}
        ],
        "checks": [{"id": "reading", "instruction": instruction, "question": "answer", "accept": [right]}],
    }


def new_study(folder: Path, corpus: Corpus, instrument: str | dict[str, Any], raters: int) -> AnnotationStudy:
    """Writes a corpus folder with a study file, and an instrument file where one is given as a document.

    Otherwise `instrument` names a bundled one. Nothing is replaced.
    """
    if folder.exists():
        raise InputError("the folder exists already", file=folder, remedy="choose another one with --to")
    own = isinstance(instrument, dict)
    asked = Instrument.from_document(instrument) if isinstance(instrument, dict) else Instrument.load(instrument)
    corpus.check_asked(asked)
    corpus.write(folder)
    if own:
        (folder / INSTRUMENT).write_text(dump(instrument), encoding="utf-8")
    plan = {
        "id": re.sub(r"[^a-z0-9_-]+", "-", folder.name.lower()).strip("-_") or "study",
        "title": asked.title,
        "corpus": ".",
        "instrument": INSTRUMENT if own else instrument,
        "raters": raters,
        "batch": {"size": min(BATCH, len(corpus.items))},
        **({"attention": {"per_batch": 1}} if asked.checks else {}),
        **({} if asked.consent else {"consent": CONSENT}),
        "recruitment": {"via": "link"},
    }
    (folder / STUDY).write_text(dump(plan), encoding="utf-8")
    return AnnotationStudy.load(folder / STUDY)
