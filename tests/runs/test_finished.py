"""A finished run is read without being planned again, exactly as planning would read it, while it is the same."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.runs.test_local import Here
from tests.runs.test_rating import answering
from vantage import ChatRater, Corpus, runs
from vantage.raters import Persona, prompts
from vantage.raters.chat import ChatRater as Rater
from vantage.raters.models.base import Completion, LogProbs, Request
from vantage.runs import Outcome, PlanPart, RunPlan, RunStore, finished, judgments, run
from vantage.runs.finished import Layout
from vantage.runs.tables import StoreError

from .conftest import corpus


class Model(Here):
    """A model in this process that answers as the tests' endpoint would; `reply` may be another."""

    def __init__(self) -> None:
        super().__init__()
        self.reply: Callable[[dict[str, Any]], str] = answering

    def complete(self, requests: Sequence[Request]) -> list[Completion]:
        self.batches.append(len(requests))
        return [self._completion(request) for request in requests]

    def _completion(self, request: Request) -> Completion:
        text = self.reply({"messages": [{"role": one.role, "content": one.content} for one in request.messages]})
        return Completion("", "failed", error="No.") if text == "fail" else Completion(text, "stop", 10, 1)


@pytest.fixture
def model() -> Model:
    return Model()


MakePlan = Callable[..., RunPlan]


