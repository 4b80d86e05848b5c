"""A second round: people's answers and reasons become items, and others and they themselves say which are defensible.

Each item is one answer to one question about one text, without names. A column that no page shows names the raters who
gave it, so that `vantage.measures.defensible` can tell what people say of their own answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, Final

import polars as pl

from vantage.collect.web.item_view import texts as item_texts
from vantage.corpora import About, Corpus
from vantage.errors import InputError
from vantage.instruments import Instrument, Question
from vantage.scales import show_code

INSTRUMENT: Final = "defensible"
NO_REASON: Final = "No reason was given."


def second_round(corpus: Corpus, question: str | None = None) -> Corpus:
    """The answers that people gave in a corpus, as items of a corpus for the bundled flow `second-round`.

    Answers in own words, and those of options that may apply together, have no second round; of repetitions only the
    first counts.
    """
    chosen = [corpus.question(question)] if question else list(corpus.questions)
    asked = {one.id: one for one in chosen if not one.scale.text and one.whole is None and one.scale.options}
    if not asked:
        raise InputError("no question has answers to choose from", remedy="name another one with --question")
    given_at_all = pl.col("status").cast(pl.String) != "missing"
    every = corpus.included().people().judgments
    judged = every.filter(pl.col("question").is_in([*asked]), pl.col("sample") == 0, given_at_all)
    records = {row["item"]: row for row in corpus.items.iter_rows(named=True)}
    given: dict[tuple[str, str, str, str], list[tuple[str, str]]] = {}
    columns = ("item", "condition", "question", "value", "status", "rater", "rationale")
    for item, condition, name, value, status, rater, reason in judged.select(columns).iter_rows():
        scale = asked[name].scale
        answer = next((one.label for one in scale.opt_outs if one.status == status), "")
        if value is not None:
            label, code = scale.label(value), show_code(value)
            answer = f"{code} ({label})" if scale.ordered and label != code else label
        if answer:
            given.setdefault((item, condition, name, answer), []).append((rater, (reason or "").strip()))
    rows = list(_rows(corpus, asked, records, given))
    if not rows:
        raise InputError("no person has answered these questions", remedy="export the judgments of the first round")
    about = About(name=f"{corpus.about.name}-second-round", title=f"Second round of {corpus.about.title}")
    return Corpus.of_items(pl.DataFrame(rows), Instrument.load(INSTRUMENT), about)


def _rows(
    corpus: Corpus,
    asked: Mapping[str, Question],
    records: Mapping[str, Mapping[str, Any]],
    given: Mapping[tuple[str, str, str, str], list[tuple[str, str]]],
) -> Iterator[dict[str, Any]]:
    for (item, condition, name, answer), by in given.items():
        instrument = next(one for one in corpus.instruments if any(q.id == name for q in one.questions))
        words = item_texts(records[item])
        shown = {f.title: words[f.name] for f in instrument.shown(condition) if words.get(f.name)}
        text = next(iter(shown.values()), "") if len(shown) == 1 else "\n\n".join(f"{t}: {x}" for t, x in shown.items())
        key = " | ".join(filter(None, (item, condition, name, answer)))
        # The order of reasons says nothing about who came when.
        reasons = sorted({reason for _, reason in by if reason}, key=lambda reason: blake2b(reason.encode()).digest())
        yield {
            "item": key,
            "text": text,
            "asked": asked[name].wording(condition, **{f.name: words.get(f.name, "") for f in instrument.fields}),
            "answer": answer,
            "reasons": "\n".join(f"• {reason}" for reason in reasons) or NO_REASON,
            "first_item": " | ".join(filter(None, (item, condition))),
            "first_question": name,
            "given_by": [rater for rater, _ in by],
        }
