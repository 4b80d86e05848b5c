"""Reading the release: the questions as they were asked, and the recorded answers through our own parser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from vantage.corpora import Corpus
from vantage.corpora.readers import load
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.runs.reparse import reparse

INSTRUMENT: Final = "appraisals"
EVALUATION: Final = "rationale-quality"
RELEASE: Final = "CovidET-Appraisals.csv"
_ANCHOR: Final = re.compile(r'(\d) being "([^"]+)"')
_STEM: Final = re.compile(r"\s*Rate on a scale from.*$", re.DOTALL)


def read_release(path: Path) -> Corpus:
    """People's ratings, the recorded answers of models as our parser reads them, and the evaluation of rationales.

    A corpus folder is taken as it is.
    """
    if (path / "corpus.yaml").is_file():
        corpus = Corpus.read(path)
        if not {q.id for q in Instrument.load(INSTRUMENT).questions} & {q.id for q in corpus.questions}:
            raise InputError("the corpus has no judgments of appraisals", file=path, remedy="name one that has")
        return corpus
    corpus = load("appraisals", path)
    instrument = asked(path)
    corpus = Corpus(
        items=corpus.items,
        raters=corpus.raters,
        judgments=corpus.judgments,
        instruments=instrument,
        about=corpus.about,
    )
    if "reply" in corpus.judgments.columns:
        corpus = reparse(corpus).corpus
    if any(path.rglob("*_models.csv")):
        corpus = corpus.merge(load("rationale-evaluation", path))
    return corpus


def asked(path: Path) -> Instrument:
    """The instrument in the wording of the release, where that is there; else as bundled.

    Only so can answers be read that repeat the words at the ends of a scale.
    """
    bundled = Instrument.load(INSTRUMENT)
    found = sorted(path.rglob("prompt_scale.txt"))
    if not found:
        return bundled
    prompts = found[0].read_text("utf-8-sig").strip().split("\n")
    if len(prompts) != len(bundled.questions):
        problem = f"there are {len(prompts)} prompts for {len(bundled.questions)} questions"
        raise InputError(problem, file=found[0], remedy="one line per question")
    document: dict[str, Any] = {**bundled.document}
    document["questions"] = [
        {**question, "ask": _plain(_STEM.sub("", prompt)), "anchors": _anchors(prompt)}
        for question, prompt in zip(document["questions"], prompts, strict=True)
    ]
    return Instrument.from_document(document, str(found[0]))


def _plain(text: str) -> str:
    """Braces would be read as places to be filled."""
    return text.replace("{", "(").replace("}", ")").strip()


def _anchors(prompt: str) -> dict[int, str]:
    return {int(code): label for code, label in _ANCHOR.findall(prompt)}
