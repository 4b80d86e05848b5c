"""`vantage train`: learn a rater from people's judgments and keep it; `vantage judge`: let it judge texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import vantage
from vantage.cli.corpora import texts_or_corpus
from vantage.cli.options import Values, conditions, number, options_of
from vantage.cli.output import VerbResult, printable
from vantage.cli.progress import moving
from vantage.errors import InputError

UNLIKE: Final = "unlike_training"
"""The column that says whether a text is unlike those that a rater learned from."""
CUT: Final = 60
"""How much of a text the table on the terminal shows; the file has all of it."""
Fitting = Annotated[
    Values,
    options_of(
        "raters/trained/fitting.py",
        "fit",
        only="kind target coarse raters name seed checkpoints",
        flags={"coarse": "--coarse"},
    ),
]


def train(
    folder: Path,
    *,
    options: Fitting,
    question: Sequence[str],
    model: str | None = None,
    on: list[str],
    validation: list[str],
    judge: list[str],
    setting: Mapping[str, str],
    save: Path | None = None,
    overwrite: bool = False,
    to: Path | None = None,
) -> VerbResult:
    """Train a rater on people's judgments, and add its own judgments to the corpus.

    No text may be on both sides of a split. Without --validation, texts are held out in turn.

    Args:
        question (ID,…): Which questions to learn (default: all).
        model: The encoder (minilm, a folder, or a name on the hub such as hf:vinai/bertweet-base), or the language
            model to probe (embedded, hf:NAME); by default minilm and embedded.
        on (COLUMN=VALUE[,VALUE]): Learn from these items, such as split=train.
        validation (COLUMN=VALUE[,VALUE]): Early stopping and model choice use these items, such as split=validation.
        judge (COLUMN=VALUE[,VALUE]): Judge these items, such as split=test (default: all).
        setting (NAME=VALUE): A training setting, such as epochs=3 or loss=huber.
        save: Save the rater in this folder.
        overwrite: Replace a saved rater.
    """
    from vantage.raters.trained.baselines import BASELINES
    from vantage.raters.trained.examples import fields_of, reading, refuse_shared
    from vantage.raters.trained.fitting import usual_kind

    if folder.is_file():
        raise InputError(
            "a file of texts has no judgments to learn from",
            file=folder,
            remedy="use a saved rater with: vantage judge FILE --rater FOLDER, or import the table with its judgments",
        )
    whole = vantage.Corpus.read(folder)
    asked = list(question) or [one.id for one in whole.questions]
    if options.get("kind", "auto") == "auto":
        options["kind"] = usual_kind(whole, asked, named=bool(model))
    kind = options["kind"]
    options |= {name: _value(text) for name, text in setting.items()} | ({"model": model} if model else {})
    for option, given, without in (
        ("--checkpoints", options.get("checkpoints"), ("ridge", "logistic", *BASELINES)),
        ("--validation", validation, ("probe", "vectors", *BASELINES)),
    ):
        if given and kind in without:
            raise InputError(f"{option} has no effect with --kind {kind}", remedy="leave it out")
    learned, part = (whole.filter(**conditions(chosen)) if chosen else whole for chosen in (on, judge))
    held = whole.filter(**conditions(validation)) if validation else None
    if on and judge:
        parts = {"the training part": learned, "the judged part": part, "the validation part": held}
        fields = fields_of(whole.instruments, asked)
        refuse_shared({name: reading(one.items, fields) for name, one in parts.items() if one is not None})
    with moving(f"learning ({kind})") as moved:
        rater = vantage.raters.fit(learned, asked, validation=held, progress=moved, **options)
    if on and judge:
        rater.about["tested"] = _tested(rater, part, options.get("raters", []))
    if save is not None:
        rater.save(save, overwrite=overwrite)
    return _added(rater, whole, part, to or folder, save)


def judge(texts: Path, *, rater: Path, to: Path | None = None, mapping: Mapping[str, str], on: list[str]) -> VerbResult:
    """Let a trained rater judge texts, with a mean and an 80 % range for each answer.

    The range is that of people's answers, or of their mean if the rater learned means.
    FOLDER is a file with one text per row (and the columns the rater needs, such as target), or a corpus.

    Args:
        texts (FOLDER): A corpus folder, or a file with one text per row.
        rater: The folder of a rater saved with `vantage train --save`.
        to (FILE.csv|FOLDER): Where to write: a CSV file with a row per text, or a corpus folder with the judgments.
            By default, a file of texts gives NAME-judged.csv, and a corpus folder is changed.
        on (COLUMN=VALUE[,VALUE]): Judge only these items, such as split=test.
    """
    import polars as pl

    from vantage.corpora.readers import load
    from vantage.corpora.writers.cells import csv_text
    from vantage.report.cells import shortened

    trained = vantage.raters.TrainedRater.load(rater)
    as_table = to.suffix == ".csv" if to is not None else texts.is_file()
    if texts.is_file():
        folder, whole = to or Path(), load("texts", texts, map=_every_column(texts, trained, mapping))
    else:
        folder, whole = texts_or_corpus(texts, None, None, mapping, write=False)
    part = whole.filter(**conditions(on)) if on else whole
    if not as_table:
        return _added(trained, whole, part, to or folder)
    table = trained.table(part).with_columns(pl.Series(UNLIKE, trained.unlike(part)))
    place = to or texts.with_name(f"{texts.name.split('.')[0]}-judged.csv")
    place.write_text(csv_text(table), "utf-8", newline="")
    return VerbResult(
        {"rater": trained.id, "texts": len(table), "file": str(place)},
        table.head(5).with_columns(pl.col(pl.String).map_elements(partial(shortened, most=CUT), pl.String)).to_dicts(),
        *([f"… and {len(table) - 5:,} more"] if len(table) > 5 else ()),
        *_quality(trained, _seen(trained, part)),
        f"Wrote {place}",
    )


def _every_column(file: Path, rater: vantage.raters.TrainedRater, given: Mapping[str, str]) -> dict[str, str]:
    """Every column of a file of texts under its own name, those mapped under theirs."""
    from vantage.corpora.readers.files import read_table

    columns = [column for column in read_table(file).frame.columns if column not in given.values()]
    questions = [question.id for question in rater.questions]
    for column in columns:
        if column.removesuffix("_mean").removesuffix("_low").removesuffix("_high") in [*questions, UNLIKE]:
            raise InputError(
                f"the file has a column '{column}' already", file=file, column=column, remedy="rename it in the file"
            )
    return dict(given) | {column: column for column in columns if column not in given}


def _seen(rater: vantage.raters.TrainedRater, part: vantage.Corpus) -> list[str]:
    """Says how many of the items a rater learned from, and how many are unlike those."""
    notes = []
    if seen := rater.seen(part):
        notes.append(
            f"{seen:,} of the {len(part.items):,} judged items have texts that the rater learned from, where it "
            "does better than on new ones; for a fair test, train on some items (--on) and judge others (--judge)."
        )
    if strange := sum(rater.unlike(part)):
        notes.append(
            f"{strange:,} of the {len(part.items):,} texts have unusually many new words, as in another language or on "
            "another subject: answers and ranges may be wrong for them."
        )
    return notes


def _tested(rater: vantage.raters.TrainedRater, part: vantage.Corpus, raters: list[str]) -> dict[str, Any]:
    """How the rater does on judged items that it did not learn from, by question."""
    import polars as pl

    from vantage.raters.trained.examples import answers_of

    table, answers = rater.table(part), answers_of(part, raters)
    tested = {}
    for question in rater.questions:
        given = answers.filter(question=question.id)
        if given.is_empty() or f"{question.id}_mean" not in table.columns:
            continue
        means = given.group_by("item").agg(pl.col("value").mean(), question=pl.lit(question.id))
        said = table.select("item", pl.col(f"{question.id}_mean").alias("value"), question=pl.lit(question.id))
        ranks = vantage.measures.accuracy(
            said.with_columns(rater=pl.lit(rater.id)), reference=means, metric=["spearman"]
        )
        ends = (given if rater.predicts_people else means).join(table, on="item")
        tested[question.id] = {
            "items": len(means),
            "inside": ends["value"].is_between(ends[f"{question.id}_low"], ends[f"{question.id}_high"]).mean(),
            "spearman": ranks.select("estimate", "low", "high").row(0, named=True),
            "whose": f"the answers of {', '.join(raters)}" if raters else "people's means",
        }
    return tested


def _quality(rater: vantage.raters.TrainedRater, notes: list[str]) -> list[str]:
    """How well the rater did on unseen texts, and what else users should know."""
    measured = "rank correlation, or macro F1 of a nominal scale"
    held = rater.about.get("validation", {}).get("held_out", {}).items()
    said = [f"held-out texts, {printable(question)}: {score:.3f} ({measured})" for question, score in held]
    for question, row in rater.about.get("tested", {}).items():
        estimate, low, high = (row["spearman"][name] for name in ("estimate", "low", "high"))
        ranks = "no rank correlation" if estimate is None else f"Spearman {estimate:.2f}"
        ranks += "" if low is None else f" [{low:.2f}, {high:.2f}]"
        what = "single answers" if rater.predicts_people else "these"
        inside = f"{row['inside']:.0%} of {what} lie in the range"
        whose = printable(row["whose"])
        said.append(f"{row['items']:,} unseen items, {printable(question)}: {ranks} with {whose}; {inside}")
    return [*said, *(f"• {printable(note)}" for note in [*rater.notes, *notes])]


def _value(text: str) -> Any:
    """A setting as it was typed; numbers, yes and no, and pairs such as 1-3 are read as such.

    >>> [_value(word) for word in ("3", "1e-4", "yes", "1-3", "none", "huber")]
    [3, 0.0001, True, (1, 3), None, 'huber']
    """
    plain = {"yes": True, "true": True, "no": False, "false": False, "none": None}
    if text.lower() in plain:
        return plain[text.lower()]
    low, dash, high = text.partition("-")
    if dash and low.isdigit() and high.isdigit():
        return int(low), int(high)
    return number(text)


def _added(
    rater: vantage.raters.TrainedRater, whole: vantage.Corpus, part: vantage.Corpus, to: Path, save: Path | None = None
) -> VerbResult:
    """Writes the corpus with the rater's judgments; what it learned, how well it did, and how much there is now."""
    kept = rater.without_namesake(whole)
    judged, notes, about = rater.rate(kept, part), _seen(rater, part), rater.about
    judged.write(to)
    if replaced := whole.judgments.height - kept.judgments.height:
        notes.append(f"Replaced {replaced:,} judgments of an earlier rater with this name.")
    row: dict[str, Any] = {
        "rater": rater.id,
        "learned": about.get("style", ""),
        **{name: about.get(name) for name in ("items", "raters", "judgments")},
        "added": judged.judgments.height - kept.judgments.height,
    }
    stated = {name: value for name, value in about.items() if name not in ("texts", "words")}
    return VerbResult(
        {**row, "about": stated, "notes": [*rater.notes, *notes]},
        [row],
        *_quality(rater, notes),
        *([f"\nSaved the rater in {save}"] if save is not None else ()),
        f"Wrote {to}",
    )
