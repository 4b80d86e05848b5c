"""Contexts for statements: a scenario, a conversation around it, the statement inserted unchanged, and a check.

Every call goes through the run store, so that generation can be resumed, and every step of every item is recorded:
what was written, what was rejected, and why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal

import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError, nearest
from vantage.instruments import Instrument, Question
from vantage.raters.chat import ChatRater
from vantage.raters.models import load_model
from vantage.raters.models.base import ChatModel
from vantage.runs import RunOptions, RunPlan, RunStore
from vantage.studies.context.pipeline.attempts import LEAST, Attempts, Candidate, shared_models
from vantage.studies.context.pipeline.controls import (
    NO_OPPOSITE,
    Contexts,
    Control,
    Labels,
    StepRecord,
    check_control,
    context_fields,
    original_labels,
    real_turns,
    target,
)
from vantage.studies.context.pipeline.dialogue import (
    CONVERSATION,
    EMPTY,
    NOT_FIRST_PERSON,
    SpokenTurn,
    cell,
    contains,
    fault,
    first_person,
    script,
)
from vantage.studies.context.pipeline.simulation import opened_store
from vantage.studies.context.pipeline.writing import TEMPERATURE, Asking, Assumed, Wording, as_rater

FirstPerson = bool | Literal["rules", "model"]
Insertion = Literal["position", "written"]
Model = str | ChatModel | ChatRater
NO_TEXT: Final = "the item has no text"
NO_LABEL: Final = "the item has no original label"
NO_TURNS: Final = "the item has no preceding turns"


def generate(
    corpus: Corpus,
    instrument: Instrument | str,
    generator: Model | None,
    verifier: Model | None = None,
    *,
    control: Control = "label",
    attempts: int = 3,
    first_person: FirstPerson = True,
    insertion: Insertion = "position",
    least: float = LEAST,
    question: str = "",
    labels: Labels = None,
    turns: str | None = None,
    wording: str | Path = "",
    store: RunStore | str | Path | None = None,
    seed: int = 0,
    options: RunOptions | None = None,
    progress: Callable[[int], None] | None = None,
    asks: Callable[[RunPlan, str], object] | None = None,
) -> Contexts:
    """Conversations around the statements of a corpus, each with its statement in it, word for word.

    A context is kept when it passes every check: two speakers who take turns, the statement once and unchanged, and
    the verifier's agreement that it has the label, flows naturally and is free of repetition. Otherwise it is written
    anew, a bounded number of times; then the item is dropped, and counted with the last reason. What the store holds
    is not asked again, so that an interrupted generation can be resumed.

    Args:
        corpus: The statements, with their original labels.
        instrument: The task, with a condition `context` that shows a conversation.
        generator: The model that writes; a `ChatRater` where its settings matter. None is needed for `turns`.
        verifier: The model that checks; the generator itself, with a warning, where none is given.
        control: What contexts are written for: the `label`, its `opposite`, no label (`blind`), or nothing at all
            where the real preceding `turns` are used.
        attempts: How often a context is written at most.
        first_person: Whether only statements in the first person are used, decided by rules (`rules`, or true) or by
            the generator (`model`).
        insertion: Whether the generator names the `position` of the statement, or writes the whole conversation anew
            (`written`), which is then checked.
        least: The least answer on the five-point scale of `context-quality` that passes.
        question: The question whose label counts; the first of the instrument without it.
        labels: The original labels (see `vantage.studies.context.pipeline.controls`).
        turns: With `turns`: the item column that holds them.
        wording: A file with another wording of the generator's prompts.
        store: Where every reply is kept; a temporary file without it.
        seed: Random seed.
        options: How the run is carried out: concurrency, retries, limits.
        progress: Called with the number of items that were kept or dropped.
        asks: For an estimate: called with the most that may be asked, instead of asking it; contexts are made up.
    """
    chosen = Instrument.load(instrument) if isinstance(instrument, str) else instrument
    asked = chosen.question(question) if question else chosen.questions[0]
    check_control(control)
    _check(attempts, first_person, insertion)
    record = StepRecord(progress)
    texts = _texts(corpus, chosen)
    if control == "turns":
        return _with_real_turns(corpus, chosen, texts, turns, record)
    if generator is None:
        raise InputError(f"a model is needed to write contexts ({control})", remedy="name a generator")
    known = dict(original_labels(corpus, asked, labels).iter_rows())
    statements = list(_statements(texts, asked, known, control, record))
    with ExitStack() as stack:
        loads = asks is None and (options or RunOptions()).engine == "local"
        writes = _opened(as_rater(generator, temperature=TEMPERATURE, seed=seed), stack, loads=loads)
        checks = writes if verifier is None else as_rater(verifier, seed=seed)
        checks = _as_verifier(checks, writes, stack, loads=loads)
        warnings = shared_models(writes.model_name, checks.model_name)

        def tell(note: str) -> None:
            if note not in warnings:
                warnings.append(note)

        if asks is not None:
            asking: Asking = Assumed(None, condition=control, asks=asks, attempts=attempts)
        else:
            asking = Asking(stack.enter_context(opened_store(store)), options, tell, control)
        tried = Attempts(
            asking, writes, checks, chosen, asked, Wording.read(wording), record, seed, insertion, least, control
        )
        if first_person == "model":
            statements = tried.first_person(statements)
        elif first_person:
            statements = _by_rules(statements, record)
        kept = tried.run(statements, attempts)
    return _contexts(corpus, chosen, kept, record, control, warnings)


def _check(attempts: int, first: FirstPerson, insertion: str) -> None:
    if attempts < 1:
        raise InputError(f"{attempts} attempts were allowed", remedy="allow at least one")
    if first not in (True, False, "rules", "model"):
        raise InputError(f"first_person cannot be '{first}'", remedy="use rules, model or False")
    if insertion not in ("position", "written"):
        raise InputError(f"there is no insertion '{insertion}'", remedy="use position or written")


def _texts(corpus: Corpus, instrument: Instrument) -> dict[str, str]:
    """The statement of every item; empty where it has none."""
    name = context_fields(instrument)[0].name
    if name not in corpus.items.columns:
        raise InputError(f"the items have no column '{name}'", remedy=nearest(name, corpus.items.columns))
    return dict(corpus.items.select("item", pl.col(name).cast(pl.String).fill_null("")).iter_rows())


def _statements(
    texts: Mapping[str, str], question: Question, known: Mapping[str, float], control: Control, record: StepRecord
) -> Iterator[Candidate]:
    """The items that a context can be written for, each with the label that it is written for."""
    for item, text in texts.items():
        if not text.strip():
            record.drop(item, NO_TEXT)
        elif control == "blind":
            yield Candidate(item, text)
        elif item not in known:
            record.drop(item, NO_LABEL)
        elif (aim := target(question.scale, known[item], control)) is None:
            record.drop(item, NO_OPPOSITE)
        else:
            yield Candidate(item, text, (), aim)


def _by_rules(statements: Sequence[Candidate], record: StepRecord) -> list[Candidate]:
    kept = [one for one in statements if first_person(one.statement)]
    for one in statements:
        reason = "" if one in kept else NOT_FIRST_PERSON
        record.add(one.item, "first-person", 0, "rejected" if reason else "passed", text="rules", reason=reason)
        if reason:
            record.drop(one.item, reason)
    return kept


def _opened(rater: ChatRater, stack: ExitStack, *, loads: bool) -> ChatRater:
    """The rater with its model loaded once for all steps, where this process is the one that runs it."""
    if not isinstance(rater.model, str) or not loads:
        return rater
    model = load_model(rater.model, **rater.settings)
    stack.callback(model.close)
    return replace(rater, model=model)


def _as_verifier(rater: ChatRater, generator: ChatRater, stack: ExitStack, *, loads: bool) -> ChatRater:
    """The verifier as it is asked: the same loaded model where it is the generator, the most probable answer."""
    if rater is generator:
        rater = replace(generator, style="zero-shot", temperature=0.0)
    elif rater.model == generator.model_name and rater.settings == generator.settings:
        rater = replace(rater, model=generator.model)
    if rater.model_name == "embedded" and rater.parts.name == "zero-shot":
        # It seldom keeps to the form of an answer, but its probabilities can always be read.
        rater = replace(rater, style="scoring")
    return replace(_opened(rater, stack, loads=loads), name=f"{rater.model_name}+{rater.parts.name}+verification")


def _with_real_turns(
    corpus: Corpus, instrument: Instrument, texts: Mapping[str, str], column: str | None, record: StepRecord
) -> Contexts:
    """What was really said before, followed by the statement where the turns do not include it."""
    kept: dict[str, list[SpokenTurn]] = {}
    before = real_turns(corpus.items, column)
    for item, text in texts.items():
        said = before[item]
        whole = said if text and contains(said, text) else [*said, SpokenTurn(_speaker(said), text)]
        reason = NO_TEXT if not text.strip() else fault(said, "", speakers=None)
        reason = NO_TURNS if reason == EMPTY or (reason is None and len(whole) < 2) else reason
        if reason:
            record.drop(item, reason)
            continue
        record.add(item, "turns", 0, "passed", text=script(whole))
        record.keep(item, 0)
        kept[item] = whole
    return _contexts(corpus, instrument, kept, record, "turns", [])


def _speaker(said: Sequence[SpokenTurn]) -> str:
    """Who speaks next: the one before last, or somebody new."""
    if not said:
        return "Person B"
    others = [turn.speaker for turn in said if turn.speaker != said[-1].speaker]
    return others[-1] if others else "Person B" if said[-1].speaker != "Person B" else "Person A"


def _contexts(
    corpus: Corpus,
    instrument: Instrument,
    kept: dict[str, list[SpokenTurn]],
    record: StepRecord,
    control: Control,
    warnings: Sequence[str],
) -> Contexts:
    _, field = context_fields(instrument)
    rows: dict[str, Any] = {"item": list(kept), field.name: [cell(turns) for turns in kept.values()]}
    written = pl.DataFrame(rows, schema={"item": pl.String, field.name: CONVERSATION})
    items = corpus.items.drop(field.name, strict=False).join(written, on="item", maintain_order="left")
    judgments = corpus.judgments.join(items, on="item", how="semi", maintain_order="left")
    others = [known for known in corpus.instruments if known.id != instrument.id]
    with_contexts = Corpus(items, corpus.raters, judgments, [*others, instrument], corpus.about)
    nothing = "No context passed all checks, so there is nothing to judge under the condition context."
    return Contexts(with_contexts, record.table(), control, (*warnings, *(() if kept else [nothing])))
