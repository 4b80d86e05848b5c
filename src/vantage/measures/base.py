"""The registry of measures, and the one shape of their results."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, wraps
from types import NoneType, UnionType
from typing import Any, Final, Literal, ParamSpec, Protocol, Union, Unpack, cast, get_args, get_origin, overload

import polars as pl

from vantage.errors import InputError, nearest
from vantage.measures.intervals import (
    MODELLED,
    NOT_HELD,
    NOT_KNOWN,
    TOO_FEW_GROUPS,
    TOO_FEW_RATERS,
    Bootstrap,
    IntervalOptions,
    Over,
    Resampled,
    WeightedIntervalOptions,
    Weighting,
)
from vantage.measures.kinds import (
    APART,
    CORE_ALONE,
    SEATED,
    SEATS,
    Kinds,
    Selection,
    are_seats,
    have_seats,
    selected,
    with_left_out,
)
from vantage.measures.presentation import PLAIN, View
from vantage.measures.ratings import (
    REPEATED,
    SAMPLED,
    SPREAD_OUT,
    TOGETHER,
    By,
    ItemSources,
    Judgments,
    RaterGroups,
    RaterWeights,
    by_columns,
    in_polars,
    questions_apart,
)
from vantage.notebook import ResultFrame

P = ParamSpec("P")

RESULT = ("estimate", "low", "high", "over", "items", "raters", "judgments", "left_out", "reason")
"""The columns of every result, after the grouping columns and the measure's own."""
RENAMED: Final = {"iterations": "splits", "least": "min_items", "metrics": "metric",
                  "weights": "agreement_weights"}  # fmt: skip
"""Former names of options, and the present ones."""
FROM_DESIGN: Final = "RaterGroups | None"
"""What a measure declares that the design of the corpus gives it: no option."""
ONE_BY_ONE: Final = "the interval takes {} for drawn one by one, although they come from {} ('{}')"
"""The reason of rows whose measure cannot leave out whole sources, or whole groups of raters."""
BIASED = "the interval does not hold the estimate: resamples are biased here, so read it as a spread, not as a range"
"""The reason of a row whose interval is not to be trusted."""


class Powering(Protocol):
    """How a measure is powered by a model (see `vantage.measures.powered`)."""

    def __call__(
        self,
        function: Callable[..., pl.DataFrame],
        data: Judgments,
        options: Mapping[str, Any],
        powered_by: str | Sequence[str],
        whose: Callable[[Judgments], Selection],
    ) -> pl.DataFrame:
        """The rows of people, of the model and of both."""


@dataclass(frozen=True)
class Measure:
    """What the registry knows of a measure: its name on the command line, family, function and presentation."""

    name: str
    family: str
    summary: str
    function: Callable[..., pl.DataFrame]
    view: View = PLAIN
    pools: bool = True
    """Whether it pools raters unless told to keep them apart."""
    pools_questions: bool = False
    """The same of questions."""

    @property
    def built_in(self) -> bool:
        """Whether it comes with Vantage."""
        return self.function.__module__.startswith("vantage.")

    @cached_property
    def options(self) -> Mapping[str, inspect.Parameter]:
        """The keyword options of the function, by name."""
        parameters = inspect.signature(self.function).parameters
        return {name: p for name, p in parameters.items() if p.kind is inspect.Parameter.KEYWORD_ONLY}

    def whose(self, data: Judgments, options: Mapping[str, Any]) -> Selection:
        """Whose judgments it uses with these options, and who is left out."""
        usual = {name: parameter.default for name, parameter in self.options.items()}
        return chosen_for({**usual, **options}, data, pools=self.pools)

    def grouping(self, data: Judgments, options: Mapping[str, Any]) -> By:
        """The columns it groups by: as given, or as by default, with answers to different questions kept apart."""
        usual: By = options.get("by", self.options["by"].default if "by" in self.options else ())
        if "by" in options or "by" not in self.options:
            return usual
        chosen = options.get("question") is not None or options.get("between") in ("question", "questions")
        return usual if self.pools_questions or chosen else questions_apart(usual, data)

    @cached_property
    def choices(self) -> Mapping[str, tuple[Any, ...] | None]:
        """The values that each option can have; null where they cannot be counted."""
        return {name: _choices(kind) for name, kind in self.types.items()}

    @cached_property
    def types(self) -> Mapping[str, Any]:
        """The type of each option, for reading it from the command line."""
        return {name: _type(p.annotation, self.function) for name, p in self.options.items()}


REGISTRY: dict[str, Measure] = {}
OPTIONAL: Final = ("weights", "sources")
"""Options of intervals that a measure has only where it says so."""


