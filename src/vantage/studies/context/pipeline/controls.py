"""What a context is written for: the statement's own label, the opposite one, or none.

Contexts that are written from a label and kept only where they agree with it make answers agree with it, so better
scores are partly built in. A context for the opposite label shows how far raters follow any context, and one without a
label what the company of other sentences does.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError, nearest
from vantage.instruments import Field, Instrument
from vantage.scales import Scale

Control = Literal["label", "opposite", "blind"]
CONTROLS: Final[tuple[Control, ...]] = get_args(Control)
KINDS: Final[dict[Control, str]] = {
    "label": "written for the original label",
    "opposite": "written for the opposite label",
    "blind": "written without a label",
}
STATIC: Final = "static"
CONTEXT: Final = "context"
OUTCOME: Final = "outcome"
KEPT: Final = "kept"
DROPPED: Final = "dropped"
STEPS: Final = "context_steps"
"""The item column with the steps of generation, as JSON."""
COST: Final = ("calls", "prompt_tokens", "completion_tokens")
SCHEMA: Final[dict[str, Any]] = {
    "item": pl.String,
    "step": pl.String,
    "attempt": pl.Int64,
    **dict.fromkeys(("status", "text", "reason", "model"), pl.String),
    **dict.fromkeys(COST, pl.Int64),
}


@dataclass(frozen=True)
class Contexts:
    """The contexts that were written.

    Args:
        corpus: The items that have a context, in the field of conversations; judge them under the condition `context`.
        steps: One row per item, step and attempt with what it took (`SCHEMA`). The last step of an item is its
            `outcome`, kept or dropped.
        control: What the contexts were written for.
        warnings: What to know before using them.
    """

    corpus: Corpus
    steps: pl.DataFrame
    control: Control
    warnings: tuple[str, ...] = ()

    @property
    def kept(self) -> int:
        """The number of items with a context."""
        return len(self.corpus.items)

    @property
    def dropped(self) -> dict[str, int]:
        """The number of items without one by reason, the most frequent first."""
        lost = self.steps.filter(step=OUTCOME, status=DROPPED)
        counts = lost.group_by("reason").len().sort("len", "reason", descending=[True, False])
        return dict(counts.iter_rows())

    @property
    def cost(self) -> dict[str, int]:
        """What it took, over all sittings: `calls`, `prompt_tokens` and `completion_tokens`."""
        return {name: int(self.steps[name].sum()) for name in COST}


def condition_of(control: Control) -> str:
    """The condition under which items with this kind of context are judged.

    >>> condition_of("label"), condition_of("opposite")
    ('context', 'context-opposite')
    """
    if control not in CONTROLS:
        raise InputError(f"there is no control '{control}'", remedy=nearest(control, CONTROLS))
    return CONTEXT if control == "label" else f"{CONTEXT}-{control}"


def column_of(name: str, control: Control) -> str:
    """The column of a control's conversations, or of its steps."""
    return name if control == "label" else f"{name}_{control}"


def target(scale: Scale, label: float, control: Control) -> float | None:
    """The label that a context is written for; null for none.

    The opposite is the code mirrored at the middle of the scale; the middle itself has none.

    >>> sentiment = Scale.points(-1, 1)
    >>> target(sentiment, 1, "opposite"), target(sentiment, 0, "opposite"), target(sentiment, 1, "blind")
    (-1.0, None, None)
    """
    if control != "opposite":
        return None if control == "blind" else label
    mirrored = sum(scale.ends) - label
    return mirrored if mirrored != label and scale.holds(mirrored) else None


def context_fields(instrument: Instrument) -> tuple[Field, Field]:
    """The fields of the statement and of its conversation, as the condition `context` shows them."""
    shown = instrument.shown(CONTEXT) if CONTEXT in instrument.conditions else ()
    kinds = {field.kind: field for field in reversed(shown)}
    if not {"text", "conversation"} <= set(kinds):
        raise InputError(
            f"instrument '{instrument.id}' has no condition '{CONTEXT}' that shows a conversation and a statement",
            remedy="add one to its conditions, as the bundled instrument sarcasm has it",
        )
    return kinds["text"], kinds["conversation"]


def with_controls(instrument: Instrument, controls: Iterable[Control]) -> Instrument:
    """The instrument with a condition for each control: worded as `context`, showing a conversation of its own.

    >>> extended = with_controls(Instrument.load("sarcasm"), ["opposite"])
    >>> extended.conditions["context-opposite"]
    ('conversation_opposite', 'text')
    """
    _, conversation = context_fields(instrument)
    data: dict[str, Any] = copy.deepcopy(dict(instrument.document))
    for control in controls:
        name, condition = column_of(conversation.name, control), condition_of(control)
        if condition in data["conditions"]:
            continue
        data["fields"].append({"name": name, "title": conversation.title, "kind": "conversation"})
        shows = [name if field == conversation.name else field for field in instrument.conditions[CONTEXT]]
        data["conditions"][condition] = {**data["conditions"][CONTEXT], "shows": shows}
        for question in data["questions"]:
            if CONTEXT in question.get("ask_in", {}):
                question["ask_in"][condition] = question["ask_in"][CONTEXT]
    return Instrument.from_document(data, file=instrument.id)


def attached(corpus: Corpus, instrument: Instrument, *contexts: Contexts) -> tuple[Corpus, Instrument]:
    """The corpus with a column of conversations and one of steps for each kind, and the instrument that shows them."""
    extended = with_controls(instrument, [one.control for one in contexts])
    name, items = context_fields(instrument)[1].name, corpus.items
    for one in contexts:
        rows = pl.struct(pl.exclude("item")).struct.json_encode().str.join(", ")
        steps = one.steps.group_by("item", maintain_order=True).agg(pl.format("[{}]", rows).alias(STEPS))
        for table, column in ((one.corpus.items, name), (steps, STEPS)):
            new = column_of(column, one.control)
            kind = table.select("item", pl.col(column).alias(new))
            items = items.drop(new, strict=False).join(kind, on="item", how="left", maintain_order="left")
    others = [known for known in corpus.instruments if known.id != instrument.id]
    return Corpus(items, corpus.raters, corpus.judgments, [*others, extended], corpus.about), extended


def attached_steps(corpus: Corpus) -> dict[str, pl.DataFrame]:
    """The steps that `attached` put into a corpus, by control, as `Contexts.steps` has them."""
    steps: dict[str, pl.DataFrame] = {}
    for control in CONTROLS:
        name = column_of(STEPS, control)
        if name in corpus.items.columns:
            rows = pl.List(pl.Struct({column: kind for column, kind in SCHEMA.items() if column != "item"}))
            kept = corpus.items.select("item", pl.col(name).str.json_decode(rows)).drop_nulls(name)
            steps[control] = kept.explode(name).unnest(name)
    return steps


def with_context(corpus: Corpus, condition: str, instrument: Instrument) -> Corpus:
    """The part of a corpus that can be shown under a condition: items that have its conversation."""
    names = [field.name for field in instrument.shown(condition) if field.kind == "conversation"]
    if missing := [name for name in names if name not in corpus.items.columns]:
        raise InputError(f"the items have no column '{missing[0]}'", remedy="generate contexts first")
    return corpus.filter(pl.col("item").is_in(corpus.items.drop_nulls(names)["item"].implode()))
