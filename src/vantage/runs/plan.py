"""What a run will ask: raters, items and an instrument, streamed and never held in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.instruments import Instrument, Question
from vantage.presentations import Presentation
from vantage.raters.asked import asked_instrument, asked_questions, relevance_instrument
from vantage.raters.chat import ChatRater, PlannedCall, chosen_questions
from vantage.raters.conversation import SILENT
from vantage.runs.keys import described, settings


@dataclass(frozen=True)
class PlanPart:
    """One rater, asked one instrument about the items of a corpus.

    Judgments that the corpus has already are not asked for again, except where they failed and, with
    `clarify`, where they could not be read.
    """

    rater: ChatRater
    corpus: Corpus
    instrument: Instrument
    questions: tuple[str, ...] = ()
    condition: str = ""
    instead_of: str = ""
    """The rater whose open items are asked about, where the rater is a fallback."""
    language: str = ""
    """The language of items and questions, where a study has several."""
    translates: Instrument | None = None
    """The instrument that this one is a translation of, in whose name the corpus has the judgments."""

    @cached_property
    def used(self) -> Instrument:
        """The instrument in the rater's form."""
        return asked_instrument(self.rater, self.instrument)

    @cached_property
    def asked(self) -> list[str]:
        """The ids of the questions in that form."""
        return [q.id for q in chosen_questions(self.used, asked_questions(self.rater, self.questions))]

    @cached_property
    def groups(self) -> list[tuple[Question, ...]]:
        """The questions that go into one request together."""
        return self.rater.groups([self.used.question(id_) for id_ in self.asked])

    @property
    def instruments(self) -> list[Instrument]:
        """What the corpus must know to hold the judgments."""
        used = self.used if self.translates is None else asked_instrument(self.rater, self.translates)
        selective = self.rater.parts.voice == "selective-persona"
        return [used, relevance_instrument(used)] if selective else [used]

    @property
    def size(self) -> int:
        """How many first requests there are, before any is left out."""
        return len(self.corpus.items) * len(self.groups) * self.rater.repetitions

    def done(self, open_statuses: Iterable[str] = ("failed",)) -> pl.DataFrame:
        """The keys of the judgments that the corpus has and that need not be asked for again."""
        mine = self.corpus.judgments.filter(pl.col("rater") == self.rater.id)
        is_open = pl.col("status").cast(pl.String).is_in(list(open_statuses))
        if "failed" in open_statuses and "rule" in mine.columns:
            is_open |= pl.col("rule").is_in(SILENT).fill_null(value=False)
        mine = mine.filter(pl.col("condition") == self.condition, ~is_open)
        if "presentation" in mine.columns:
            # The same sample may have been asked otherwise in an earlier design.
            texts = mine["presentation"].fill_null("")
            rows = zip(mine["item"], mine["question"], mine["sample"], texts, strict=True)
            cells: dict[str, list[tuple[Presentation, int]]] = {}
            mine = mine.filter(pl.Series([self._asked_so(cells, *one) for one in rows], dtype=pl.Boolean))
        elif self.rater.design:
            mine = mine.clear()
        return mine.select("item", "question", "sample")

    def check(self) -> None:
        """Refuses to add to a rater's judgments what would be asked with other settings or in other words."""
        rater = self.corpus.raters.filter(pl.col("rater") == self.rater.id)
        before = rater["settings"].drop_nulls() if "settings" in rater.columns else rater["rater"].clear()
        if before.is_empty():
            return
        then, now = (set(words.split(", ")) for words in (str(before[0]), settings(self.rater)))
        mine = self.corpus.judgments.filter(pl.col("rater") == self.rater.id, pl.col("question").is_in(self.asked))
        problem = ""
        if then != now:
            was, is_ = (", ".join(sorted(one - other)) or "–" for one, other in ((then, now), (now, then)))
            problem = f"was asked with other settings (then {was}, now {is_})"
        elif len(mine) and any(one.id == self.used.id and one != self.used for one in self.corpus.instruments):
            problem = f"was asked before the instrument '{self.used.id}' changed"
        if problem:
            remedy = "give the rater another name (--name, name=), which keeps both"
            raise InputError(f"the rater '{self.rater.id}' of this corpus {problem}", remedy=remedy)

    def _asked_so(
        self, cells: dict[str, list[tuple[Presentation, int]]], item: str, question: str, sample: int, presentation: str
    ) -> bool:
        """Whether the plan asks a sample in a presentation; `cells` keeps what was looked up of the design."""
        design = self.rater.design
        if design is None or question not in self.asked or sample >= self.rater.repetitions:
            return not presentation
        if item not in cells:
            cells[item] = design.asked(item, self.rater.samples)
        cell, repeat = cells[item][sample]
        return str(cell.drawn(self.used.question(question), self.rater.seed, item, repeat)) == presentation

    def skipped(self, done: pl.DataFrame) -> int:
        """How many first requests are left out because all their judgments are done."""
        asked = self._wanted(done)
        if len(self.groups) == len(self.asked):
            return len(asked)
        place = {question.id: number for number, group in enumerate(self.groups) for question in group}
        sizes = pl.DataFrame({"group": range(len(self.groups)), "size": [len(group) for group in self.groups]})
        grouped = asked.with_columns(group=pl.col("question").replace_strict(place, return_dtype=pl.Int64))
        counts = grouped.group_by("item", "sample", "group").len().join(sizes, on="group")
        return int((counts["len"] >= counts["size"]).sum())

    def _wanted(self, done: pl.DataFrame) -> pl.DataFrame:
        asked = done.filter(pl.col("question").is_in(self.asked), pl.col("sample") < self.rater.repetitions)
        return asked.join(self.corpus.items.select("item"), on="item", how="semi")

    def calls(self, done: pl.DataFrame) -> Iterator[PlannedCall]:
        """The first requests whose judgments are not all done."""
        items = self.open(done)
        # Only items that are done in part need a closer look, and at most times these are few.
        partly = self._wanted(done).join(items.select("item"), on="item", how="semi")
        how: dict[str, Any] = {"questions": self.asked, "condition": self.condition}
        return self.rater.plan(self.corpus, self.used, **how, items=items, done=frozenset(partly.iter_rows()))

    def open(self, done: pl.DataFrame) -> pl.DataFrame:
        """The items about which something is still to be asked."""
        counts = self._wanted(done).group_by("item").len()
        complete = counts.filter(pl.col("len") >= len(self.asked) * self.rater.repetitions)
        return self.corpus.items.join(complete, on="item", how="anti", maintain_order="left")

    def described(self) -> dict[str, Any]:
        """What is asked of whom, as plain data."""
        items = self.corpus.items["item"]
        digest = blake2b(digest_size=8)
        for item in items:
            digest.update(item.encode("utf-8", "surrogatepass") + b"\0")
        return {
            **described(self.rater),
            "instrument": self.used.id,
            "version": self.used.version,
            "questions": self.asked,
            "condition": self.condition,
            "items": len(items),
            "items_digest": digest.hexdigest(),
            "requests": self.size,
            **({"language": self.language} if self.language else {}),
        }


@dataclass(frozen=True)
class RunPlan:
    """What a run asks: the parts, one after the other."""

    parts: tuple[PlanPart, ...]

    @classmethod
    def of(
        cls,
        corpus: Corpus,
        raters: ChatRater | Sequence[ChatRater],
        instrument: Instrument | str,
        *,
        questions: Sequence[str] = (),
        condition: str = "",
    ) -> RunPlan:
        """One instrument, put to one rater or several."""
        known = Instrument.load(instrument) if isinstance(instrument, str) else instrument
        chosen = [raters] if isinstance(raters, ChatRater) else list(raters)
        parts = tuple(PlanPart(rater, corpus, known, tuple(questions), condition) for rater in chosen)
        corpus.check_scales(*{part.used.id: part.used for part in parts}.values())
        return cls(parts)

    def described(self) -> dict[str, Any]:
        """The plan as a run's record keeps it; equal plans are equal here."""
        return {"parts": [part.described() for part in self.parts]}
