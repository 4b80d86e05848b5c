"""Asking a model about groups: keywords and reasons, then ratings, in variants of the prompt.

Keywords and ratings of a block (traits, feelings, behaviours) belong to one conversation: the rating is asked after
the model's own keywords of the same run. Answers can be left for people to judge (`response-quality`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora import About, Corpus
from vantage.documents import Document
from vantage.errors import InputError
from vantage.instruments import Instrument, Question
from vantage.measures import Dictionary
from vantage.raters.chat import ChatRater, PlannedCall
from vantage.raters.models.base import Message, Request
from vantage.raters.prompts import Prompter, Shot
from vantage.raters.replies.keywords import MOST, read_keywords
from vantage.scales import Scale
from vantage.studies.base import listed, paper_prompts
from vantage.studies.execution import Context, blinded
from vantage.studies.stereomap.groups import seed_dictionary

USUAL: Final = ("competence", "warmth")
"""The scores of the map where an instrument has both (Fiske et al. 2002)."""
MOST_AXES: Final = 4


def instrument_of(options: Any) -> Instrument:
    """The form of the instrument that is asked, for the society that is named."""
    loaded = Instrument.load(options.instrument or "stereotype-content")
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


def dictionary_of(options: Any) -> Dictionary:
    """The dictionary in which keywords are looked up."""
    return Dictionary.read(options.dictionary) if options.dictionary else seed_dictionary()


KEYWORD_TOKENS: Final = 250
"""How long a list of keywords with reasons is, typically."""


@dataclass(frozen=True, slots=True)
class BlockPrompter(Prompter):
    """Writes the prompts of a block: for ratings, after the earlier turns, or, with `words`, for keywords."""

    instructed: bool = True
    words: Mapping[str, str] = field(default_factory=dict)
    block: str = "traits"
    turns: tuple[Message, ...] = ()

    def system(self, questions: Sequence[Question]) -> str:
        """Who speaks and, unless they are left out, the instructions."""
        if self.words:
            return f"{self.words['role']}\n\n{self.words['instructions']}" if self.instructed else self.words["role"]
        # Plain super() does not work in a dataclass with slots.
        return Prompter.system(self, questions) if self.instructed else self._voiced()

    def user(self, questions: Sequence[Question], item: Mapping[str, Any]) -> str:
        """The question and the form of the answer."""
        if not self.words:
            return Prompter.user(self, questions, item)
        return f"{self.words[self.block].replace('{group}', str(item['group']))}\n\n{self.words['form']}"

    def request(self, questions: Sequence[Question], item: Mapping[str, Any], shots: Sequence[Shot] = ()) -> Request:
        """The request, after the earlier turns."""
        plain = Prompter.request(self, questions, item, shots)
        return replace(plain, messages=(*plain.messages[:-1], *self.turns, plain.messages[-1]))


@dataclass(frozen=True)
class BlockRater(ChatRater):
    """A chat rater that is asked block by block: for ratings or, with `words`, for keywords with reasons."""

    block: str = "traits"
    instructed: bool = True
    style_name: str = ""
    """The style of the whole study, whichever block is asked first."""
    words: Mapping[str, str] = field(default_factory=dict)
    turns: Mapping[tuple[str, int], tuple[Message, ...]] = field(default_factory=dict)
    """What it said before about a group in a run."""

    def prompter(self, corpus: Corpus, instrument: Instrument, condition: str = "") -> BlockPrompter:
        """What writes this rater's prompts."""
        plain = ChatRater.prompter(self, corpus, instrument, condition)
        same = {part.name: getattr(plain, part.name) for part in fields(plain)}
        return BlockPrompter(**same, instructed=self.instructed, words=self.words, block=self.block)

    @property
    def answers(self) -> bool:
        """Keywords with reasons are no answer that a model could restate."""
        return not self.words

    def reply_tokens(self, questions: Sequence[Question]) -> int:
        """Of keywords there are several, each with a sentence."""
        return KEYWORD_TOKENS if self.words else ChatRater.reply_tokens(self, questions)

    def plan(self, corpus: Corpus, instrument: Instrument, **options: Any) -> Iterator[PlannedCall]:
        """The calls, each after what was said of its group in its run, tagged with the block for recorded answers."""
        condition = options.get("condition", "")
        writer = self.prompter(corpus, instrument, condition)
        for call in ChatRater.plan(self, corpus, instrument, **options):
            item, question, sample = call.request.tag or ("", "", 0)
            named = question or self.block
            tag = (item, f"{condition}/{named}" if condition else named, sample)
            tagged = replace(call, request=replace(call.request, tag=tag))
            if turns := self.turns.get((item, sample)):
                tagged = replace(tagged, prompter=replace(writer, turns=turns)).with_item(call.item)
            yield tagged

    def said(
        self, corpus: Corpus, instrument: Instrument, condition: str, *, assumed: bool = False
    ) -> dict[tuple[str, int], tuple[Message, ...]]:
        """The turns about keywords by item and sample; for an estimate, replies of the usual length are `assumed`."""
        question = f"{self.block}-keywords"
        mine = corpus.judgments.filter(rater=self.id, question=question, condition=condition)
        mine = mine.filter(pl.col("status").cast(pl.String) != "failed")
        replies: dict[tuple[str, int], str] = {}
        if assumed:
            usual = "keyword " * (KEYWORD_TOKENS // 2)
            replies = {(item, n): usual for item in corpus.items["item"] for n in range(self.samples)}
        elif "reply" in mine.columns:
            replies = {(item, n): reply for item, n, reply in mine.select("item", "sample", "reply").iter_rows()}
        writer, asked = self.prompter(corpus, instrument, condition), instrument.question(question)
        items = {str(row["item"]): row for row in corpus.items.iter_rows(named=True)}
        return {
            key: (Message("user", writer.user([asked], items[key[0]])), Message("assistant", reply))
            for key, reply in replies.items()
            if reply
        }


KEYWORD_BLOCKS: Final = ("traits", "emotions", "behaviours", "overall")
VARIANTS: Final = {
    "no-reasoning": (False, True),
    "no-instructions": (True, False),
    "bare": (False, False),
}
"""Variants of the prompt: whether keywords and reasons come first, and whether there are instructions."""
_BLOCKS: Final = {
    "structure": ("job-prestige", "economic-success", "education", "special-treatment", "power", "resources"),
    "behaviours": ("help", "protect", "fight", "attack", "cooperate", "associate", "exclude", "demean"),
    "overall": ("overall",),
}
"""The questions that are not about traits or, as their ids say, feelings."""
_WORDS: Final = ("role", "instructions", *KEYWORD_BLOCKS, "form")


def keyword_words(source: str | Path = "") -> dict[str, str]:
    """The wording of the keyword questions: the bundled one, or that of a file."""
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
    """The questions of an instrument by block."""
    questions: dict[str, list[str]] = {"traits": [], "structure": [], "emotions": [], "behaviours": [], "overall": []}
    for question in instrument.questions:
        other = "emotions" if question.id.startswith("feel-") else "traits"
        questions[next((name for name, ids in _BLOCKS.items() if question.id in ids), other)].append(question.id)
    return {name: ids for name, ids in questions.items() if ids}


def keyword_instrument(instrument: Instrument, words: Mapping[str, str] | None = None) -> Instrument:
    """The questions for keyword replies; the value is the number of keywords."""
    words = words or keyword_words()
    asked = {f"{block}-keywords": words[block] for block in blocks(instrument) if block in KEYWORD_BLOCKS}
    scales = dict.fromkeys(asked, Scale.points(0, MOST))
    lists = Instrument.of_questions(f"{instrument.id}-keywords", f"{instrument.title}: keywords", scales, asked)
    return Instrument.from_document({**lists.document, "fields": instrument.document["fields"]})


def named(model: str) -> str:
    """A model's name without the folders of a file, which say nothing to a reader.

    >>> named("recorded:answers/2023/run.csv"), named("hf:org/model")
    ('recorded:run.csv', 'hf:org/model')
    """
    kind, _, place = model.partition(":")
    return f"{kind}:{Path(place).name}" if kind in ("recorded", "gguf") else model


def conditions(options: Any, *, keywords: bool) -> dict[str, tuple[bool, bool, int]]:
    """Every condition, with whether keywords come first, whether there are instructions, and the number of runs."""
    if options.runs < 1 or options.variant_runs < 1:
        raise InputError("at least one run is needed", remedy="set runs to 1 or more")
    asked = {"": (keywords, True, options.runs)}
    for name in VARIANTS if options.variants == "all" else listed(options.variants, VARIANTS, "variant of the prompt"):
        reasoned, instructed = VARIANTS[name]
        asked[name] = (reasoned and keywords, instructed, options.variant_runs)
    return asked


def elicit(context: Context[Any], corpus: Corpus, instrument: Instrument) -> Corpus:
    """The corpus with what the models say as asked (condition "") and under each variant, block by block."""
    options, answers = context.options, str(context.options.answers)
    if answers == "auto":
        answers = "scoring" if context.models and set(context.models) == {"embedded"} else "sampling"
    scoring = answers == "scoring"
    keywords = options.first == "keywords" or (options.first == "auto" and not scoring)
    society = instrument.parameters.get("society", "")
    words = {name: text.replace("{society}", society) for name, text in keyword_words(options.keyword_prompts).items()}
    lists = keyword_instrument(instrument, words)
    style = "scoring" if scoring else "together+free" if options.replies == "free" else "together"
    if options.prompt == "paper":
        answers, scoring, keywords = "sampling", False, options.form == "extended"
        style = paper_prompts("stereomap")["styles"][options.form]
    asked = conditions(options, keywords=keywords)
    for model, (condition, (reasons, instructed, runs)) in product(context.models, asked.items()):
        common: dict[str, Any] = {
            "model": model,
            "name": named(model) + ("+scoring" if scoring else ""),
            "samples": runs,
            "temperature": options.temperature,
            **context.common,
            "max_tokens": options.max_tokens,
            "instructed": instructed,
            "style_name": f"{answers}, {'keywords and reasons first' if keywords else 'ratings alone'}",
        }
        for block, questions in blocks(instrument).items():
            how = {**common, "block": block, "style": style}
            if reasons and block in KEYWORD_BLOCKS:
                listing = BlockRater(**{**how, "style": "zero-shot", "words": words})
                corpus = context.rate(corpus, listing, lists, questions=[f"{block}-keywords"], condition=condition)
                how["turns"] = listing.said(corpus, lists, condition, assumed=context.plans)
            elif reasons and not scoring:
                # Social structure has no keywords; its reasons are asked for with the rating.
                how["style"] += "+reasoning"
            rater = BlockRater(**{**how, **({"samples": 1, "temperature": 0.0} if scoring else {})})
            corpus = context.rate(corpus, rater, instrument, questions=questions, condition=condition)
    return recounted(corpus)


def recounted(corpus: Corpus) -> Corpus:
    """The corpus with keyword replies read as lists of words, refusals, or neither."""
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
    return corpus._with(judgments=pl.concat([rest, lists]))


def keywords_of(corpus: Corpus) -> pl.DataFrame:
    """All keywords in the stored replies: item, rater, condition, sample, what they are about, place, word, reason."""
    rows: list[dict[str, Any]] = []
    if "reply" in corpus.judgments.columns:
        lists = corpus.judgments.filter(pl.col("question").str.ends_with("-keywords"), pl.col("reply").is_not_null())
        for row in lists.select("item", "question", "rater", "condition", "sample", "reply").iter_rows(named=True):
            reply, about = row.pop("reply"), row.pop("question").removesuffix("-keywords")
            for place, keyword in enumerate(read_keywords(reply).keywords, 1):
                said = {"keyword": keyword.word, "reason": keyword.reason}
                rows.append({**row, "about": about, "place": place, **said})
    names = ("item", "rater", "condition", "sample", "about", "place", "keyword", "reason")
    return pl.DataFrame(rows, schema={**dict.fromkeys(names, pl.String), "sample": pl.Int64, "place": pl.Int64})


QUALITY: Final = "response-quality"


def response_items(corpus: Corpus, per_group: int = 5, seed: int = 0) -> Corpus:
    """At most `per_group` answers per group and model, drawn at random, for people to judge.

    Each item shows trait keywords with reasons and ratings of a run, and the keywords of another run about the group.
    It keeps `source`, `of` and `sample`, so that judgments can be compared by model; raters do not see them.
    """
    run = ["rater", "item", "sample"]
    words = keywords_of(corpus).filter(condition="", about="traits")
    line = pl.concat_str("keyword", pl.lit(": ") + pl.col("reason"), ignore_nulls=True)
    listed = words.group_by(run, maintain_order=True).agg(line.str.join("\n").alias("keywords"))
    asked = {
        question.id: question.title
        for instrument in corpus.instruments
        if instrument.aggregates
        for question in instrument.questions
        if question.id in blocks(instrument).get("traits", [])
    }
    rated = corpus.judgments.filter(pl.col("question").is_in([*asked]), condition="").drop_nulls("value")
    value = pl.col("value").map_elements(lambda number: f"{number:g}", pl.String)
    lines = pl.format("{}: {}", pl.col("question").cast(pl.String).replace(asked), value).str.join(", ")
    ratings = rated.group_by(run, maintain_order=True).agg(lines.alias("ratings"))
    both = listed.join(ratings.cast({"sample": pl.Int64}), on=run).join(corpus.items.select("item", "group"), on="item")
    if both.is_empty():
        raise InputError("no run has both keywords and ratings", remedy="run the study with first=keywords")
    same = pl.struct("rater", "item")
    other = pl.col("keywords").shift(-1, fill_value=pl.col("keywords").first()).over(same)
    again = pl.when(pl.len().over(same) > 1).then(other).otherwise(pl.lit("(It was asked once only.)"))
    shuffled = both.sort(run)[np.random.default_rng(seed).permutation(len(both))].with_columns(again=again, of="item")
    drawn = shuffled.group_by("rater", "item", maintain_order=True).head(per_group).rename({"rater": "source"})
    about = About(name=QUALITY, title="Answers of models about groups", language=corpus.about.language)
    return blinded(drawn, QUALITY, about, seed, ["source", "of", "sample"])
