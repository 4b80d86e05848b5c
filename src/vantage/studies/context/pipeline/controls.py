"""What a context is written for: the statement's own label, the opposite one, none, or nothing, where real turns exist.

Contexts that are written from a label and kept only where they agree with it make answers agree with it: better scores
are then partly built in. A context for the opposite label shows how far raters follow any context, one that is written
without a label shows what mere company of other sentences does, and real turns show what was there all along.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError, nearest
from vantage.instruments import Field, Instrument, Question
from vantage.scales import Scale, show_code
from vantage.studies.context.pipeline.dialogue import CONVERSATION, SpokenTurn, as_turns

OUTCOME: Final = "outcome"
KEPT: Final = "kept"
DROPPED: Final = "dropped"
COST: Final = ("calls", "prompt_tokens", "completion_tokens")
SCHEMA: Final[dict[str, Any]] = {
    "item": pl.String,
    "step": pl.String,
    "attempt": pl.Int64,
    "status": pl.String,
    "text": pl.String,
    "reason": pl.String,
    "model": pl.String,
    **dict.fromkeys(COST, pl.Int64),
}


class StepRecord:
    """Collects steps as they happen.

    >>> record = StepRecord()
    >>> record.add("a", "scenario", 1, "written", text="Two friends wait for a bus.")
    >>> record.drop("a", "the conversation is empty", attempt=1)
    >>> record.table().select("step", "attempt", "status", "reason").rows()
    [('scenario', 1, 'written', None), ('outcome', 1, 'dropped', 'the conversation is empty')]

    Args:
        progress: Called with 1 for every item that came to its end.
    """

    def __init__(self, progress: Callable[[int], None] | None = None) -> None:
        self._rows: list[dict[str, Any]] = []
        self._progress = progress or (lambda _: None)

    def add(
        self, item: str, step: str, attempt: int, status: str, *, cost: Mapping[str, int] | None = None, **details: str
    ) -> None:
        """One step of one item, with details of it: `text`, `reason` and `model`; attempts are counted from 1."""
        row = {"item": item, "step": step, "attempt": attempt, "status": status, **details}
        self._rows.append({**row, "reason": details.get("reason") or None, **(cost or dict.fromkeys(COST, 0))})

    def keep(self, item: str, attempt: int) -> None:
        """The item has a context."""
        self.add(item, OUTCOME, attempt, KEPT)
        self._progress(1)

    def drop(self, item: str, reason: str, *, attempt: int = 0) -> None:
        """The item has none, for this reason."""
        self.add(item, OUTCOME, attempt, DROPPED, reason=reason)
        self._progress(1)

    def table(self) -> pl.DataFrame:
        """All steps, item by item in the order in which they happened."""
        frame = pl.DataFrame(self._rows, schema=SCHEMA)
        numbered = frame.with_row_index("__row").with_columns(pl.col("__row").min().over("item").alias("__first"))
        return numbered.sort("__first", "__row").drop("__first", "__row")


Labels: TypeAlias = str | Mapping[str, float | str] | pl.DataFrame | None
"""An item column, a label per item, a frame with `item` and `value`, or null for what the corpus itself says."""
_ORIGINAL: Final = ("author", "aggregate")
_COLUMN: Final = "label"


def original_labels(corpus: Corpus, question: Question, labels: Labels = None) -> pl.DataFrame:
    """The label of every item that has one, as a code of the question's scale: columns `item` and `value`.

    Without `labels` they are the judgments of the text's author or of a released aggregate on this question, or else
    the item column `label`. A label that is no answer of the question ends with an error that names the item.

    >>> from vantage import Instrument
    >>> items = pl.DataFrame({"item": ["a", "b"], "text": ["Great.", "Hm."], "binary": ["yes", None]})
    >>> sarcasm = Instrument.load("sarcasm")
    >>> empty = {"item": [], "question": [], "rater": [], "value": []}
    >>> corpus = Corpus(items, pl.DataFrame({"rater": []}), pl.DataFrame(empty), sarcasm)
    >>> original_labels(corpus, sarcasm.questions[0], "binary").rows()
    [('a', 1.0)]
    """
    labelled = _given_labels(corpus, question, labels).drop_nulls("value")
    labelled = labelled.filter(pl.col("item").is_in(corpus.items["item"].implode()))
    if (twice := labelled["item"].is_duplicated()).any():
        first = labelled.filter(twice)["item"][0]
        raise InputError(f"item '{first}' has more than one label", remedy="give one label per item")
    codes = [_code(item, value, question) for item, value in labelled.iter_rows()]
    return pl.DataFrame({"item": labelled["item"], "value": pl.Series(codes, dtype=pl.Float64)})


def _given_labels(corpus: Corpus, question: Question, labels: Labels) -> pl.DataFrame:
    if isinstance(labels, str):
        if labels not in corpus.items.columns:
            raise InputError(f"the items have no column '{labels}'", remedy=nearest(labels, corpus.items.columns))
        return corpus.items.select("item", pl.col(labels).alias("value"))
    if isinstance(labels, pl.DataFrame):
        if missing := [name for name in ("item", "value") if name not in labels.columns]:
            raise InputError(f"the labels have no column '{missing[0]}'", remedy=f"they have {labels.columns}")
        mine = labels.filter(pl.col("question") == question.id) if "question" in labels.columns else labels
        return mine.select(pl.col("item").cast(pl.String), "value")
    if labels is not None:
        values = [value if isinstance(value, str) else show_code(float(value)) for value in labels.values()]
        return pl.DataFrame({"item": list(labels), "value": values}, schema={"item": pl.String, "value": pl.String})
    original = corpus.raters.filter(pl.col("kind").cast(pl.String).is_in(_ORIGINAL))
    judgments = corpus.judgments.filter(pl.col("question") == question.id).join(original, on="rater", how="semi")
    if len(judgments.drop_nulls("value")):
        return judgments.select("item", "value")
    if _COLUMN in corpus.items.columns:
        return corpus.items.select("item", pl.col(_COLUMN).alias("value"))
    raise InputError(
        f"the items have no original label for question '{question.id}'",
        remedy="pass labels=, the name of an item column or a label per item",
    )


def _code(item: str, value: float | str, question: Question) -> float:
    """A label as a code of the scale, told by its code or its wording."""
    scale = question.scale
    code = scale.code(value) if isinstance(value, str) else float(value)
    if code is None and isinstance(value, str):
        try:
            code = float(value)
        except ValueError:
            code = None
    if code is None or not scale.holds(code):
        shown = value if isinstance(value, str) else show_code(float(value))
        raise InputError(
            f"the label '{shown}' of item '{item}' is no answer of question '{question.id}'",
            remedy=f"its answers are {scale.describe()}",
        )
    return code


Control = Literal["label", "opposite", "blind", "turns"]
CONTROLS: Final[tuple[Control, ...]] = get_args(Control)
KINDS: Final[dict[Control, str]] = {
    "label": "written for the original label",
    "opposite": "written for the opposite label",
    "blind": "written without a label",
    "turns": "of the turns that really came before",
}
"""What contexts of each kind are, in words."""
STATIC: Final = "static"
CONTEXT: Final = "context"
STEPS: Final = "context_steps"
"""The item column in which the steps of generation are kept with a corpus, as JSON."""
NO_OPPOSITE: Final = "the label has no opposite on the scale"
_TEXT: Final = {"item": pl.String}
_TURNS: Final = ("turns", "preceding", "conversation", "context", "post", "parent")
"""Columns in which data keep what was said before, the likeliest first."""


@dataclass(frozen=True)
class Contexts:
    """What generation came to.

    Args:
        corpus: The items that have a context, in the field of conversations; judge them under the condition `context`.
        steps: One row per item, step and attempt: `item`, `step`, `attempt`, `status`, `text`, `reason`, `model`,
            `calls`, `prompt_tokens`, `completion_tokens`. The last step of an item is its `outcome`, kept or dropped.
        control: What the contexts were written for.
        warnings: What must be known before they are used.
    """

    corpus: Corpus
    steps: pl.DataFrame
    control: Control
    warnings: tuple[str, ...] = ()

    @property
    def kept(self) -> int:
        """How many items have a context."""
        return len(self.corpus.items)

    @property
    def dropped(self) -> dict[str, int]:
        """How many items have none, by reason, the most frequent first."""
        lost = self.steps.filter(step=OUTCOME, status=DROPPED)
        counts = lost.group_by("reason").len().sort("len", "reason", descending=[True, False])
        return dict(counts.iter_rows())

    @property
    def cost(self) -> dict[str, int]:
        """What it took, over all sittings: `calls`, `prompt_tokens` and `completion_tokens`."""
        return {name: int(self.steps[name].sum()) for name in COST}


def check_control(control: str) -> None:
    """Refuses a control that there is not."""
    if control not in CONTROLS:
        raise InputError(f"there is no control '{control}'", remedy=nearest(control, CONTROLS))


def condition_of(control: Control) -> str:
    """The condition under which items with this kind of context are judged.

    >>> condition_of("label"), condition_of("opposite")
    ('context', 'context-opposite')
    """
    return CONTEXT if control == "label" else f"{CONTEXT}-{control}"


def target(scale: Scale, label: float, control: Control) -> float | None:
    """The label that a context is written for; null for none.

    The opposite is the code mirrored at the middle of the scale; the middle itself has none.

    >>> sentiment = Scale.points(-1, 1)
    >>> target(sentiment, 1, "opposite"), target(sentiment, 0, "opposite"), target(sentiment, 1, "blind")
    (-1.0, None, None)
    """
    if control == "blind":
        return None
    if control != "opposite":
        return label
    mirrored = sum(scale.ends) - label
    return mirrored if mirrored != label and scale.holds(mirrored) else None


def context_fields(instrument: Instrument) -> tuple[Field, Field]:
    """The fields of the statement and of its conversation, as the condition `context` shows them."""
    shown = instrument.shown(CONTEXT) if CONTEXT in instrument.conditions else ()
    conversation = next((field for field in shown if field.kind == "conversation"), None)
    statement = next((field for field in shown if field.kind == "text"), None)
    if conversation is None or statement is None:
        raise InputError(
            f"instrument '{instrument.id}' has no condition '{CONTEXT}' that shows a conversation and a statement",
            remedy="add one to its conditions, as the bundled instrument sarcasm has it",
        )
    return statement, conversation


def with_controls(instrument: Instrument, controls: Iterable[Control]) -> Instrument:
    """The instrument with a condition for each control: worded as `context`, showing a conversation of its own.

    >>> extended = with_controls(Instrument.load("sarcasm"), ["opposite"])
    >>> extended.conditions["context-opposite"]
    ('conversation_opposite', 'text')
    """
    _, conversation = context_fields(instrument)
    data: dict[str, Any] = copy.deepcopy(dict(instrument.document))
    for control in controls:
        check_control(control)
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


def column_of(name: str, control: Control) -> str:
    """The column of a control's conversations, or of its steps."""
    return name if control == "label" else f"{name}_{control}"