TYPES: Final = {
    "Kinds": Kinds,
    "Sequence": Sequence,
    "Over": Over,
    "Resampled": Resampled,
    "By": By,
    "Literal": Literal,
    "Unpack": Unpack,
    "IntervalOptions": IntervalOptions,
    "WeightedIntervalOptions": WeightedIntervalOptions,
    "Weighting": Weighting,
    "ItemSources": ItemSources,
}
"""The types of the options that `@measure` writes into signatures."""


def _type(annotation: Any, function: Callable[..., pl.DataFrame]) -> Any:
    """The type that an annotation of a measure stands for."""
    names = {**TYPES, **inspect.unwrap(function).__globals__}
    return eval(annotation, names) if isinstance(annotation, str) else annotation  # noqa: S307


def _signature(function: Callable[..., pl.DataFrame], interval: Sequence[str]) -> inspect.Signature:
    """The signature of a measure; the options of its interval, which it declares together, are written out."""
    signature = inspect.signature(function)
    *own, last = (one for one in signature.parameters.values() if one.annotation != FROM_DESIGN)
    signature = signature.replace(parameters=[*own, last])
    if last.kind is not last.VAR_KEYWORD or not get_args(_type(last.annotation, function)):
        return signature
    defaults = {option.name: option.default for option in fields(Bootstrap)}
    hints = {name: hint.__forward_arg__ for name, hint in WeightedIntervalOptions.__annotations__.items()}
    hints["ci"] = "Over" if "raters" in interval else "Resampled"
    known = [name for name in dict.fromkeys(("weights", *hints)) if name in interval or name not in OPTIONAL]
    return signature.replace(parameters=[*own, *(option(name, defaults[name], hints[name]) for name in known)])


def _takes_groups(function: Callable[..., Any]) -> bool:
    """Whether a measure of its own accord asks which raters were drawn together."""
    return any(one.annotation == FROM_DESIGN for one in inspect.signature(function).parameters.values())


def _drawn(
    known: Measure, data: Any, options: Mapping[str, Any], *, by_groups: bool
) -> tuple[dict[str, Any], list[str]]:
    """The sources of items and the groups of raters that the design or an option names, as a measure takes them.

    What a measure cannot take into account is a note.
    """
    design, made, notes = getattr(data, "design", None), dict[str, Any](), list[str]()
    sources, groups = (None, None) if design is None else (design.sources, design.groups)
    if (sources := options.get("sources") or sources) is not None:
        if "sources" in options:
            made["sources"] = sources if isinstance(sources, ItemSources) else ItemSources.of(data, sources)
        elif {"ci", "confidence"} & {*options}:
            notes.append(ONE_BY_ONE.format("items", "sources", sources))
    over = known.choices.get("ci") or (("both",) if "confidence" in options else ())
    if groups is not None and by_groups:
        made["groups"] = RaterGroups.of(data, groups)
    elif groups is not None and "both" in over:
        notes.append(ONE_BY_ONE.format("raters", "groups", groups))
    return made, notes


class Recorded(Protocol[P]):
    """A measure as it is called: its own options, and whose judgments it uses."""

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> pl.DataFrame: ...
    @overload
    def __call__(
        self, data: Judgments, *, kinds: Kinds, include_excluded: bool = False, **options: Any
    ) -> pl.DataFrame: ...
    @overload
    def __call__(self, data: Judgments, *, include_excluded: bool, **options: Any) -> pl.DataFrame: ...
    @overload
    def __call__(self, data: Judgments, *, include_extra: bool, **options: Any) -> pl.DataFrame: ...
    @overload
    def __call__(self, data: Judgments, *, powered_by: str | Sequence[str], **options: Any) -> pl.DataFrame: ...


