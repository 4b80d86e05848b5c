"""The options of the study, and what they name: the questions and the dictionary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.measures.texts.dictionary import Dictionary
from vantage.studies.base import listed, option
from vantage.studies.stereomap.groups import seed_dictionary

INSTRUMENT: Final = "stereotype-content"
USUAL: Final = ("competence", "warmth")
"""The scores of the map where an instrument has both (Fiske et al. 2002)."""
MOST_AXES: Final = 4


@dataclass(frozen=True)
class StereomapOptions:
    """The options of the study."""

    groups: str = option("published", 'published, reference, a file, or names: "nurses, lawyers"')
    names: Literal["people-first", "published"] = option("people-first", "in whose words the groups are named")
    form: Literal["short", "extended"] = option("extended", "which form of the instrument is asked")
    society: str = option("American society", "whose view is asked for")
    instrument: str = option("", "a translated instrument file with the same forms, instead of the bundled one")
    keyword_prompts: str = option("", "a file with the wording of the keyword questions, for other languages")
    answers: Literal["auto", "sampling", "scoring"] = option(
        "auto", "sampled replies or scored options; auto scores the embedded model and samples all others"
    )
    replies: Literal["free", "schema"] = option(
        "free", "free: sampled replies in the model's own words, so that it can refuse; schema: held to a JSON schema"
    )
    first: Literal["auto", "keywords", "nothing"] = option(
        "auto", "what comes before the ratings: keywords with reasons, or nothing; auto asks for them when sampling"
    )
    runs: int = option(10, "how often everything is asked")
    temperature: float = option(1.0, "of sampled replies")
    max_tokens: int = option(700, "the longest reply")
    variants: str = option("", "variants of the prompt: no-reasoning, no-instructions, bare, with commas, or all")
    variant_runs: int = option(5, "how often each variant is asked")
    axes: str = option("", "the scores of the map, with commas; competence and warmth, else those in no other score")
    people: str = option("", "a corpus in which people judged the same groups, shown beside the models")
    evaluate: int = option(0, "leave so many answers per group and model in evaluation/, for people to judge blinded")
    k: int = option(5, "how many clusters")
    dictionary: str = option("", "a dictionary file for the keywords; without it the small one that comes with Vantage")
    encoder: str = option("", "minilm or hf:NAME, for key phrases by likeness; without it by counting")
    listed: int = option(10, "how many of the highest and lowest groups are listed")
    resamples: int = option(200, "how often runs are resampled")


def instrument_of(options: StereomapOptions) -> Instrument:
    """What is asked: the form, with the society whose view is asked for."""
    loaded = Instrument.load(options.instrument or INSTRUMENT)
    form = loaded.form(options.form) if loaded.forms else loaded
    axes_of(form, options.axes)
    return form.with_parameters(society=options.society) if "society" in form.parameters else form


def axes_of(instrument: Instrument, named: str = "") -> tuple[str, ...]:
    """The scores of the map: those named, else competence and warmth, else those that are part of no other score.

    >>> axes_of(Instrument.load("stereotype-content:extended"), "sociability, morality, ability")
    ('sociability', 'morality', 'ability')
    """
    scores = [aggregate.id for aggregate in instrument.aggregates]
    axes = listed(named, scores, "score")
    if not axes:
        parts = {member for aggregate in instrument.aggregates for member in aggregate.members}
        axes = list(USUAL) if set(USUAL) <= set(scores) else [score for score in scores if score not in parts]
    if not 2 <= len(axes) <= MOST_AXES or len(set(axes)) < len(axes):
        raise InputError(
            f"instrument '{instrument.id}' gives {len(axes)} scores for the map, which needs 2 to {MOST_AXES}",
            remedy="declare scores in it (aggregates, see stereotype-content), or name some with --axes",
        )
    return tuple(axes)


def dictionary_of(options: StereomapOptions) -> Dictionary:
    """The dictionary in which keywords are looked up."""
    return Dictionary.read(options.dictionary) if options.dictionary else seed_dictionary()
