"""LeWiDi 2023 JSON: one object per question and split, from item ids to items.

Each item has `text`, `annotation task`, `number of annotations`, `annotations` and `annotators` (both comma
separated, in the same order), `lang`, `hard_label`, `soft_label`, `split` and `other_info`. The format has
one question per file; where the same annotators answered the others, those are in `other_info` under `other
annotations` as well, and a trait `group` under `annotators group`, as in HS-Brexit. Judgments without a value
cannot be written as annotations: their raters are named with the status under `not answered`. Annotators are people;
what other kinds of raters answered, and what people said again of an item, stands under `other raters` in `other_info`
and in no label. The soft label sums to 1; the hard label is the majority, and the first of the tied answers where there
is none. For the first question both are the released ones, where the items have them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.corpora.corpus import Corpus
from vantage.corpora.schema import PEOPLE
from vantage.corpora.writers.cells import json_text
from vantage.corpora.writers.place import put_files
from vantage.errors import InputError, nearest
from vantage.instruments import Question
from vantage.scales import Scale, show_code

STEMS: Final = {"hs-brexit": "HS-Brexit", "md-agreement": "MD-Agreement", "convabuse": "ConvAbuse"}
"""How the shared task spells its own data sets; other corpora keep their name."""
TASKS: Final = {
    "hate-speech": "hate speech detection",
    "aggressiveness": "aggressive language detection",
    "offensiveness": "offensive language detection",
    "offensive": "offensiveness detection",
}
"""How the shared task calls some questions; others keep their id."""
SPLITS: Final = {"validation": "dev", "valid": "dev", "val": "dev"}
FIELDS: Final = ("post", "reply", "context", "response", "conversation", "target")
"""What is written as the text of an item that has no `text`."""

Given = dict[str, list[tuple[str, float | None, str]]]
"""For each question: the raters with their values and statuses, in the order of the table."""


def write(corpus: Corpus, path: Path, *, overwrite: bool = False, kinds: str = "") -> Path:
    """Writes `NAME_SPLIT.json` for the first question and `NAME-QUESTION_SPLIT.json` for each further one."""
    files = {name: f"{json_text(entries, indent=2)}\n" for name, entries in documents(corpus, kinds).items()}
    stem = _stem(corpus)
    return put_files(path, files, ours=(f"{stem}_*.json", f"{stem}-*_*.json"), overwrite=overwrite)


def documents(corpus: Corpus, kinds: str = "") -> dict[str, dict[str, Any]]:
    """The files, by name."""
    judgments, others = _annotators(corpus, kinds)
    asked = [q for q in corpus.questions if q.id in set(judgments["question"].unique())]
    if not asked:
        raise InputError("the corpus has no judgments", remedy="there is nothing to export")
    for question in asked:
        if question.scale.range is not None:
            problem = f"question '{question.id}' has a continuous scale, and LeWiDi JSON needs options"
            raise InputError(problem, remedy="export the other questions only, or export CSV")
    if (commas := judgments["rater"].unique().str.contains(",", literal=True)).any():
        name = judgments["rater"].unique().filter(commas)[0]
        raise InputError(f"rater '{name}' has a comma in its id", remedy="rename it: LeWiDi JSON separates by commas")
    if judgments["condition"].n_unique() > 1:
        problem = "the corpus has several conditions, and LeWiDi JSON has no place for them"
        raise InputError(problem, remedy="filter one of them first")
    items = {row["item"]: row for row in corpus.items.iter_rows(named=True)}
    answers, aside = _answers(judgments), _answers(others)
    groups = dict(corpus.raters.select("rater", "group").iter_rows()) if "group" in corpus.traits else {}
    stem = _stem(corpus)
    files: dict[str, dict[str, Any]] = {}
    for question in asked:
        name = stem if question is asked[0] else f"{stem}-{_slug(question.id)}"
        for item, given in answers.items():
            if question.id in given:
                entry = _entry(items[item], question, given, groups)
                if further := aside.get(item, {}).get(question.id):
                    entry["other_info"]["other raters"] = {name: value for name, value, _ in further}
                if question is asked[0]:
                    entry |= _released(items[item], question.scale)
                entry["lang"] = entry["lang"] or corpus.about.language
                file = f"{name}_{_slug(entry['split']) if entry['split'] else 'all'}.json"
                # `<split>-<id>` loses the split, as the task numbers each file by itself.
                own = item.removeprefix(f"{entry['split']}-") if entry["split"] else item
                files.setdefault(file, {})[own] = entry
    return files


def _annotators(corpus: Corpus, kinds: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The judgments of the annotators, and all others: people and models are never pooled unasked.

    What a person says of an item again is no second annotation.
    """
    present = set(corpus.raters["kind"].cast(pl.String))
    wanted = [kind.strip() for kind in kinds.split(",") if kind.strip()] or [k for k in PEOPLE if k in present]
    wanted = list(present) if wanted == ["all"] or not wanted else wanted
    if unknown := next((kind for kind in wanted if kind not in present), None):
        raise InputError(f"there is no rater of kind '{unknown}'", remedy=nearest(unknown, ["all", *sorted(present)]))
    raters = corpus.raters.filter(pl.col("kind").cast(pl.String).is_in(wanted))["rater"]
    again = pl.col("sample") > pl.col("sample").min().over("item", "question", "rater", "condition")
    people = corpus.people().raters["rater"]
    among = pl.col("rater").is_in(raters.implode()) & ~(again & pl.col("rater").is_in(people.implode()))
    return corpus.judgments.filter(among), corpus.judgments.filter(~among)


