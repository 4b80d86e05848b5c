"""Chat raters that are asked block by block: for keywords with reasons, and for ratings after their own keywords."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

import polars as pl

from vantage.corpora import Corpus
from vantage.instruments import Instrument, Question
from vantage.raters.chat import ChatRater, PlannedCall
from vantage.raters.models.base import Message, Request
from vantage.raters.prompts import Prompter, Shot

KEYWORD_TOKENS: Final = 250
"""How long a list of keywords with reasons is, typically."""


@dataclass(frozen=True, slots=True)
class BlockPrompter(Prompter):
    """Writes prompts with what was said before, and without the guidelines where they are to be left out."""

    instructed: bool = True
    turns: tuple[Message, ...] = ()

    def system(self, questions: Sequence[Question]) -> str:
        """Who speaks and, unless they are left out, the guidelines and what the questions mean."""
        # Plain super() does not work in a dataclass with slots.
        return Prompter.system(self, questions) if self.instructed else self._voiced()

    def request(self, questions: Sequence[Question], item: Mapping[str, Any], shots: Sequence[Shot] = ()) -> Request:
        """The request, behind the turns that went before."""
        plain = Prompter.request(self, questions, item, shots)
        return replace(plain, messages=(*plain.messages[:-1], *self.turns, plain.messages[-1]))


@dataclass(frozen=True, slots=True)
class KeywordPrompter(BlockPrompter):
    """Asks for keywords and reasons instead of a rating."""

    words: Mapping[str, str] = field(default_factory=dict)
    block: str = "traits"

    def system(self, questions: Sequence[Question]) -> str:
        """The role and, unless they are left out, the instructions."""
        return f"{self.words['role']}\n\n{self.words['instructions']}" if self.instructed else self.words["role"]

    def user(self, questions: Sequence[Question], item: Mapping[str, Any]) -> str:
        """The question and the form of the answer."""
        return f"{self.words[self.block].replace('{group}', str(item['group']))}\n\n{self.words['form']}"


@dataclass(frozen=True)
class BlockRater(ChatRater):
    """A chat rater that is asked block by block."""

    block: str = "traits"
    instructed: bool = True
    told: str = ""

    def row(self) -> dict[str, Any]:
        """The rater's row; the style is that of the whole study, whichever block is asked first."""
        return {**ChatRater.row(self), "style": self.told}

    def prompter(self, corpus: Corpus, instrument: Instrument, condition: str = "") -> BlockPrompter:
        """What writes this rater's prompts."""
        return BlockPrompter(
            **_parts(ChatRater.prompter(self, corpus, instrument, condition)), instructed=self.instructed
        )

    def plan(self, corpus: Corpus, instrument: Instrument, **options: Any) -> Iterator[PlannedCall]:
        """The calls, tagged with the block where its questions are asked together, so that records can be found."""
        condition = options.get("condition", "")
        for call in ChatRater.plan(self, corpus, instrument, **options):
            item, question, sample = call.request.tag or ("", "", 0)
            named = question or self.block
            tag = (item, f"{condition}/{named}" if condition else named, sample)
            yield replace(call, request=replace(call.request, tag=tag))


@dataclass(frozen=True)
class KeywordRater(BlockRater):
    """Lists keywords with reasons."""

    words: Mapping[str, str] = field(default_factory=dict)

    def prompter(self, corpus: Corpus, instrument: Instrument, condition: str = "") -> BlockPrompter:
        """What writes this rater's prompts."""
        plain = BlockRater.prompter(self, corpus, instrument, condition)
        return KeywordPrompter(**_parts(plain), words=self.words, block=self.block)

    def reply_tokens(self, questions: Sequence[Question]) -> int:
        """Several keywords, each with a sentence."""
        return KEYWORD_TOKENS

    def said(
        self, corpus: Corpus, instrument: Instrument, condition: str, *, assumed: bool = False
    ) -> dict[tuple[str, int], tuple[Message, ...]]:
        """What was asked and answered, by item and sample: the beginning of the conversation about ratings.

        Where nothing was asked, replies of the usual length are `assumed` for an estimate.
        """
        question = f"{self.block}-keywords"
        if assumed:
            usual = "keyword " * (KEYWORD_TOKENS // 2)
            replies = {(item, n): usual for item in corpus.items["item"] for n in range(self.samples)}
        elif "reply" not in corpus.judgments.columns:
            return {}
        else:
            mine = corpus.judgments.filter(
                pl.col("rater") == self.id,
                pl.col("question") == question,
                pl.col("condition") == condition,
                pl.col("status").cast(pl.String) != "failed",
            )
            replies = {(item, n): reply for item, n, reply in mine.select("item", "sample", "reply").iter_rows()}
        writer = self.prompter(corpus, instrument, condition)
        asked = instrument.question(question)
        items = {str(row["item"]): row for row in corpus.items.iter_rows(named=True)}
        return {
            key: (Message("user", writer.user([asked], items[key[0]])), Message("assistant", reply))
            for key, reply in replies.items()
            if reply
        }


@dataclass(frozen=True)
class PrimedRater(BlockRater):
    """Rates after what it said before about the same group in the same run."""

    turns: Mapping[tuple[str, int], tuple[Message, ...]] = field(default_factory=dict)

    def plan(self, corpus: Corpus, instrument: Instrument, **options: Any) -> Iterator[PlannedCall]:
        """The calls, each behind the keywords and reasons of its own group and run."""
        for call in BlockRater.plan(self, corpus, instrument, **options):
            turns = self.turns.get((str(call.item["item"]), call.sample), ())
            if not turns or not isinstance(call.prompter, BlockPrompter):
                yield call
                continue
            writer = replace(call.prompter, turns=turns)
            request = writer.request(call.questions, call.item, call.shots)
            told = replace(request, sampling=call.request.sampling, tag=call.request.tag)
            yield replace(call, request=told, prompter=writer)


def _parts(prompter: Prompter) -> dict[str, Any]:
    """What a prompter is made of, for one of another kind."""
    return {part.name: getattr(prompter, part.name) for part in fields(prompter)}