@pytest.fixture
def plan(model: Model) -> MakePlan:
    """`plan(items, style, questions, **options)`: questions about invented sentences, put to the model."""

    def make(
        items: int = 5, style: str = "zero-shot", questions: tuple[str, ...] = ("trust",), **options: Any
    ) -> RunPlan:
        return RunPlan.of(corpus(items), ChatRater(model, style, **options), "warmth-competence", questions=questions)

    return make


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many items prompts were written for, all in all."""
    asked = [0]
    plan = Rater.plan

    def counted(self: Rater, *args: Any, **options: Any) -> Any:
        items = options.get("items")
        asked[0] += len(items) if items is not None else 0
        return plan(self, *args, **options)

    monkeypatch.setattr(Rater, "plan", counted)
    return lambda: asked[0]


def table(outcome: Outcome) -> pl.DataFrame:
    return outcome.judged[0].judgments


def forget(store: RunStore) -> None:
    store.writer.do(lambda connection: connection.execute("DELETE FROM finished"))


def count(store: RunStore) -> int:
    return int(store.select("SELECT COUNT(*) FROM finished")[0][0])


@pytest.mark.parametrize("style", ["zero-shot", "together", "json+reasoning", "coarse", "few-shot:2", "reasoning"])
def test_a_finished_run_is_recalled_as_it_would_be_read(
    plan: MakePlan, store: RunStore, planned: Callable[[], int], monkeypatch: pytest.MonkeyPatch, style: str
) -> None:
    # Several blocks, whose borders fall between the samples of an item.
    monkeypatch.setattr(finished, "BLOCK", 50)
    asked = plan(40, style, (), samples=3, temperature=1.0)
    first = run(asked, store)
    assert first.complete
    before = planned()
    again = run(asked, store)
    # Only some requests are written anew, to see that they are still the same.
    assert planned() - before == 16
    assert (again.tally.sent, again.tally.stored, again.tally.conversations) == (
        0,
        first.tally.sent,
        asked.parts[0].size,
    )
    assert again.complete
    assert table(again).equals(table(first))
    assert table(again).schema == table(first).schema
    assert judgments(asked, store).judged[0].judgments.equals(table(first))
    forget(store)
    assert table(run(asked, store)).equals(table(first))
    assert count(store) == 1


def test_scores_are_recalled_question_by_question(store: RunStore) -> None:
    class Sure(Here):
        def score(self, requests: Sequence[Request], options: Sequence[str]) -> LogProbs:
            self.batches.append(len(requests))
            return np.log(np.random.default_rng(len(self.batches)).dirichlet([1.0] * len(options), len(requests)))

    model = Sure()
    asked = RunPlan.of(corpus(30), ChatRater(model, "scoring"), "warmth-competence")
    first = run(asked, store)
    batches = len(model.batches)
    again = run(asked, store)
    assert table(again).equals(table(first))
    assert len(model.batches) == batches
    assert count(store) == 1


def test_the_same_reply_is_read_for_each_item_it_was_given_to(model: Model, plan: MakePlan, store: RunStore) -> None:
    # The answer line stands in one of the items, of which the reply is then a copy.
    model.reply = lambda body: "The baker gave back the wallet, case 0002.\nAnswer: 2"
    asked = plan(4)
    first = run(asked, store)
    again = run(asked, store)
    assert table(again).equals(table(first))
    assert set(table(first)["value"]) == {2.0}


def test_no_model_is_loaded_for_a_finished_run(
    store: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = tmp_path / "recorded.csv"
    rows = {"item": [f"i{n:04}" for n in range(9)], "question": ["trust"] * 9, "reply": ["1", "2", "-3"] * 3}
    pl.DataFrame(rows).write_csv(recorded)
    asked = RunPlan.of(corpus(9), ChatRater(f"recorded:{recorded}"), "warmth-competence", questions=["trust"])
    first = run(asked, store)
    monkeypatch.setattr(Rater, "open", lambda _: pytest.fail("the model was loaded"))
    assert table(run(asked, store)).equals(table(first))


def test_items_with_the_same_text_share_a_call(model: Model, plan: MakePlan, store: RunStore) -> None:
    part = plan(6).parts[0]
    same = part.corpus.items.with_columns(text=pl.lit("The same."))
    shared = Corpus(same, part.corpus.raters, part.corpus.judgments, part.corpus.instruments)
    asked = RunPlan((replace(part, corpus=shared),))
    first = run(asked, store)
    assert (first.tally.sent, sum(model.batches)) == (1, 1)
    again = run(asked, store)
    assert table(again).equals(table(first))
    assert table(again)["item"].to_list() == [f"i{n:04}" for n in range(6)]


def _changed_item(part: PlanPart) -> PlanPart:
    items = part.corpus.items.with_columns(
        text=pl.when(pl.col("item") == "i0007").then(pl.lit("Another, case 0007.")).otherwise("text")
    )
    changed = Corpus(items, part.corpus.raters, part.corpus.judgments, part.corpus.instruments)
    return replace(part, corpus=changed)


def _changed_wording(part: PlanPart) -> PlanPart:
    document = {**part.instrument.document, "guidelines": "Judge otherwise."}
    return replace(part, instrument=type(part.instrument).from_document(document))


def _changed_order(part: PlanPart) -> PlanPart:
    items = part.corpus.items.reverse()
    return replace(part, corpus=Corpus(items, part.corpus.raters, part.corpus.judgments, part.corpus.instruments))


@pytest.mark.parametrize(
    ("change", "sent"),
    [
        (_changed_item, 1),
        (_changed_wording, 20),
        (_changed_order, 0),
        (lambda part: replace(part, rater=replace(part.rater, temperature=0.5)), 20),
        (lambda part: replace(part, rater=replace(part.rater, seed=1)), 20),
        (lambda part: replace(part, rater=replace(part.rater, samples=2)), 20),
        (lambda part: replace(part, rater=replace(part.rater, settings={"precision": "low"})), 20),
        (lambda part: replace(part, condition="context"), 20),
        (lambda part: replace(part, questions=("competence",)), 20),
    ],
)
def test_whatever_changes_a_request_is_noticed(
    plan: MakePlan, store: RunStore, change: Callable[[PlanPart], PlanPart], sent: int
) -> None:
    part = plan(20).parts[0]
    run(RunPlan((part,)), store)
    outcome = run(RunPlan((change(part),)), store)
    assert outcome.tally.sent == sent
    assert outcome.complete


def test_a_persona_is_told_by_what_it_is_and_not_only_by_its_name(plan: MakePlan, store: RunStore) -> None:
    def asked(text: str) -> RunPlan:
        return plan(5, "persona", persona=Persona("ann", description=text))

    assert run(asked("Ann is a nurse."), store).tally.sent == 5
    assert run(asked("Ann is a nurse."), store).tally.stored == 5
    assert run(asked("Ann is a farmer."), store).tally.sent == 5


def test_prompts_that_are_written_otherwise_by_newer_code_are_noticed(
    plan: MakePlan, store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(plan(20), store)
    monkeypatch.setattr(prompts, "ROLE", "You are a rater.")
    assert run(plan(20), store).tally.sent == 20


def test_a_call_that_is_gone_is_asked_again(plan: MakePlan, store: RunStore) -> None:
    first = run(plan(400), store)
    # One that is not among those that are looked at beforehand.
    store.writer.do(lambda connection: connection.execute("DELETE FROM calls WHERE item = 'i0137'"))
    again = run(plan(400), store)
    assert (again.tally.sent, again.tally.stored) == (1, 399)
    assert table(again).equals(table(first))
    assert run(plan(400), store).tally.stored == 400


def test_a_number_that_now_belongs_to_another_call_is_noticed(plan: MakePlan, store: RunStore) -> None:
    first = run(plan(400), store)

    def swap(connection: sqlite3.Connection) -> None:
        (one, other) = [
            connection.execute("SELECT id FROM calls WHERE item = ?", (item,)).fetchone()[0]
            for item in ("i0137", "i0138")
        ]
        for old, new in ((one, -1), (other, one), (-1, other)):
            connection.execute("UPDATE calls SET id = ? WHERE id = ?", (new, old))

    store.writer.do(swap)
    assert table(run(plan(400), store)).equals(table(first))


def test_a_damaged_reply_is_told(plan: MakePlan, store: RunStore) -> None:
    run(plan(100), store)
    store.writer.do(lambda connection: connection.execute("UPDATE calls SET reply = '3' WHERE item = 'i0051'"))
    with pytest.raises(StoreError, match="damaged"):
        run(plan(100), store)


def test_a_run_with_failures_or_a_part_in_the_corpus_is_not_taken_for_finished(
    model: Model, plan: MakePlan, store: RunStore
) -> None:
    model.reply = lambda body: "fail" if "case 0003" in body["messages"][-1]["content"] else "2"
    asked = plan(10)
    outcome = run(asked, store)
    assert outcome.tally.failed == 1
    assert count(store) == 0
    model.reply = lambda body: "2"
    assert run(asked, store).tally.sent == 1
    assert count(store) == 1


def test_what_depends_on_replies_is_always_planned(plan: MakePlan, store: RunStore) -> None:
    asked = plan(5, "two-step")
    first = run(asked, store)
    assert count(store) == 0
    assert table(run(asked, store)).equals(table(first))
    # Where nothing had to be asked about, a part is finished as any other.
    run(plan(5), store)
    assert count(store) == 1


def test_another_run_that_rests_on_a_finished_part_keeps_its_calls(plan: MakePlan, store: RunStore) -> None:
    one = plan(12).parts[0]
    other = replace(one, rater=replace(one.rater, seed=5))
    run(RunPlan((one,)), store)
    both = run(RunPlan((one, other)), store)
    assert (both.tally.stored, both.tally.sent) == (12, 12)
    again = run(RunPlan((one, other)), store)
    assert (again.tally.stored, again.tally.sent) == (24, 0)


def test_a_store_of_an_older_version_gets_the_table_when_it_is_opened(plan: MakePlan, tmp_path: Path) -> None:
    path = tmp_path / "older.sqlite"
    with RunStore(path) as store:
        first = run(plan(3), store)
        store.writer.do(lambda connection: connection.execute("DROP TABLE finished"))
    with RunStore(path, read_only=True) as store:
        assert table(judgments(plan(3), store)).equals(table(first))
    with RunStore(path) as store:
        run(plan(3), store)
        assert count(store) == 1


@pytest.mark.parametrize("by_group", [False, True])
def test_the_layout_says_where_each_request_stands(by_group: bool) -> None:
    layout = Layout(items=4, groups=3, samples=1 if by_group else 2, by_group=by_group)
    orders = np.arange(4 * 3 * layout.samples)
    places = list(zip(*(each.tolist() for each in layout.places(orders)), strict=True))
    assert len(set(places)) == len(orders)
    for item in range(4):
        within = [place for place in places if place[0] == item]
        assert within == [(item, group, sample) for group in range(3) for sample in range(layout.samples)]


def test_every_public_name_of_runs_is_there() -> None:
    assert [name for name in runs.__all__ if not hasattr(runs, name)] == []
