"""Varied presentations: what a model sees, what is stored, and what a wider design costs."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.test_presentations import INSTRUMENT
from vantage import ChatRater, Corpus
from vantage.errors import InputError
from vantage.measures.aggregation.balanced import balanced
from vantage.presentations import Presentation
from vantage.raters.models.base import Completion, LogProbs, Request
from vantage.runs import RunOptions, RunPlan, RunStore, rate
from vantage.runs.forecast import Forecast, prompt_notes
from vantage.runs.reparse import reparse

REVERSED = ("The text is a waste of time.", "Reading the text does not pay off.")
LABELS = {o.code: o.label for o in INSTRUMENT.question("worth").scale.options}


def items(count: int) -> Corpus:
    table = pl.DataFrame(
        {"item": [f"i{n}" for n in range(count)], "text": [f"Text {n} of worth {n % 5 - 2}." for n in range(count)]}
    )
    empty = pl.DataFrame(schema={"item": pl.String, "question": pl.String, "rater": pl.String, "value": pl.Float64})
    return Corpus(table, pl.DataFrame({"rater": ["nobody"]}), empty, INSTRUMENT)


@dataclass
class Reader:
    """A model that reads what a text is worth and names the option that says so, however options are shown.

    `lean` moves its answer up where the options are listed downwards, as models that prefer the first one do.
    """

    name: str = "reader"
    window: int | None = None
    notes: list[str] = field(default_factory=list)
    lean: int = 0
    asked: list[Request] = field(default_factory=list)

    def complete(self, requests: Sequence[Request]) -> list[Completion]:
        self.asked += requests
        return [Completion(self._reply(request)) for request in requests]

    def score(self, requests: Sequence[Request], options: Sequence[str]) -> LogProbs:
        self.asked += requests
        words = [self._word(request) for request in requests]
        return np.log([[0.9 if option == word else 0.01 for option in options] for word in words])

    def count_tokens(self, text: str) -> int:
        return len(text) // 4

    def close(self) -> None:
        pass

    def _reply(self, request: Request) -> str:
        word = self._word(request)
        return json.dumps({"answer": word}) if "JSON" in request.messages[-1].content else word

    def _word(self, request: Request) -> str:
        whole = "\n".join(message.content for message in request.messages)
        last = request.messages[-1].content
        meant = re.search(r"worth (-?\d)\.", last)
        assert meant is not None
        code = float(meant[1])
        if self.lean and whole.rindex("strongly agree") < whole.rindex("strongly disagree"):
            code = min(2.0, code + self.lean)
        if any(ask in last for ask in REVERSED):
            code = -code
        listed = [line.strip() for line in whole.split("\n")]
        label = LABELS[code]
        named = [line.partition(" = ")[0] for line in listed if line.endswith(f" = {label}")]
        return named[0] if named else label


def varied(
    reader: Reader,
    corpus: Corpus,
    vary: str,
    *,
    store: RunStore | None = None,
    style: str = "zero-shot",
    **options: Any,
) -> Corpus:
    kept = {name: options.pop(name) for name in ("design", "presentation", "options") if name in options}
    rater = ChatRater(reader, style, **options)
    return rate(corpus, rater, INSTRUMENT, questions=["worth"], vary=vary, store=store, **kept)


@pytest.mark.slow
def test_every_combination_is_stored_in_the_codes_of_the_meaning() -> None:
    reader = Reader()
    vary = "order=up/down/random,labels,direction,wording,format=line/json/scored,optout"
    corpus = varied(reader, items(5), vary, style="few-shot:2", design="full")
    rows = corpus.judgments
    assert len(rows) == 5 * 3 * 3 * 2 * 2 * 3 * 2
    assert rows["status"].cast(pl.String).unique().to_list() == ["answered"]
    wanted = rows.with_columns(pl.col("item").str.slice(1).cast(pl.Float64) - 2)
    assert wanted.filter(pl.col("value") != pl.col("item")).is_empty()
    assert (
        rows.filter(pl.col("presentation").str.contains("order=random"))
        .select(pl.col("presentation").str.contains(r"seen=\d(\.\d){4}").all())
        .item()
    )
    # The distribution of scored answers is in the order of the codes, whatever order was shown.
    scored = rows.filter(pl.col("presentation").str.contains("format=scored"))
    assert {int(np.argmax(p)) - 2 for p in scored["probabilities"]} == {-2, -1, 0, 1, 2}
    assert scored.filter(pl.col("probabilities").list.arg_max().cast(pl.Float64) - 2 != pl.col("value")).is_empty()


def test_a_presentation_that_is_only_set_is_written_out() -> None:
    reader = Reader()
    corpus = varied(reader, items(3), "", presentation="order=random labels=letters")
    assert corpus.judgments["value"].to_list() == [-2.0, -1.0, 0.0]
    assert all(text.startswith("labels=letters order=random seen=") for text in corpus.judgments["presentation"])
    assert len(set(corpus.judgments["presentation"])) > 1


def test_a_hidden_middle_is_neither_shown_nor_an_example() -> None:
    reader = Reader()
    corpus = varied(reader, items(5).filter(item=["i0", "i4"]), "middle", style="few-shot:4")
    hidden = [request for request in reader.asked if "undecided" not in "".join(m.content for m in request.messages)]
    assert len(hidden) == len(reader.asked) // 2 == 2
    assert corpus.judgments["value"].to_list() == [-2.0, -2.0, 2.0, 2.0]


def test_replies_of_all_presentations_are_read_again_alike() -> None:
    corpus = varied(Reader(), items(5), "order=up/random,labels,direction,format")
    again = reparse(corpus)
    assert (again.read, len(again.changes)) == (len(corpus.judgments), 0)


def test_the_plain_presentation_asks_what_is_asked_without_one() -> None:
    """So that a run without variation and one with it share their calls."""
    plain, varying = Reader(), Reader()
    varied(plain, items(3), "")
    varied(varying, items(3), "order,labels=numbers/letters,direction", design="full")
    plainly = {request.messages for request in plain.asked}
    assert plainly < {request.messages for request in varying.asked}


def test_a_wider_design_and_further_samples_ask_only_what_is_new(tmp_path: Path) -> None:
    corpus, reader = items(6), Reader()
    with RunStore(tmp_path / "runs.sqlite") as store:

        def asked(vary: str, **options: Any) -> int:
            before = len(reader.asked)
            varied(reader, corpus, vary, store=store, design="full", **options)
            return len(reader.asked) - before

        assert asked("order") == 6 * 2
        assert asked("order") == 0
        assert asked("order,direction") == 6 * 2
        assert asked("order,direction", samples=2, temperature=1.0) == 6 * 4 * 2
        assert asked("order,direction", samples=3, temperature=1.0) == 6 * 4
        forecast = Forecast(store=store)
        rater = varied_rater(reader, "order,direction,wording", samples=3, temperature=1.0)
        forecast.add(RunPlan.of(corpus, rater, INSTRUMENT, questions=["worth"]))
        assert forecast.total.calls == 6 * 4 * 3


def varied_rater(reader: Reader, vary: str, *, design: str = "full", **options: Any) -> ChatRater:
    from vantage.raters.asked import varied as with_design

    return with_design(ChatRater(reader, **options), INSTRUMENT, ["worth"], vary=vary, design=design)


def test_judgments_that_are_there_are_not_asked_for_again_and_others_are_replaced_with_a_note() -> None:
    reader = Reader()
    once = varied(reader, items(4), "order,direction", design="full")
    assert sorted(once.judgments.filter(item="i0")["sample"]) == [0, 1, 2, 3]
    before = len(reader.asked)
    assert varied(reader, once, "order,direction", design="full").judgments.equals(once.judgments)
    assert len(reader.asked) == before
    from vantage.runs.execution import run

    rater = varied_rater(reader, "wording,labels")
    with RunStore.temporary() as store:
        (judged,) = run(RunPlan.of(once, rater, INSTRUMENT, questions=["worth"]), store).judged
    assert any(note.startswith("16 earlier judgments of this rater") for note in judged.notes)
    plain = varied(reader, once, "")
    assert plain.judgments.filter(pl.col("presentation").is_null())["sample"].to_list() == [0, 0, 0, 0]


def test_an_estimate_says_what_the_design_asks_and_shows() -> None:
    rater = varied_rater(Reader(), "order,labels,direction,wording,format", design="balanced", samples=2)
    plan = RunPlan.of(items(40), rater, INSTRUMENT, questions=["worth"])
    first, second = prompt_notes(plan.parts[0])
    assert "in 12 of 48 possible presentations, 2 times each" in first
    assert "order 0.23, labels 0.25" in second
    assert "vary by 20 % of the scale's length" in second
    forecast = Forecast()
    forecast.add(plan)
    assert forecast.total.calls == 40 * 12 * 2


def test_a_budget_that_is_too_small_says_what_it_pays_for() -> None:
    reader = Reader()
    options = RunOptions(max_cost=0.01, prices={"reader": {"input": 1.0, "output": 1.0}})
    with pytest.raises(InputError, match=r"each item 8 times and costs about .* ask about \d+ items \(--limit\)"):
        varied(reader, items(20), "order,labels=numbers/letters,direction", design="full", options=options)
    assert not reader.asked


def test_the_average_over_presentations_is_a_rater_of_its_own() -> None:
    """A rater who leans to the first option by one point: the average is half a point off, in every item alike."""
    corpus = varied(Reader(lean=1), items(4), "order,direction", design="full", name="m")
    both = balanced(corpus)
    mean = both.judgments.filter(rater="m+balanced").sort("item")
    assert mean["expected"].to_list() == [-1.5, -0.5, 0.5, 1.5]
    assert mean["value"].to_list() == [-2.0, -1.0, 0.0, 1.0]
    assert both.raters.filter(rater="m+balanced")["style"].to_list() == ["zero-shot+balanced"]
    assert balanced(both).judgments.equals(both.judgments)
    with pytest.raises(InputError, match="was not asked in named presentations"):
        balanced(corpus, "somebody")
    with pytest.raises(InputError, match="do not say how they were asked"):
        balanced(varied(Reader(), items(2), ""))


def test_missing_answers_are_not_averaged_away() -> None:
    corpus = varied(Reader(), items(1), "order,direction", design="full", name="m")
    statuses = ["answered", "refused", "refused", "unparsed"]
    holes = corpus.judgments.with_columns(
        pl.Series("status", statuses, dtype=corpus.judgments.schema["status"]),
        pl.when(pl.Series([True, False, False, False])).then("value").alias("value"),
    )
    found = balanced(corpus._with(judgments=holes)).judgments.filter(rater="m+balanced")
    assert found.select("value", pl.col("status").cast(pl.String), "expected").rows() == [(None, "refused", None)]


def test_questions_asked_together_change_their_order() -> None:
    reader = _Together()
    corpus = rate(items(3), ChatRater(reader, "together"), INSTRUMENT, vary="questions,order", design="full")
    firsts = [re.findall(r"\[(\w+)\]", request.messages[-1].content)[0] for request in reader.asked]
    assert sorted(set(firsts)) == ["gripping", "worth"]
    assert len(corpus.judgments) == 3 * 2 * 2 * 2
    assert set(corpus.judgments.filter(question="gripping")["value"]) == {4.0}
    assert {Presentation.parse(p).questions for p in corpus.judgments["presentation"]} == {"listed", "reversed"}


class _Together(Reader):
    def _reply(self, request: Request) -> str:
        return json.dumps({"worth": 1, "gripping": 4})