def attached(corpus: Corpus, instrument: Instrument, *contexts: Contexts) -> tuple[Corpus, Instrument]:
    """The whole corpus with contexts of one or several kinds, and the instrument that shows them.

    Each kind has columns of its own for conversations and steps; items without a context have nulls there.
    """
    extended = with_controls(instrument, [one.control for one in contexts])
    _, conversation = context_fields(instrument)
    items = corpus.items
    for one in contexts:
        rows: dict[str, list[dict[str, Any]]] = {}
        for row in one.steps.iter_rows(named=True):
            rows.setdefault(row.pop("item"), []).append(row)
        texts = [json.dumps(mine, ensure_ascii=False) for mine in rows.values()]
        steps = pl.DataFrame({"item": list(rows), column_of(STEPS, one.control): texts}, schema_overrides=_TEXT)
        conversations = one.corpus.items.select(
            "item", pl.col(conversation.name).alias(column_of(conversation.name, one.control))
        )
        for table in (conversations, steps):
            new = [name for name in table.columns if name != "item"]
            items = items.drop(new, strict=False).join(table, on="item", how="left", maintain_order="left")
    others = [known for known in corpus.instruments if known.id != instrument.id]
    return Corpus(items, corpus.raters, corpus.judgments, [*others, extended], corpus.about), extended