def option(name: str, default: object, annotation: str) -> inspect.Parameter:
    """An option of a measure, as its signature has it."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


WHOSE: Final = (
    option("kinds", None, "Kinds"),
    option("include_excluded", False, "bool"),
    option("include_extra", False, "bool"),
)
"""The options that every measure has: which judgments it uses."""
POWERED_BY: Final = option("powered_by", None, "str | Sequence[str] | None")
"""The option of measures that a model can power: the rater, or several raters together, whose judgments do."""


def measure(
    name: str,
    family: str,
    view: View = PLAIN,
    *,
    pools: bool = True,
    pools_questions: bool = False,
    follows: bool = False,
    powered: Powering | None = None,
    interval: Sequence[str] = (),
) -> Callable[[Callable[P, pl.DataFrame]], Recorded[P]]:
    """Registers a function as a measure and writes its name and options into every row it returns.

    Every measure takes `kinds` (whose judgments: people by default) and `include_excluded` as well; one that compares
    raters with each other, and pools nobody, says `pools=False`. Without a grouping, answers to different questions are
    kept apart, unless the measure says `pools_questions`. One that follows each rater from item to item says
    `follows`, and has no estimate where raters are seats that different people may have taken. One that a model can
    power says how with `powered`, and takes `powered_by` too. `interval` names what its interval can take into account
    beside items: "raters", "sources" of items, and "weights" of raters; with raters and sources, or with "groups", it
    leaves out whole groups of raters where the design has some. The two last columns of a result, `measure` and
    `options`, make a row of a report recomputable; `view` says how a report shows the result.
    """

    def register(function: Callable[P, pl.DataFrame]) -> Recorded[P]:
        signature = _signature(function, interval)
        by_groups = {"raters", "sources"} <= {*interval} or "groups" in interval or _takes_groups(function)
        weighted = "weights" in signature.parameters and signature.parameters["weights"].annotation == "Weighting"

        @wraps(function)
        def recorded(
            *args: Any,
            kinds: Kinds = None,
            include_excluded: bool = False,
            include_extra: bool = False,
            powered_by: str | Sequence[str] | None = None,
            **kwargs: Any,
        ) -> pl.DataFrame:
            for old in RENAMED.keys() & kwargs.keys() - signature.parameters.keys():
                if old == "weights" and RENAMED[old] not in signature.parameters:
                    raise not_weighted(name)
                raise InputError(f"measure '{name}' has no option '{old}'", remedy=f"it is now '{RENAMED[old]}'")
            bound = signature.bind(*args, **kwargs)
            first = next(iter(signature.parameters))
            bound.arguments[first] = in_polars(bound.arguments[first])
            if "by" in signature.parameters:
                bound.arguments["by"] = new.grouping(bound.arguments[first], bound.arguments)
            bound.apply_defaults()
            options = {
                key: value
                for key, value in bound.arguments.items()
                if signature.parameters[key].kind is inspect.Parameter.KEYWORD_ONLY
            }
            options = sound_options(new, options)
            bound.arguments.update(options)
            whose_options = {"kinds": kinds, "include_excluded": include_excluded, "include_extra": include_extra}

            def whose(data: Judgments) -> Selection:
                return chosen_for({**options, **whose_options}, data, pools=pools)

            check_choices(new, options)
            drawn, notes = _drawn(new, bound.arguments[first], options, by_groups=by_groups)
            if "sources" in drawn:
                options["sources"] = drawn["sources"].column
            stated = {"groups": drawn["groups"].column} if "groups" in drawn else {}
            chosen = whose(bound.arguments[first])
            drawn |= _without_seats(options["ci"], chosen.data) if "raters" in interval else {}
            if weighted and options["weights"] is not None:
                bound.arguments["weights"] = _rater_weights(
                    chosen.data, options["weights"], powered_by, drawn.get("groups")
                )
            if powered_by is not None:
                if powered is None:
                    raise not_powered(name)
                result = powered(function, bound.arguments[first], {**options, **drawn}, powered_by, whose)
                options["powered_by"] = powered_by
            else:
                bound.arguments[first] = chosen.data
                made = function(*bound.args, **{**bound.kwargs, **drawn})
                result = with_left_out(made, chosen, by_columns(options.get("by", ())))
            result = _of_nobody(result) if follows and are_seats(chosen.data) else result
            result = result.with_columns(_noted(SEATED, pl.col("over").is_not_null())) if "ci" in drawn else result
            for note in (chosen.note, *notes):
                if note is not None and "reason" in result.columns:
                    result = result.with_columns(_noted(note))
            options |= stated | {name: value for name, value in whose_options.items() if value not in (None, False)}
            return ResultFrame(
                result.with_columns(
                    pl.lit(name).alias("measure"),
                    pl.lit(json.dumps(_plain(options), default=str)).alias("options"),
                )
            )

        recorded.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*signature.parameters.values(), *WHOSE, *([POWERED_BY] if powered else [])]
        )
        summary = (inspect.getdoc(function) or "").split("\n", 1)[0]
        new, known = Measure(name, family, summary, recorded, view, pools, pools_questions), REGISTRY.get(name)
        # Whatever is imported first, a name that is built in means the built-in measure.
        if known is None or new.built_in or not known.built_in:
            REGISTRY[name] = new
        return cast(Recorded[P], recorded)

    return register


OWN_WORDS: Final = ("ci", "level", "kinds")
"""Options whose values are checked where they are used, which knows more about them."""


def _takes_lists_only(annotation: Any) -> bool:
    parts = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    return all(part is NoneType or get_origin(part) is Sequence for part in parts)


HOLDS: Final = {"value": "the answers", "item": "the items", "question": "the questions"}
NOT_FOR: Final = {
    **dict.fromkeys(("by", "between", "match"), ("value",)),
    **dict.fromkeys(("system", "on"), ("value", "item")),
    **dict.fromkeys(("traits", "reference"), ("value", "item", "question")),
}
"""Columns that an option cannot name."""


def sound_options(known: Measure, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options as they are spelled, lists where lists are meant, and without columns that make no sense."""
    sound = {name: spelled(value, known.choices.get(name)) for name, value in options.items()}
    for name, value in [*sound.items()]:
        if isinstance(value, str) and _takes_lists_only(known.types[name]):
            sound[name] = [value]
        elif name == "by" and not isinstance(value, str):
            sound[name] = list(dict.fromkeys(value))
        named = [value] if isinstance(value, str) else value if isinstance(value, list | tuple) else ()
        if wrong := next((one for one in NOT_FOR.get(name, ()) if one in named), None):
            raise InputError(f"{name} cannot be '{wrong}', which holds {HOLDS[wrong]}", remedy="name another column")
    between = options.get("between")
    if between is not None and (between == options.get("system") or by_columns(options.get("match", ())) == [between]):
        other = "system" if between == options.get("system") else "match"
        raise InputError(f"between and {other} are both '{between}'", remedy="name two columns")
    return sound