def _answers(judgments: pl.DataFrame) -> dict[str, Given]:
    """Who answered what, by item."""
    answers: dict[str, Given] = {}
    columns = judgments.select("item", "question", "rater", "value", pl.col("status").cast(pl.String))
    seen: Counter[tuple[str, ...]] = Counter()
    for item, question, rater, value, status in columns.iter_rows():
        seen[item, question, rater] += 1
        times = seen[item, question, rater]
        name = f"{rater}~{times}" if times > 1 else rater
        answers.setdefault(item, {}).setdefault(question, []).append((name, value, status))
    return answers


def _entry(item: dict[str, Any], question: Question, given: Given, groups: Mapping[str, str | None]) -> dict[str, Any]:
    annotators = [rater for rater, value, _ in given[question.id] if value is not None]
    values = [value for _, value, _ in given[question.id] if value is not None]
    counts, codes = Counter(values), question.scale.codes
    declined = {rater: status for rater, value, status in given[question.id] if value is None}
    other = {
        TASKS.get(name, name): ",".join(_code(value) for _, value, _ in answers)
        for name, answers in given.items()
        if name != question.id and [rater for rater, _, _ in answers] == annotators
    }
    split = item.get("split")
    shown = ["text"] if item.get("text") is not None else [name for name in FIELDS if name in item]
    placed = {"item", "split", "lang", "language", "hard_label", *shown}
    return {
        "text": item["text"] if shown == ["text"] else {name: item[name] for name in shown},
        "annotation task": TASKS.get(question.id, question.id),
        "number of annotations": len(values),
        "annotations": ",".join(map(_code, values)),
        "annotators": ",".join(annotators),
        "lang": item.get("lang") or item.get("language") or "",
        "hard_label": _code(max(codes, key=lambda code: counts[code])) if values else None,
        "soft_label": {_code(code): counts[code] / len(values) if values else None for code in codes},
        "split": SPLITS.get(split, split) if isinstance(split, str) else "",
        "other_info": {
            **{
                name: value
                for name, value in item.items()
                if name not in placed and value is not None and not name.startswith("soft_label")
            },
            **({"other annotations": other} if other else {}),
            **(_groups([groups.get(rater) for rater in annotators]) if groups else {}),
            **({"not answered": declined} if declined else {}),
        },
    }


def _groups(of_annotators: list[str | None]) -> dict[str, str]:
    """The annotators' groups as HS-Brexit writes them: numbered, with their names beside."""
    names = list(dict.fromkeys(group or "unknown" for group in of_annotators))
    numbered = [f"group{names.index(group or 'unknown') + 1}" for group in of_annotators]
    return {"annotators group": ",".join(numbered), **{f"group{n}": f"{name} group" for n, name in enumerate(names, 1)}}


def _released(item: dict[str, Any], scale: Scale) -> dict[str, Any]:
    """The labels that were released with an item, in its columns `hard_label` and `soft_label_CODE`."""
    labels: dict[str, Any] = {}
    if item.get("hard_label") is not None:
        labels["hard_label"] = str(item["hard_label"])
    soft = {_code(code): item.get(f"soft_label_{_code(code)}") for code in scale.codes}
    if len(unknown := [code for code, share in soft.items() if share is None]) <= 1:
        rest = 1 - sum(share for share in soft.values() if share is not None)
        labels["soft_label"] = soft | {code: round(rest, 10) for code in unknown}
    return labels


def _code(value: float | None) -> str:
    return "" if value is None else show_code(value)


def _stem(corpus: Corpus) -> str:
    return STEMS.get(corpus.about.name, _slug(corpus.about.name))


def _slug(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in name).strip(".-_") or "corpus"