def attached_steps(corpus: Corpus) -> dict[str, pl.DataFrame]:
    """The steps that `attached` put into a corpus, by control, as `Contexts.steps` has them."""
    steps: dict[str, pl.DataFrame] = {}
    for control in CONTROLS:
        name = column_of(STEPS, control)
        if name in corpus.items.columns:
            kept = corpus.items.select("item", name).drop_nulls(name).iter_rows()
            rows = [{"item": item, **step} for item, steps_text in kept for step in json.loads(steps_text)]
            steps[control] = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    return steps


def with_context(corpus: Corpus, condition: str, instrument: Instrument) -> Corpus:
    """The part of a corpus that can be shown under a condition: items that have its conversation."""
    names = [field.name for field in instrument.shown(condition) if field.kind == "conversation"]
    if missing := [name for name in names if name not in corpus.items.columns]:
        raise InputError(f"the items have no column '{missing[0]}'", remedy="generate contexts first")
    kept = corpus.items.filter(pl.all_horizontal(pl.lit(True), *(pl.col(name).is_not_null() for name in names)))
    return corpus.filter(pl.col("item").is_in(kept["item"].implode()))


def real_turns(items: pl.DataFrame, column: str | None = None) -> Mapping[str, list[SpokenTurn]]:
    """What was really said before each statement, where the data have it.

    Args:
        items: The items.
        column: Where it stands: a conversation, or the one text that was replied to. Without it, the first of
            `turns`, `preceding`, `conversation`, `context`, `post` and `parent` that the items have.
    """
    if column is None:
        column = next((name for name in _TURNS if name in items.columns), None)
    if column is None or column not in items.columns:
        problem = "the items have no preceding turns" if column is None else f"the items have no column '{column}'"
        raise InputError(problem, remedy=f"name their column with turns=; available: {', '.join(items.columns)}")
    if items.schema[column] != pl.String and items.schema[column] != CONVERSATION:
        raise InputError(
            f"the column holds {items.schema[column]}, not turns",
            column=column,
            remedy="give text, or a list of {speaker, text}",
        )
    return {str(item): _turns(turns) for item, turns in items.select("item", column).iter_rows()}


def _turns(given: Any) -> list[SpokenTurn]:
    turns = as_turns(given)
    if not turns and isinstance(given, str) and given.strip():
        return [SpokenTurn("Person A", " ".join(given.split()))]
    return turns
