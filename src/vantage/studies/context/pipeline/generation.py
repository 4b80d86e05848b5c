"""Contexts for statements: a scenario, a conversation around it, the statement inserted unchanged, and a check.

All items take each step together; those that fail a check start again, up to a limit. Every reply is stored, so that
generation can be resumed, and every step is recorded. The checks are those of the instrument `context-quality`: label
alignment, natural flow and absence of redundancy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.corpora import Corpus
from vantage.documents import Document
from vantage.errors import InputError, nearest
from vantage.instruments import Instrument, Question
from vantage.raters.chat import ChatRater
from vantage.raters.models.base import ChatModel
from vantage.raters.models.dialects import split_thinking
from vantage.raters.replies.refusals import refuses
from vantage.runs import RunOptions, RunPlan, RunStore
from vantage.runs.rating import carried_out, opened_store
from vantage.scales import show_code
from vantage.studies.context.pipeline import controls, dialogue
from vantage.studies.context.pipeline.controls import Contexts, Control
from vantage.studies.context.pipeline.dialogue import SpokenTurns
from vantage.studies.context.pipeline.simulation import Cost

Model = str | ChatModel | ChatRater
Statement = dict[str, Any]
"""A statement with as much of its context as is written, as the item that writer and verifier are shown."""
QUALITY: Final = "context-quality"
"""The instrument with which contexts are checked."""
LEAST: Final = 4.0
"""The lowest answer that passes: agree, on a scale from 1 (strongly disagree) to 5."""
TEMPERATURE: Final = 0.8
"""Of a writer without settings: a rejected attempt should not come out the same again."""
ASSUMPTION: Final = (
    "Contexts are counted as written as often as they may be, and as kept in the end: the most calls there can be."
)
_SPOKEN: Final = "one thing and another, and what came of it in the end, which nobody had thought of before"
_ASSUMED: Final = {
    "scenario": f"Two friends talk about {_SPOKEN}. " * 2,
    "conversation": "\n".join(f"Person {'AB'[n % 2]}: Attempt {{attempt}}, {{control}}, {_SPOKEN}." for n in range(8)),
    "position": "After: 4\nSpeaker: Person A",
}
"""Replies of the usual length, by step; conversations differ from attempt to attempt and by control."""
_SHOWN: Final[dict[str, Any]] = {
    **dict.fromkeys(("item", "text", "statement", "question", "meaning", "label", "scenario", "reason"), pl.String),
    "conversation": dialogue.CONVERSATION,
}


def generate(
    corpus: Corpus,
    instrument: Instrument | str,
    generator: Model,
    verifier: Model | None = None,
    *,
    control: Control = "label",
    attempts: int = 3,
    least: float = LEAST,
    labels: str = "label",
    store: RunStore | str | Path | None = None,
    seed: int = 0,
    options: RunOptions | None = None,
    progress: Callable[[int], None] | None = None,
    asks: Callable[[RunPlan, str], object] | None = None,
) -> Contexts:
    """Conversations around the statements of a corpus, each with its statement in it, word for word.

    A context is kept when it passes every check: two speakers who take turns, the statement once and unchanged, and
    the verifier's agreement that it has the label, flows naturally and does not repeat itself. Otherwise it is written
    again, up to `attempts` times; then the item is dropped with the last reason.

    Args:
        corpus: The statements, with their original labels.
        instrument: The task, with a condition `context` that shows a conversation; the label is that of its first
            question.
        generator: The model that writes; a `ChatRater` where its settings matter.
        verifier: The model that checks; without one the generator itself, with a warning.
        control: What contexts are written for: the `label`, its `opposite`, or no label (`blind`).
        attempts: The most attempts at a context.
        least: The lowest answer that passes, on the five-point scale of `context-quality`.
        labels: The item column with the original labels, as codes or wordings.
        store: Where replies are kept; a temporary file without it.
        seed: Random seed.
        options: Concurrency, retries and limits of the run.
        progress: Called with the number of items that were kept or dropped.
        asks: For an estimate: called with the most that may be asked, instead of asking it. Every check but that of
            the last attempt is assumed to fail, with prompts of about the right length.
    """
    used = Instrument.load(instrument) if isinstance(instrument, str) else instrument
    controls.condition_of(control)  # refuses one that there is not
    if attempts < 1:
        raise InputError(f"{attempts} attempts were allowed", remedy="allow at least one")
    made = Generation(corpus, used, control, attempts, least, seed, options, progress, asks)
    statements = made.statements(labels)
    with ExitStack() as stack:
        loads = asks is None and (options or RunOptions()).engine == "local"
        writes, checks = _models(generator, verifier, seed, stack if loads else None)
        made.store = None if asks else stack.enter_context(opened_store(store))
        kept = made.written(statements, writes, checks)
    return made.contexts(kept, *shared_models(writes.model_name, checks.model_name), *made.notes)


@dataclass
class Generation:
    """One generation, and what has happened to every item in it; the arguments are those of `generate`."""

    corpus: Corpus
    instrument: Instrument
    control: Control
    attempts: int
    least: float
    seed: int
    options: RunOptions | None
    progress: Callable[[int], None] | None
    asks: Callable[[RunPlan, str], object] | None
    store: RunStore | None = None
    notes: dict[str, None] = field(default_factory=dict)
    """What models could not do as asked."""

    def __post_init__(self) -> None:
        texts = self._column(controls.context_fields(self.instrument)[0].name)
        self.texts = {item: text or "" for item, text in texts.items()}
        self.steps: dict[str, list[dict[str, Any]]] = {item: [] for item in self.texts}

    def statements(self, labels: str) -> list[Statement]:
        """The items that a context can be written for, each with the label that it is written for in words."""
        question, aimed = self.instrument.questions[0], self.control != "blind"
        given = self._column(labels) if aimed else {}
        known = {item: _code(item, label, question) for item, label in given.items() if label is not None}
        statements: list[Statement] = []
        for item, text in self.texts.items():
            aim = controls.target(question.scale, known[item], self.control) if item in known else None
            if not text.strip():
                self._end(item, 0, "the item has no text")
            elif aimed and aim is None:
                opposed = "the label has no opposite on the scale"
                self._end(item, 0, opposed if item in known else "the item has no original label")
            else:
                option = next((one for one in question.scale.options if one.code == aim), None)
                meaning = (option.description or option.name) if option else None
                label = "" if aim is None else label_in_words(question, aim)
                shown = {"meaning": meaning, "label": label, "question": question.title, "scenario": ""}
                statements.append({"item": item, "text": text, "statement": text, **shown, "conversation": []})
        return statements

    def written(
        self, statements: Sequence[Statement], writer: ChatRater, verifier: ChatRater
    ) -> dict[str, SpokenTurns]:
        """The contexts that passed, by item, in the order of the statements."""
        kept: dict[str, SpokenTurns] = {}
        failed: dict[str, str] = {}
        for attempt in range(1, self.attempts + 1):
            tried = [{**one, "reason": failed.get(one["item"])} for one in statements if one["item"] not in kept]
            failed = {}
            for step in ("scenario", "conversation", "position", "verification"):
                rater = verifier if step == "verification" else dialogue.StepWriter.of(writer, step, attempt, self.seed)
                tried = self._through(step, tried, attempt, rater, failed) if tried else []
            for one in tried:
                self._end(one["item"], attempt)
                kept[one["item"]] = one["conversation"]
        for item, reason in failed.items():
            self._end(item, self.attempts, reason)
        return {one["item"]: kept[one["item"]] for one in statements if one["item"] in kept}

    def _through(
        self, step: str, tried: Sequence[Statement], attempt: int, rater: ChatRater, failed: dict[str, str]
    ) -> list[Statement]:
        """The statements that get through a step, with what it adds to them; why others do not is noted."""
        checks, passed = step == "verification", []
        steps = Document.bundled(__package__, "steps.yaml")
        instrument = Instrument.load(QUALITY) if checks else Instrument.from_document(steps.data, file="steps.yaml")
        # A context that was written for no label cannot agree with it.
        unasked = "label-alignment" if self.control == "blind" else ""
        asked = [one.id for one in instrument.questions if one.id != unasked] if checks else [step]
        replies = self._asked(rater, pl.DataFrame(tried, schema=_SHOWN), instrument, asked, attempt)
        for one in tried:
            rows = replies[one["item"]]
            text, result = _checked(rows, self.least) if checks else _read(step, one, rows[0])
            reason = result if isinstance(result, str) else None
            if isinstance(result, str):
                failed[one["item"]] = result
            else:
                passed.append({**one, **result})
            status = "rejected" if reason else "passed" if checks else "written"
            cost = {name: int(rows[0][name] or 0) for name in controls.COST}
            row = {"item": one["item"], "step": "insertion" if step == "position" else step, "attempt": attempt}
            row |= {"status": status, "text": text, "reason": reason, "model": rater.model_name, **cost}
            self.steps[one["item"]].append(row)
        return passed

    def _asked(
        self, rater: ChatRater, items: pl.DataFrame, instrument: Instrument, questions: Sequence[str], attempt: int
    ) -> dict[str, list[dict[str, Any]]]:
        """The judgments of one rater by item, with the `reply` and what the calls about the item took in all."""
        apart = replace(rater, name=f"{rater.id}/{self.control}")
        corpus = Corpus.of_items(items, instrument)
        plan = RunPlan.of(corpus, apart, instrument, questions=questions, condition=self.control)
        if self.asks is not None:
            self.asks(plan, ASSUMPTION)
            reply = _ASSUMED.get(questions[0], "").format(attempt=attempt, control=self.control)
            value = instrument.question(questions[0]).scale.ends[attempt == self.attempts]
            row = {"value": value, "status": "answered", "reply": reply, **dict.fromkeys(controls.COST, 0)}
            return {item: [{"question": asked, **row} for asked in questions] for item in items["item"]}
        assert self.store is not None  # noqa: S101 - only an estimate has none
        outcome = carried_out(plan, self.store, self.options)
        (judged,) = outcome.judged
        self.notes.update(dict.fromkeys(judged.notes))
        rows = judged.judgments.join(
            Cost.of_items(self.store, outcome.run), on="item", how="left", maintain_order="left"
        )
        return {str(item): mine.to_dicts() for (item,), mine in rows.group_by("item", maintain_order=True)}

    def contexts(self, kept: dict[str, SpokenTurns], *warnings: str) -> Contexts:
        """The items that have a context, and all steps, item by item in the order in which they happened."""
        name = controls.context_fields(self.instrument)[1].name
        frame = {"item": list(kept), name: list(kept.values())}
        written = pl.DataFrame(frame, schema={"item": pl.String, name: dialogue.CONVERSATION})
        items = self.corpus.items.drop(name, strict=False).join(written, on="item", maintain_order="left")
        judgments = self.corpus.judgments.join(items, on="item", how="semi", maintain_order="left")
        others = [known for known in self.corpus.instruments if known.id != self.instrument.id]
        corpus = Corpus(items, self.corpus.raters, judgments, [*others, self.instrument], self.corpus.about)
        steps = pl.DataFrame([row for rows in self.steps.values() for row in rows], schema=controls.SCHEMA)
        if not kept:
            warnings += ("No context passed all checks, so there is nothing to judge under the condition context.",)
        return Contexts(corpus, steps, self.control, warnings)

    def _column(self, name: str) -> dict[str, str]:
        """What a column says of each item, as text."""
        if name not in self.corpus.items.columns:
            raise InputError(f"the items have no column '{name}'", remedy=nearest(name, self.corpus.items.columns))
        return dict(self.corpus.items.select("item", pl.col(name).cast(pl.String)).iter_rows())

    def _end(self, item: str, attempt: int, reason: str = "") -> None:
        """The item has a context, or none for this reason."""
        status = controls.DROPPED if reason else controls.KEPT
        row = {"item": item, "step": controls.OUTCOME, "attempt": attempt, "status": status, "reason": reason or None}
        self.steps[item].append({**row, **dict.fromkeys(controls.COST, 0)})
        if self.progress is not None:
            self.progress(1)


def _read(step: str, one: Statement, row: Mapping[str, Any]) -> tuple[str, Statement | str]:
    """The text of a reply, and what it adds to the statement or what is wrong with it."""
    reply = row["reply"] or ""
    text = split_thinking(reply).answer
    if row["status"] == "failed":
        return reply, "the call failed"
    if not text.strip():
        return reply, "the reply is empty"
    if len(text) <= 400 and refuses(text):  # a longer one says more than that
        return reply, "the model refused"
    if step == "scenario":
        return text, {"scenario": text}
    if step == "conversation":
        turns, problem = dialogue.read_turns(text), dialogue.fault(dialogue.read_turns(text), one["text"])
    else:
        place = dialogue.read_place(text, one["conversation"])
        turns = dialogue.insert(one["conversation"], one["text"], *place) if place else []
        problem = None if place else "the reply names no turn of the conversation"
    # An earlier fault is told to whoever writes the conversation, and no longer after it.
    return (text, problem) if problem else (dialogue.script(turns), {"conversation": turns, "reason": None})


def _checked(rows: Sequence[Mapping[str, Any]], least: float) -> tuple[str, Statement | str]:
    """What the verifier answered in words, and what is too weak; an answer that cannot be read is."""
    words = {row["question"]: row["status"] if row["value"] is None else show_code(row["value"]) for row in rows}
    text = ", ".join(f"{question} {word}" for question, word in words.items())
    weak = [row for row in rows if row["value"] is None or row["value"] < least]
    if not weak:
        return text, {}
    question, word = weak[0]["question"], words[weak[0]["question"]]
    lost = weak[0]["value"] is None
    return text, f"{question} has no answer ({word})" if lost else f"{question} is {word}, below {show_code(least)}"


def _code(item: str, label: str, question: Question) -> float:
    """A label as a code of the scale, told by its code or its wording."""
    for option in question.scale.options:
        if label.strip().casefold() in (option.name.casefold(), show_code(option.code), str(option.code)):
            return option.code
    problem = f"the label '{label}' of item '{item}' is not an answer to question '{question.id}'"
    raise InputError(problem, remedy=f"its answers are {question.scale.describe()}")


def label_in_words(question: Question, code: float) -> str:
    """A label as a reader who does not know the task understands it.

    >>> label_in_words(Instrument.load("sarcasm").questions[0], 1)
    'Sarcasm: yes'
    """
    return f"{question.title}: {question.scale.label(code)}"


def shared_models(generator: str, verifier: str, judged: Iterable[str] = ()) -> list[str]:
    """A warning for every model that has two roles: writing contexts, checking them, and being judged with them.

    >>> shared_models("openai:a", "openai:b", ["openai:c"])
    []
    """
    warnings = []
    if generator == verifier:
        warnings.append(f"{generator} checked the contexts that it wrote itself; name another verifier.")
    for model, role in {verifier: "checked", generator: "wrote"}.items():
        if model in judged:
            warnings.append(f"{model} {role} the contexts with which it is judged itself; name another one for them.")
    return warnings


def _models(
    generator: Model, verifier: Model | None, seed: int, stack: ExitStack | None
) -> tuple[ChatRater, ChatRater]:
    """Who writes and who checks, each model loaded once for all steps where this process is the one that runs it."""

    def opened(rater: ChatRater) -> ChatRater:
        if stack is None or not isinstance(rater.model, str):
            return rater
        model = rater.open()
        stack.callback(model.close)
        return replace(rater, model=model)

    named = generator if isinstance(generator, ChatRater) else ChatRater(generator, temperature=TEMPERATURE, seed=seed)
    writes = opened(named)
    if verifier is None:
        checks = replace(writes, style="zero-shot", temperature=0.0)
    else:
        checks = verifier if isinstance(verifier, ChatRater) else ChatRater(verifier, seed=seed)
        same = (checks.model, checks.settings) == (named.model, named.settings)
        checks = replace(checks, model=writes.model) if same else opened(checks)
    if checks.model_name == "embedded" and checks.parts.name == "zero-shot":
        # It seldom keeps to the form of an answer, but its probabilities can always be read.
        checks = replace(checks, style="scoring")
    return writes, replace(checks, name=f"{checks.model_name}+{checks.parts.name}+verification")
