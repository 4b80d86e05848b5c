"""From a result and its view to the parts of a report: a table, a figure, and statements.

The caption is built from the options that were really used.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from string import Formatter
from typing import Any, Final

import polars as pl
import polars.selectors as cs

from vantage.corpora import Corpus
from vantage.corpora.schema import PEOPLE
from vantage.documents import Document
from vantage.measures.base import only_reason
from vantage.measures.presentation import Column, Rule, View
from vantage.report.cells import counted
from vantage.report.ledger import Claim, settle
from vantage.report.parts import ALONE, Figure, Part, Table, says_something
from vantage.report.sentences import Statement, Words, statement

_bundled = cache(Document.bundled)
DIGITS: Final = 9
"""Numbers that are alike in so many digits after the point are the same."""
OVER: Final = ("items", "raters", "sources", "groups", "runs", "texts", "users")
"""What an interval can be over; "both" are items and raters."""


@dataclass(frozen=True, slots=True)
class Presented:
    """A result as a report shows it: what may be said of it, and its parts once that is settled."""

    statements: Sequence[Statement]
    draw: Callable[[Sequence[Claim]], list[Part]]

    @property
    def alone(self) -> Presented:
        """The same where nothing else is asked: each row is a research question of its own, with its own interval."""

        def apart(claim: Claim) -> Claim:
            return replace(claim, family=f"{claim.family} {claim.row}") if claim.rule.startswith("against") else claim

        return replace(self, statements=[replace(one, claims=[*map(apart, one.claims)]) for one in self.statements])

    @property
    def parts(self) -> list[Part]:
        """Its parts where nothing else is asked."""
        return self.draw([claim for one in settle([one.claims for one in self.statements]) for claim in one])


def present(
    frame: pl.DataFrame,
    view: View,
    *,
    name: str,
    by: Sequence[str] = (),
    who: str = "",
    caption: str = "",
    figures: Sequence[Mapping[str, Any]] | None = None,
    table: bool = True,
    keys: Sequence[str] = (),
    says: Sequence[Rule] | None = None,
    values: Mapping[str, Any] | None = None,
    families: Sequence[tuple[str, bool, str]] | None = None,
) -> Presented:
    """The table, the figures and the statements of a result."""
    options, over = used_options(frame), interval_words(frame, used_options(frame))
    text = caption.replace("{intervals}", over) or caption_of(view, frame, by, who)
    columns = {column: how for column, how in view.columns.items() if column in frame.columns}
    words = Words(
        keys or by,
        view.symbol,
        columns,
        options.get("confidence") or 0.95,
        {**options, **(values or {})},
        view.title or text,
        f"{who}{over}" if " over " in over else text,
        name,
    )
    rules = view.says if says is None else says
    statements = [
        statement(rule, frame, words, family=family, exploratory=exploratory, after=after)
        for rule, (family, exploratory, after) in zip(rules, families or [("", False, "")] * len(rules), strict=True)
    ]
    drawn = figures or []
    if figures is None and view.chart and by:
        series = {"series": by[0]} if len(by) > 1 else {}
        # One point says nothing that its table does not.
        drawn = [{"chart": view.chart, "least": 2, "category": by[-1], **series, **view.chart_options}]

    def draw(claims: Sequence[Claim]) -> list[Part]:
        settled, shown_view = with_ledger(frame, view, claims)
        parts: list[Part] = [_table(settled, shown_view, name, text, by, keys)] if table else []
        for number, how in enumerate(drawn):
            parts += _figures(dict(how), settled, name if not number else f"{name}-{number + 1}", text, view)
        return parts

    return Presented(statements, draw)


def with_ledger(frame: pl.DataFrame, view: View, claims: Sequence[Claim]) -> tuple[pl.DataFrame, View]:
    """A result with the intervals and p values of the ledger, and a view that shows these and no others.

    The ends of single intervals stay under their names with `_alone` behind, for the files.
    """
    compared = [claim for claim in claims if claim.rule.startswith("against") and claim.p_family is not None]
    compared += _turned(frame, compared)
    several = [one for one in compared if (one.low, one.high, one.p_family) != (one.low_alone, one.high_alone, one.p)]
    if not several:
        return frame, view
    for place in (1, 2):
        for name in dict.fromkeys(claim.columns[place] for claim in several if claim.columns[place]):
            mine = {one.row: (one.low, one.high)[place - 1] for one in several if one.columns[place] == name}
            ends = [mine.get(row, end) for row, end in enumerate(frame[name])] if name in frame.columns else None
            if ends is not None:
                alone = pl.col(name).alias(f"{name}{ALONE}")
                frame = frame.with_columns(alone, pl.Series(name, ends, pl.Float64))
    corrected = {claim.row: claim.p_family for claim in reversed(compared)}
    frame = frame.with_columns(pl.Series("p_family", [corrected.get(row) for row in range(len(frame))], pl.Float64))
    # One p value for a row: the one that the sentence about it has. The other stays in the file.
    shown = list(dict.fromkeys("p_family" if name in ("p", "p_adjusted") else name for name in view.show))
    many = {round((one.p_family or 0.0) / one.p) for one in compared if one.p and (one.p_family or 1.0) < 1}
    count = {2: "both"}.get(max(many), f"all {max(many)}") if len(many) == 1 and max(many) > 1 else "all"
    note = f"Intervals and corrected p values hold for {count} comparisons of the same research question at once"
    ends_of = {claim.columns[1] for claim in several} & {*frame.columns}
    known = {row for name in ends_of for row, end in enumerate(frame[name]) if end is not None}
    untested = known - {claim.row for claim in compared}
    note += "; an interval without a p value was not tested and holds by itself." if untested else "."
    columns = {**view.columns, "p_family": Column("p (corrected)", digits=3, chance=True)}
    return frame, replace(view, columns=columns, show=shown, notes=[*view.notes, note])


def _turned(frame: pl.DataFrame, compared: Sequence[Claim]) -> list[Claim]:
    """What a claim says of the row that is its own turned round, such as the second of two groups."""
    sides: dict[tuple[Any, ...], Claim] = {}
    for one in compared:
        if one.low is None or one.high is None or one.low_alone is None or one.high_alone is None:
            continue
        low, high = -one.high_alone, -one.low_alone
        key = (one.question, tuple(one.columns[1:]), round(low, DIGITS), round(high, DIGITS))
        sides[key] = replace(one, low=-one.high, high=-one.low, low_alone=low, high_alone=high)
    known, turned = {one.row for one in compared}, []
    asked = frame["question"] if "question" in frame.columns else pl.repeat("", len(frame), eager=True)
    for columns in {columns for _, columns, *_ in sides if {*columns} <= {*frame.columns}}:
        for row, (question, *ends) in enumerate(zip(asked, *frame.select(columns), strict=True)):
            alone = [] if row in known or None in ends else [round(end, DIGITS) for end in ends]
            if (other := sides.get((str(question or ""), columns, *alone))) is not None:
                turned.append(replace(other, row=row))
    return turned


def _table(frame: pl.DataFrame, view: View, name: str, caption: str, by: Sequence[str], keys: Sequence[str]) -> Table:
    columns = {column: how for column, how in view.columns.items() if column in frame.columns}
    known = [column for column in frame.columns if says_something(frame[column])]
    known = [column for column in known if column != "reason" or not only_reason(frame)]
    options = used_options(frame)
    differ = ["over"] if "low" in known and len(_targets(frame, options)) > 1 else []
    shown = [column for column in dict.fromkeys([*by, *view.show, *differ]) if column in known] if view.show else []
    names = [*by, *keys] or [c for c in frame.columns if frame.schema[c] == pl.String][:1]
    keyed = [column for column in dict.fromkeys(names) if column in frame.columns]
    table = Table(name, caption, frame, columns, shown, keyed, view.notes)
    # The caption says what all intervals are over, and of which level all estimates are.
    said = {"over"} if " over " in caption and not differ else set()
    said |= {"level"} if f"({options.get('level')} level)" in caption else set()
    return replace(table, shown=[one.column for one in table.heads() if one.column not in said]) if said else table


def option_words(value: Any) -> str:
    """The value of an option in a sentence.

    >>> option_words("f1_macro"), option_words(["kappa", "mae"]), option_words(1000)
    ('macro F1', 'kappa and mean absolute error', '1,000')
    """
    if isinstance(value, list):
        return " and ".join(map(option_words, value))
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(_bundled("vantage.report", "options.yaml").data.get(value, value))


def used_options(frame: pl.DataFrame) -> dict[str, Any]:
    """The options of the measure that made a result, as its rows record them."""
    if "options" not in frame.columns or frame.is_empty():
        return {}
    options: dict[str, Any] = json.loads(frame["options"][0])
    if "level" in frame.columns and frame["level"].n_unique() == 1:
        options["level"] = frame["level"][0]
    return options


def caption_of(view: View, frame: pl.DataFrame, by: Sequence[str], who: str) -> str:
    """What is shown, of whom, by what, and what its intervals are over."""
    options = used_options(frame)
    level = f" ({options['level']} level)" if options.get("level") else ""
    groups = f", by {' and '.join(column.replace('_', ' ') for column in by)}" if by else ""
    judged = (f" ({who})" if by else f", {who}") if who else ""
    return f"{view.title}{level}{groups}{judged}{interval_words(frame, options)}."


def interval_words(frame: pl.DataFrame, options: Mapping[str, Any]) -> str:
    """The words on intervals in a caption; nothing where a result has none."""
    if "low" not in frame.columns or frame["low"].null_count() == len(frame):
        return ""
    named = [words for one in _targets(frame, options) if (words := over_words(one, options))]
    words = f", with {100 * options.get('confidence', 0.95):g} % intervals"
    words += f" over {named[0]}" if len(named) == 1 else f" (over {' or '.join(named)}: see each row)" if named else ""
    head, over, rest = (only_reason(frame) or "").partition("the interval is over items")
    return words + (rest.removeprefix(" and raters") if over and not head else "")


def over_words(over: Any, options: Mapping[str, Any]) -> str:
    """What an interval is over, in words, with the columns of the design that say what was drawn together.

    >>> over_words("both", {}), over_words("sources and groups", {"sources": "thread", "groups": "team"})
    ('items and raters', 'sources (thread) and groups of raters (team)')
    """
    units = ("items and raters" if over == "both" else str(over)).split(" and ")
    named = {"sources": f"sources ({options.get('sources')})", "groups": f"groups of raters ({options.get('groups')})"}
    return " and ".join(named.get(one, one) for one in units) if {*units} <= {*OVER} else ""


def _targets(frame: pl.DataFrame, options: Mapping[str, Any]) -> list[Any]:
    """What the intervals of a result are over; rows may differ in that."""
    if "over" not in frame.columns:
        return [options.get("ci")]
    return frame.filter(pl.col("low").is_not_null())["over"].drop_nulls().unique().sort().to_list()


def who_of(corpus: Corpus) -> str:
    """Who judged, in words.

    >>> from vantage import demo_corpus
    >>> who_of(demo_corpus())
    '9 people'
    """
    there = corpus.judgments["rater"].unique()
    kinds = corpus.raters.filter(pl.col("rater").is_in(there.implode()))["kind"].cast(pl.String)
    people, seats, others = (int(one.sum()) for one in (kinds == "person", kinds == "slot", ~kinds.is_in(PEOPLE)))
    parts = [counted(people, "person", "people")] if people else []
    parts += [counted(seats, "seat")] if seats else []
    if others:
        parts.append(counted(others, "model" if set(kinds) <= {*PEOPLE, "model"} else "rater"))
    return " and ".join(parts)


def _figures(how: dict[str, Any], frame: pl.DataFrame, name: str, caption: str, view: View) -> Iterator[Figure]:
    """A figure, or one for `each` value of a column, which captions name in braces: the first ones up to `most`.

    A figure of fewer rows than `least` is left out, as is one without any value, or a single one of more than `most`.
    """
    column, least, most = how.pop("each", ""), how.pop("least", 0), how.pop("most", None)
    drawn = how.get("value") or how.get("y") or "estimate"
    parts = frame.partition_by(column, maintain_order=True) if column else [frame]
    parts = [part for part in parts if drawn not in part.columns or part[drawn].count()]
    if not column:
        figures = [_figure(dict(how), part, name, caption, view) for part in parts]
        yield from [one for one in figures if least <= len(one.data) <= (most or len(one.data))]
        return
    caption, used = how.pop("caption", caption), Counter[str]()
    for part in [part for part in parts if len(part) >= least][:most]:
        value = str(part[column][0])
        used[own := f"{name}-{slug(value)}"] += 1
        own += f"-{used[own]}" if used[own] > 1 else ""  # values that differ in signs alone
        yield _figure(dict(how), part, own, caption.replace(f"{{{column}}}", value), view)


def slug(label: str) -> str:
    """A label as a part of the name of a file.

    >>> slug("Sarcasm, few-shot:3")
    'sarcasm-few-shot-3'
    >>> slug("HC<HW"), slug("HC>HW")
    ('hc-below-hw', 'hc-above-hw')
    """
    worded = label.casefold().replace("<", " below ").replace(">", " above ")
    return re.sub(r"[^a-z0-9]+", "-", worded).strip("-")


def _figure(how: dict[str, Any], frame: pl.DataFrame, name: str, caption: str, view: View) -> Figure:
    """A figure of a result.

    `where` keeps some rows, `stack` puts columns below each other, and an axis with names in braces joins columns. A
    caption says in `{intervals}` what intervals are over, where there are any.
    """
    chart, where = how.pop("chart"), how.pop("where", {})
    name, caption, alt = how.pop("name", name), how.pop("caption", caption), how.pop("alt", "")
    if chart == "points":
        how = {"label": view.columns.get("estimate", Column()).title or view.title, **how}
    unused = cs.nested() | cs.by_name("measure", "options", require_all=False)
    data = stacked(frame.filter(**where).drop(unused), how.pop("stack", {}))
    for axis in [axis for axis in ("category", "series") if "{" in how.get(axis, "")]:
        columns = [column for _, column, _, _ in Formatter().parse(how[axis]) if column]
        label = pl.format(how[axis].format_map(dict.fromkeys(columns, "{}")), *columns)
        data, how[axis] = data.with_columns(label.alias(axis)), axis
    return Figure(
        name, caption.replace("{intervals}", interval_words(frame, used_options(frame))), alt, chart, data, how
    )


def stacked(frame: pl.DataFrame, columns: Mapping[str, str]) -> pl.DataFrame:
    """Columns with their intervals below each other, as `estimate`, `low` and `high`, each under its title in `of`.

    >>> wide = pl.DataFrame({"task": ["irony"], "alone": [0.5], "alone_low": [0.4], "alone_high": [0.6], "both": [0.7]})
    >>> stacked(wide, {"alone": "static", "both": "context"}).select("of", "estimate", "low", "high").rows()
    [('static', 0.5, 0.4, 0.6), ('context', 0.7, None, None)]

    `low` and `high` of the table are the interval of something else, such as a difference, and belong to none of them:

    >>> apart = pl.DataFrame({"one": [0.9], "two": [0.3], "low": [0.5], "high": [0.7]})
    >>> stacked(apart, {"one": "first", "two": "second"}).select("of", "estimate", "low").rows()
    [('first', 0.9, None), ('second', 0.3, None)]
    """
    parts = []
    for column, title in columns.items():
        ends = {"estimate": column, "low": f"{column}_low", "high": f"{column}_high"}
        named = {new: pl.col(old) if old in frame.columns else pl.lit(None) for new, old in ends.items()}
        if column in frame.columns:
            numbers = {new: one.cast(pl.Float64) for new, one in named.items()}
            parts.append(frame.with_columns(**numbers, of=pl.lit(title)).drop_nulls("estimate"))
    return pl.concat(parts, how="diagonal") if parts else frame


def with_view(view: View, **changes: Any) -> View:
    """A view with some of its parts replaced; those that are empty stay as they are."""
    columns = {**view.columns, **(changes.pop("columns", None) or {})}
    return replace(view, columns=columns, **{name: value for name, value in changes.items() if value})
