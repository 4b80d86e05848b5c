"""Asking a model about groups: keywords and reasons first, then ratings, or ratings alone, in variants of the prompt.

Keywords and ratings of a block (traits, feelings, behaviours) belong to one conversation: the rating is asked after
the model's own keywords of the same run. Everything goes through `context.rate`, so it is stored as it arrives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.corpora import Corpus
from vantage.documents import Document
from vantage.errors import InputError, nearest
from vantage.instruments import Instrument
from vantage.raters.models.base import Message
from vantage.scales import Scale
from vantage.studies.execution import Context
from vantage.studies.stereomap.block_raters import KeywordRater, PrimedRater
from vantage.studies.stereomap.keyword_replies import MOST, read_keywords

KEYWORD_BLOCKS: Final = ("traits", "emotions", "behaviours")
VARIANTS: Final = {
    "no-reasoning": (False, True),
    "no-instructions": (True, False),
    "bare": (False, False),
}
"""Variants of the prompt: whether keywords and reasons come first, and whether the instructions are given."""
_STRUCTURE: Final = frozenset(
    {"job-prestige", "economic-success", "education", "special-treatment", "power", "resources"}
)
_BEHAVIOURS: Final = frozenset({"help", "protect", "fight", "attack", "cooperate", "associate", "exclude", "demean"})
_WORDS: Final = ("role", "instructions", *KEYWORD_BLOCKS, "form")


@dataclass(frozen=True, slots=True)
class Plan:
    """How the groups are asked about."""

    answers: str = "sampling"
    """`sampling` or `scoring`."""
    reasons: bool = True
    """Whether keywords and reasons come first."""
    runs: int = 10
    variants: tuple[str, ...] = ()
    variant_runs: int = 5
    temperature: float = 1.0
    max_tokens: int = 700
    words: Mapping[str, str] = field(default_factory=dict)
    """The wording of the keyword questions."""

    def __post_init__(self) -> None:
        if self.answers not in ("sampling", "scoring"):
            remedy = nearest(self.answers, ["sampling", "scoring"])
            raise InputError(f"answers cannot be got by '{self.answers}'", remedy=remedy)
        for variant in self.variants:
            if variant not in VARIANTS:
                raise InputError(f"there is no variant '{variant}' of the prompt", remedy=nearest(variant, [*VARIANTS]))
        if self.runs < 1 or self.variant_runs < 1:
            raise InputError("at least one run is needed", remedy="set runs to 1 or more")


def keyword_words(source: str | Path = "") -> dict[str, str]:
    """The wording of the keyword questions: the bundled one, or that of a file of the same shape."""
    document = Document.read(source) if source else Document.bundled(__package__, "prompts.yaml")
    data = document.data if isinstance(document.data, Mapping) else {}
    for name in _WORDS:
        if not isinstance(data.get(name), str):
            raise InputError(f"the wording '{name}' is missing", file=document.file, remedy=f"give {', '.join(_WORDS)}")
    for block in KEYWORD_BLOCKS:
        if "{group}" not in data[block]:
            raise InputError(f"the wording '{block}' has no {{group}}", file=document.file)
    return {name: str(data[name]) for name in _WORDS}


def blocks(instrument: Instrument) -> dict[str, list[str]]:
    """The questions of an instrument by block, in its order; blocks without questions are left out."""
    found: dict[str, list[str]] = {"traits": [], "structure": [], "emotions": [], "behaviours": []}
    for question in instrument.questions:
        if question.id.startswith("feel-"):
            found["emotions"].append(question.id)
        elif question.id in _BEHAVIOURS:
            found["behaviours"].append(question.id)
        else:
            found["structure" if question.id in _STRUCTURE else "traits"].append(question.id)
    return {name: ids for name, ids in found.items() if ids}


def keyword_instrument(instrument: Instrument) -> Instrument:
    """The questions under which keyword replies are recorded: the value is how many keywords were given."""
    asked = [f"{block}-keywords" for block in blocks(instrument) if block in KEYWORD_BLOCKS]
    scale = Scale.points(0, MOST)
    lists = Instrument.of_questions(
        f"{instrument.id}-keywords", f"{instrument.title}: keywords", dict.fromkeys(asked, scale)
    )
    return Instrument.from_document({**lists.document, "fields": instrument.document["fields"]})


def named(model: str) -> str:
    """A model's name without the folders of a file, which say nothing to a reader.

    >>> named("recorded:answers/2023/run.csv"), named("hf:org/model")
    ('recorded:run.csv', 'hf:org/model')
    """
    kind, _, place = model.partition(":")
    return f"{kind}:{Path(place).name}" if kind in ("recorded", "gguf") else model


def elicit(context: Context[Any], corpus: Corpus, instrument: Instrument, plan: Plan) -> Corpus:
    """The corpus with everything that the models say, under the condition "" and under each variant."""
    asked = {"": (plan.reasons, True, plan.runs)}
    for name in plan.variants:
        reasoned, instructed = VARIANTS[name]
        asked[name] = (reasoned and plan.reasons, instructed, plan.variant_runs)
    for model in context.models:
        for condition, (reasons, instructed, runs) in asked.items():
            how = {"model": model, "samples": runs, "instructed": instructed}
            corpus = _asked(context, corpus, instrument, plan, condition, reasons, how)
    return recounted(corpus)


def recounted(corpus: Corpus) -> Corpus:
    """The corpus with keyword replies read as what they are: lists of words, refusals, or neither."""
    judgments = corpus.judgments
    if "reply" not in judgments.columns:
        return corpus
    is_list = pl.col("question").str.ends_with("-keywords") & (pl.col("status").cast(pl.String) != "failed")
    lists, rest = judgments.filter(is_list), judgments.filter(~is_list)
    if lists.is_empty():
        return corpus
    read = [read_keywords(reply) for reply in lists["reply"]]
    kind = judgments.schema["status"]
    counts = [float(len(one.keywords)) if one.status == "answered" else None for one in read]
    lists = lists.with_columns(
        pl.Series("value", counts, dtype=pl.Float64),
        pl.Series("status", [one.status for one in read], dtype=pl.String).cast(kind),
        *([pl.lit("keywords").alias("rule")] if "rule" in lists.columns else []),
    )
    return Corpus(corpus.items, corpus.raters, pl.concat([rest, lists]), corpus.instruments, corpus.about)


def keywords_of(corpus: Corpus) -> pl.DataFrame:
    """All keywords, one row each: item, rater, condition, sample, what they are about, place, word and reason.

    They are read from the stored replies, whatever was read from these before.
    """
    rows: list[dict[str, Any]] = []
    if "reply" in corpus.judgments.columns:
        lists = corpus.judgments.filter(pl.col("question").str.ends_with("-keywords"), pl.col("reply").is_not_null())
        for row in lists.select("item", "question", "rater", "condition", "sample", "reply").iter_rows(named=True):
            reply, about = row.pop("reply"), row.pop("question").removesuffix("-keywords")
            for place, keyword in enumerate(read_keywords(reply).keywords, 1):
                told = {"about": about, "place": place, "keyword": keyword.word, "reason": keyword.reason}
                rows.append({**row, **told})
    texts = ("item", "rater", "condition", "about", "keyword", "reason")
    schema = {**dict.fromkeys(texts, pl.String), "sample": pl.Int64, "place": pl.Int64}
    order = ["item", "rater", "condition", "sample", "about", "place", "keyword", "reason"]
    return pl.DataFrame(rows, schema=schema).select(order)


def _asked(
    context: Context[Any],
    corpus: Corpus,
    instrument: Instrument,
    plan: Plan,
    condition: str,
    reasons: bool,
    how: Mapping[str, Any],
) -> Corpus:
    """The corpus with what one model says under one condition, block after block."""
    scoring = plan.answers == "scoring"
    common: dict[str, Any] = {
        **how,
        "name": named(how["model"]) + ("+scoring" if scoring else ""),
        "temperature": plan.temperature,
        "max_tokens": plan.max_tokens,
        "seed": context.seed,
        "settings": dict(context.settings),
        "told": f"{plan.answers}, {'keywords and reasons first' if plan.reasons else 'ratings alone'}",
    }
    rated = {**common, "samples": 1, "temperature": 0.0} if scoring else common
    society = instrument.parameters.get("society", "")
    words = {name: text.replace("{society}", society) for name, text in plan.words.items()}
    lists = keyword_instrument(instrument)
    for block, questions in blocks(instrument).items():
        said: dict[tuple[str, int], tuple[Message, ...]] = {}
        style = "scoring" if scoring else "together"
        if reasons and block in KEYWORD_BLOCKS:
            listing = KeywordRater(style="zero-shot", block=block, words=words, **common)
            corpus = context.rate(corpus, listing, lists, questions=[f"{block}-keywords"], condition=condition)
            said = listing.said(corpus, lists, condition, assumed=context.plans)
        elif reasons and not scoring:
            # Social structure has no keywords; its reasons are asked for with the rating.
            style += "+reasoning"
        rater = PrimedRater(style=style, block=block, turns=said, **rated)
        corpus = context.rate(corpus, rater, instrument, questions=questions, condition=condition)
    return corpus