def spelled(value: Any, choices: Sequence[Any] | None) -> Any:
    """A choice, or several, as they are written, whether typed with `-` or `_`.

    >>> spelled("dawid_skene", ["mean", "dawid-skene"])
    'dawid-skene'
    """
    if choices is None or not isinstance(value, str | list | tuple):
        return value
    if not isinstance(value, str):
        return type(value)(spelled(one, choices) for one in value)
    known = (one for one in choices if isinstance(one, str) and one.replace("_", "-") == value.replace("_", "-"))
    return next(known, value)


def check_choices(known: Measure, options: Mapping[str, Any]) -> None:
    """Refuses a value that is none of those an option can have."""
    for name, value in options.items():
        choices = known.choices.get(name)
        if choices is None or name in OWN_WORDS:
            continue
        for one in [value] if isinstance(value, str) or not isinstance(value, Sequence) else value:
            if one not in choices:
                remedy = nearest(str(one), [str(choice) for choice in choices if choice is not None])
                raise InputError(f"{name} '{one}' is not known", remedy=remedy)


def _choices(annotation: Any) -> tuple[Any, ...] | None:
    """The values that a type allows, alone or in a sequence; null where they cannot be counted."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is NoneType:
        return (None,)
    if origin is Literal:
        return arguments
    if origin is Sequence:
        return _choices(arguments[0])
    if origin in (Union, UnionType):
        parts = [_choices(part) for part in arguments]
        return None if None in parts else tuple(value for part in parts for value in part or ())
    return None


def not_powered(name: str) -> InputError:
    """The error for a measure that a model cannot power."""
    able = "mean, prevalence, entropy, split-items, alpha, pairwise, correlate and regress"
    return InputError(f"measure '{name}' cannot be powered by a model", remedy=f"use one of {able}")


def _rater_weights(data: Judgments, column: str, powered_by: object, groups: RaterGroups | None) -> RaterWeights:
    """The weights of the raters whose judgments are measured."""
    if powered_by is not None:
        raise InputError("powered estimates cannot use weights of raters", remedy="leave out one of them")
    return RaterWeights.of(data, column, groups)


def not_weighted(name: str) -> InputError:
    """The error for a measure in which raters cannot count differently."""
    able = "mean, prevalence, pairwise, difference, alpha, entropy, soft-labels and reliability"
    return InputError(f"measure '{name}' takes no weights of raters", remedy=f"use one of {able}")


def chosen_for(options: Mapping[str, Any], data: Any, *, pools: bool) -> Selection:
    """Whose judgments a measure with these options uses, and who is left out."""
    apart = {column for option in ("by", "between", "system") for column in by_columns(options.get(option) or ())}
    return selected(
        data,
        options.get("kinds"),
        include_excluded=options.get("include_excluded", False),
        pools=pools and not apart & set(APART),
        include_extra=options.get("include_extra", False),
        by_item="item" in apart,
    )


def _of_nobody(result: pl.DataFrame) -> pl.DataFrame:
    """A result about each rater without its estimates, since its raters are seats and no single people."""
    gone = [column for column in ("estimate", "low", "high") if column in result.columns]
    result = result.with_columns(pl.lit(None, result.schema[column]).alias(column) for column in gone)
    return result.with_columns(_noted(SEATS)) if "reason" in result.columns else result


def _without_seats(ci: str, data: Any) -> dict[str, str]:
    """What the interval is over instead, where raters are seats: leaving out a seat leaves out no person."""
    if ci in ("items", "none") or not have_seats(data):
        return {}
    if ci != "auto":
        problem = "the raters are seats that different people may have taken, so none can be left out as one person"
        raise InputError(problem, remedy="use ci items")
    return {"ci": "items"}


def _noted(note: str, where: pl.Expr | None = None) -> pl.Expr:
    """The reasons of a result with one more, in all rows or in some."""
    noted = pl.concat_str("reason", pl.lit(note), separator="; ", ignore_nulls=True)
    return (noted if where is None else pl.when(where).then(noted).otherwise("reason")).alias("reason")


def table(rows: Iterable[Mapping[str, Any]], by: str | Sequence[str] = ()) -> pl.DataFrame:
    """Rows of a measure as a frame: grouping columns, the measure's own, then the common ones.

    A row states `estimate` (null where undefined, with a `reason`), the interval `low`…`high` where there
    is one, what that is `over`, and what the row rests on; `because`, why it is over that, is part of the reason, and
    so is the `note` on an estimate that may answer another question than the one that was meant.
    `left_out` becomes a struct with one count per status that occurs.
    """
    rows = [_sound(row) for row in rows]
    columns = by_columns(by)
    own = [k for row in rows for k in row if k not in columns and k not in RESULT]
    order = list(dict.fromkeys([*columns, *own, *RESULT]))
    left_out = sorted({status for row in rows for status in row.get("left_out") or {}})
    types: dict[str, Any] = {
        **dict.fromkeys(("estimate", "low", "high"), pl.Float64),
        **dict.fromkeys(("items", "raters", "judgments"), pl.Int64),
        "left_out": pl.Struct(dict.fromkeys(left_out, pl.Int64)),
        "over": pl.String,
        "reason": pl.String,
    }

    def column(name: str) -> pl.Series:
        values = [row.get(name) for row in rows]
        if name == "left_out":
            values = [{status: (v or {}).get(status, 0) for status in left_out} for v in values]
        return pl.Series(name, values, dtype=types.get(name), strict=False)

    return pl.DataFrame([column(name) for name in order])


def only_reason(frame: pl.DataFrame) -> str | None:
    """Why intervals are over what they are, where the rows have no other reason; it need be said only once.

    >>> only_reason(pl.DataFrame({"reason": [TOO_FEW_RATERS, None]})) == TOO_FEW_RATERS
    True
    """
    reasons = frame["reason"].drop_nulls().unique().to_list() if "reason" in frame.columns else []
    known = {
        TOO_FEW_RATERS,
        TOO_FEW_GROUPS,
        NOT_HELD,
        NOT_KNOWN,
        MODELLED,
        CORE_ALONE,
        REPEATED,
        SAMPLED,
        SPREAD_OUT,
        TOGETHER,
        SEATED,
    }
    return str(reasons[0]) if len(reasons) == 1 and set(reasons[0].split("; ")) <= known else None


def _sound(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The row, with a reason where its interval does not hold its own estimate, or is over less than it could be."""
    estimate, low, high, reason = (row.get(name) for name in ("estimate", "low", "high", "reason"))
    if estimate is not None and low is not None and high is not None and not reason:
        slack = 1e-9 * max(1.0, abs(estimate))
        reason = None if low - slack <= estimate <= high + slack else BIASED
    note, because = row.get("note") if estimate is not None else None, row.get("because")
    if because == NOT_KNOWN and (reason or estimate is None):
        because = None  # which is said already
    reasons = [part for part in (reason, because, note) if part]
    kept = {key: value for key, value in row.items() if key not in ("because", "note")}
    return kept | {"reason": "; ".join(reasons) or None}


def _plain(value: object) -> object:
    """An option in the terms of JSON, whose keys are strings and whose arrays are lists."""
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, pl.DataFrame):
        return f"a table of {len(value)} rows"
    if callable(value):
        # A function has no JSON, and the address in its repr would differ from run to run.
        return str(getattr(value, "name", None) or getattr(value, "__name__", None) or type(value).__name__)
    return value.tolist() if hasattr(value, "tolist") else value
