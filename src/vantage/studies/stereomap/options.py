"""The options of the study, and what they name: the questions and the dictionary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.measures.texts.dictionary import Dictionary
from vantage.studies.base import option
from vantage.studies.stereomap.groups import seed_dictionary

INSTRUMENT: Final = "stereotype-content"


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
    k: int = option(5, "how many clusters")
    members: Literal["all", "some"] = option("all", "whether a score needs all of its questions, or any")
    dictionary: str = option("", "a dictionary file for the keywords; without it the small one that comes with Vantage")
    encoder: str = option("", "minilm or hf:NAME, for key phrases by likeness; without it by counting")
    listed: int = option(10, "how many of the highest and lowest groups are listed")
    resamples: int = option(200, "how often runs are resampled")


def instrument_of(options: StereomapOptions) -> Instrument:
    """What is asked: the form, with the society whose view is asked for."""
    loaded = Instrument.load(options.instrument or INSTRUMENT)
    form = loaded.form(options.form) if loaded.forms else loaded
    if not is_about_groups(form):
        raise InputError(f"instrument '{form.id}' has no scores competence and warmth", remedy="see stereotype-content")
    return form.with_parameters(society=options.society) if "society" in form.parameters else form


def is_about_groups(instrument: Instrument) -> bool:
    """Whether an instrument gives competence and warmth."""
    return {"competence", "warmth"} <= {aggregate.id for aggregate in instrument.aggregates}


def dictionary_of(options: StereomapOptions) -> Dictionary:
    """The dictionary in which keywords are looked up."""
    return Dictionary.read(options.dictionary) if options.dictionary else seed_dictionary()
