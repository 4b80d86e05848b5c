"""Reading replies again: recorded replies, today's parser, no model.

Every chat rater's judgment keeps the reply that it was read from, verbatim, in the column `reply`; so do judgments of
published corpora that recorded one. A newer parser may find more in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.schema import KEY
from vantage.errors import InputError
from vantage.instruments import Question, grouped
from vantage.presentations import Presentation
from vantage.raters.conversation import CLARIFIED, as_offered
from vantage.raters.replies import ParsedReply, parse_replies, parse_reply

KEPT: Final = ("scoring", "sampling", "low-mass", "failed", "filtered", "thinking")
"""Rules of judgments that were not read from a reply."""
ELSEWHERE: Final = ("keywords", "template")
"""Rules of judgments that another parser than the one for scales has read: lists of keywords are the study's to read,
which does so from the replies whenever it is run, and a template has its own settings."""
_WAS_CUT: Final = pl.col("rule").fill_null("").str.contains("^cut(:|$)")
"""Replies that the model could not bring to their end, as their rule says."""


@dataclass(frozen=True, slots=True)
class Reparsed:
    """A corpus whose replies were read again, and what that changed."""

    corpus: Corpus
    read: int
    """How many replies were read."""
    changes: pl.DataFrame
    """The judgments whose value or status changed: before and after, with the reply and the rules."""
    left: Mapping[str, int]
    """How many replies were left as they are because another parser reads them, by its rule."""


def reparse(corpus: Corpus) -> Reparsed:
    """Reads the column `reply` of a corpus again with the parser as it is now.

    The reason that stands beside an answer stays where the reply itself holds none, since it may come from a
    second question or another column. What another parser has read, such as a list of keywords, is left as it is
    and counted.
    """
    judgments = corpus.judgments
    if "reply" not in judgments.columns:
        raise InputError("the judgments have no column 'reply'", remedy="only recorded replies can be read again")
    if "rule" not in judgments.columns:
        judgments = judgments.with_columns(pl.lit(None, dtype=pl.String).alias("rule"))
    replied = judgments.with_row_index("__row").filter(
        pl.col("reply").is_not_null() & (pl.col("status") != "failed"),
        ~(pl.col("rule").is_in(KEPT) | pl.col("rule").str.starts_with(CLARIFIED)).fill_null(value=False),
    )
    others = pl.col("rule").is_in(ELSEWHERE).fill_null(value=False)
    rows, left = replied.filter(~others), dict(replied.filter(others)["rule"].value_counts().sort("rule").iter_rows())
    readings = [(row, reply.value, reply.status, reply.rationale, reply.rule) for row, reply in _read(corpus, rows)]
    words = dict.fromkeys(("status_now", "why", "rule_now"), pl.String)
    fresh = pl.DataFrame(readings, schema={"__row": pl.UInt32, "value_now": pl.Float64, **words}, orient="row")
    joined = judgments.with_row_index("__row").join(fresh, on="__row", how="left", maintain_order="left")
    known = pl.col("status_now").is_not_null()
    changed = known & (
        pl.col("value").ne_missing(pl.col("value_now")) | (pl.col("status").cast(pl.String) != pl.col("status_now"))
    )
    changes = joined.filter(changed).select(
        *KEY, "reply", "value", "value_now", "status", "status_now", "rule", "rule_now"
    )
    status = pl.when(known).then("status_now").otherwise(pl.col("status").cast(pl.String))
    updated = joined.with_columns(
        pl.when(known).then("value_now").otherwise("value").alias("value"),
        status.cast(judgments.schema["status"]).alias("status"),
        pl.when(known).then(pl.coalesce("why", "rationale")).otherwise("rationale").alias("rationale"),
        pl.when(known).then("rule_now").otherwise("rule").alias("rule"),
    ).select(judgments.columns)
    return Reparsed(corpus._with(judgments=updated), len(fresh), changes, left)


def _read(corpus: Corpus, rows: pl.DataFrame) -> Iterator[tuple[int, ParsedReply]]:
    """Every reply, read again; those to several questions at once are read for all of them together."""
    questions = {question.id: question for question in corpus.questions}
    sources, styles = _sources(corpus), _styles(corpus)
    if "presentation" not in rows.columns:
        rows = rows.with_columns(pl.lit("").alias("presentation"))
    rows = rows.with_columns(pl.col("presentation").fill_null(""))
    together = [rater for rater, style in styles.items() if "together" in style.split("+")]
    # Questions that are put as one are answered in one reply, unless a template or a history asks one at a time.
    one_at_a_time = [rater for rater, style in styles.items() if style.startswith("template:") or "history" in style]
    as_one = [question.id for group in grouped(corpus.questions) if len(group) > 1 for question in group]
    in_groups = pl.col("rater").is_in(list(styles)) & ~pl.col("rater").is_in(one_at_a_time)
    joint = pl.col("rater").is_in(together) | (pl.col("question").is_in(as_one) & in_groups)
    columns = ("__row", "rater", "item", "question", "reply", "presentation")
    # Runs at a low temperature repeat each other, and an option alone says the same of every item.
    known: dict[tuple[Any, ...], ParsedReply] = {}
    for row, rater, item, *asked_for in rows.filter(~joint).select(*columns, _WAS_CUT).iter_rows():
        question, reply, way, cut = asked_for
        alone = (rater in styles, *asked_for)
        key = alone if alone in known else (*alone, item)
        if key not in known:
            shown = _shown(questions[question], way)
            parsed = parse_reply(reply, shown, sources.get(item), cut=cut, strict=rater in styles)
            if parsed.rule.startswith("whole:") and not shown.scale.text:
                key = alone
            known[key] = _meant(parsed, shown, way, unlettered=rater in styles)
        yield row, known[key]
    for key, part in rows.filter(joint).group_by("item", "rater", "condition", "sample", "reply", maintain_order=True):
        asked = [_shown(questions[id_], way) for id_, way in part.select("question", "presentation").iter_rows()]
        was_cut, strict = part.select(_WAS_CUT.any()).item(), key[1] in styles
        replies = parse_replies(str(key[4]), asked, sources.get(str(key[0])), cut=was_cut, strict=strict)
        for shown, (row, way) in zip(asked, part.select("__row", "presentation").iter_rows(), strict=True):
            yield row, _meant(replies[shown.id], shown, way, unlettered=key[1] in styles)


def _shown(question: Question, presentation: str) -> Question:
    return Presentation.parse(presentation).shown(question) if presentation else question


def _meant(reply: ParsedReply, shown: Question, presentation: str, *, unlettered: bool) -> ParsedReply:
    """What was read, in the codes of the question; letters, and numbers of words, only where they may have had them."""
    if unlettered and shown.scale.called != "letters":
        reply = as_offered(reply, shown.scale)
    if reply.value is None or not presentation:
        return reply
    return replace(reply, value=Presentation.parse(presentation).decoded(shown, reply.value))


def _sources(corpus: Corpus) -> Mapping[str, str]:
    """The texts of the items, so that what a reply copies from them is recognised."""
    return {
        str(item["item"]): " ".join(str(value) for value in item.values() if isinstance(value, str))
        for item in corpus.items.iter_rows(named=True)
    }


def _styles(corpus: Corpus) -> dict[str, str]:
    """The styles of the raters whom Vantage has asked; recorded replies were asked for by others."""
    if not {"style", "model"} <= set(corpus.raters.columns):
        return {}
    recorded = pl.col("model").cast(pl.String).str.starts_with("recorded:").fill_null(value=False)
    asked = corpus.raters.filter(~recorded, pl.col("style").is_not_null())
    return dict(asked.select("rater", pl.col("style").cast(pl.String)).iter_rows())
