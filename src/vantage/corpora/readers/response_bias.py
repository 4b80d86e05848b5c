"""BiasMonkey (Tjuatja et al. 2024): language models' answers to survey questions in two forms each.

One folder per model holds 50 answers per question and form, as letters; `prompts/` holds the questions as put.
Letters are those of the first form, so that they mean the same option in both; to forbid and not to allow are one code.
A survey question is an item; its set, and in one of them its number of options, decide the question of the instrument,
and the set is the condition. Answers that were released empty have the status `unparsed`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from vantage.corpora.corpus import Corpus
from vantage.corpora.readers.files import find, read_csv
from vantage.corpora.readers.release import ids, release
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.scales import Option, OptOut, Scale

LETTERS: Final = "abcdef"
DONT_KNOW: Final = OptOut("dont_know", "Don't know")
"""Option F of the forms that offer it."""


@dataclass(frozen=True, slots=True)
class _Set:
    """A set of questions: its forms with their presentations, and how the letters of each form are coded."""

    name: str
    forms: dict[str, str]
    question: str

    def coded(self, form: str) -> dict[str, float]:
        """The code of each letter of a form."""
        if self.question == "agreement":
            return {letter: float(letter == "a") for letter in LETTERS[:5]}
        if self.question == "allowing":
            return {"a": float(form != "forbid alpha"), "b": float(form == "forbid alpha")}
        return {letter: float(n) for n, letter in enumerate(LETTERS[:5], 1)}

    def declines(self, form: str, letter: pl.Expr) -> pl.Expr:
        """Whether a letter of a form is the option that declines."""
        return (letter == "f") & pl.lit(form == "float alpha")


SETS: Final = (
    _Set("response_order", {"orig alpha": "order=up", "reversed alpha": "order=down"}, "choice"),
    _Set("acquiescence", {"orig alpha": "direction=choice", "pos alpha": "direction=plain"}, "agreement"),
    _Set("odd_even", {"middle alpha": "middle=shown", "no middle alpha": "middle=hidden"}, "degree"),
    _Set("opinion_float", {"orig alpha": "optout=hidden", "float alpha": "optout=offered"}, "opinion"),
    _Set("allow_forbid", {"orig alpha": "direction=plain", "forbid alpha": "direction=reversed"}, "allowing"),
)


def read(path: Path) -> Corpus:
    """Reads the sets of all models in the folder, as released (`results/MODEL/csv/`) or as `MODEL/`."""
    if path.is_file():
        raise InputError("this is a file", file=path, remedy="name the folder with prompts/ and a folder per model")
    sets = [one for one in SETS if (path / "prompts" / f"{one.name}.csv").is_file()]
    if not sets:
        find(path, f"prompts/{SETS[0].name}.csv")
    folders = _models(path, sets)
    items = pl.concat([_items(path, one) for one in sets])
    answered = {(model, one.name) for model, folder in folders.items() for one in sets
                if (folder / f"{one.name}.csv").is_file()}  # fmt: skip
    judgments = pl.concat(
        [
            _answers(folders[model], one, model, items)
            for one in sets
            for model in folders
            if (model, one.name) in answered
        ]
    )
    used = {one.question for one in sets}
    sizes = sorted(set(items.filter(set="response_order")["options"]))
    scales = {
        **{f"choice-{size}": Scale(_options(size), "nominal") for size in sizes},
        "agreement": Scale((Option(0.0, "another option"), Option(1.0, "option A, or yes")), "ordinal"),
        "degree": Scale(_options(5), "ordinal"),
        "opinion": Scale(_options(5), "ordinal", (DONT_KNOW,)),
        "allowing": Scale((Option(0.0, "forbid"), Option(1.0, "allow")), "ordinal"),
    }
    questions = {name: scale for name, scale in scales.items() if name.partition("-")[0] in used}
    asked = Instrument.of_questions("response-bias", "Survey questions in two forms", questions)
    raters = pl.DataFrame({"rater": list(folders), "kind": "model", "model": list(folders)})
    missing = [f"{model} has no answers to {one.name}." for model in folders for one in sets
               if (model, one.name) not in answered]  # fmt: skip
    return release("response-bias", items, raters, judgments, asked, [*_notes(judgments), *missing])


def _models(path: Path, sets: Sequence[_Set]) -> dict[str, Path]:
    """The folders with answers, by model; the release keeps them one level further down."""
    released = path / "results"
    places = {folder.name: folder / "csv" for folder in released.iterdir()} if released.is_dir() else {}
    places |= {folder.name: folder for folder in path.iterdir() if folder.name not in ("prompts", "results")}
    models = {
        name: folder
        for name, folder in sorted(places.items())
        if any((folder / f"{one.name}.csv").is_file() for one in sets)
    }
    if not models:
        remedy = f"each holds {sets[0].name}.csv with its answers"
        raise InputError("there is no folder of a model", file=path, remedy=remedy)
    return models


def _options(number: int) -> tuple[Option, ...]:
    return tuple(Option(float(n), f"option {letter.upper()}") for n, letter in enumerate(LETTERS[:number], 1))


def _items(path: Path, one: _Set) -> pl.DataFrame:
    """The questions of a set, with the wording of their first form."""
    table = read_csv(find(path, f"prompts/{one.name}.csv"))
    first, second = one.forms
    table.require("key", "num options", first, second)
    key = ids(table, "key")
    return pl.DataFrame(
        {
            "item": f"{one.name}:" + key,
            "text": table.column(first),
            "second_form": table.column(second),
            "key": key,
            "set": [one.name] * len(key),
            "options": table.numbers("num options").cast(pl.Int64),
        }
    )


def _answers(folder: Path, one: _Set, model: str, items: pl.DataFrame) -> pl.DataFrame:
    """What a model answered in a set. An empty answer is one that could not be read as a letter."""
    table = read_csv(find(folder, f"{one.name}.csv"))
    table.require("key", "response", "group")
    forms = table.column("group")
    table.refuse(
        ~forms.is_in(list(one.forms)).fill_null(False), "group", f"'{{}}' is not one of {', '.join(one.forms)}"
    )
    letters = table.column("response").cast(pl.String).str.strip_chars().str.to_lowercase()
    frame = pl.DataFrame({"item": f"{one.name}:" + ids(table, "key"), "form": forms, "letter": letters})
    frame = frame.join(items.select("item", "options"), on="item", how="left", maintain_order="left")
    missing = frame["options"].is_null()
    table.refuse(missing, "key", "the question is not in the prompts", "download both again")
    empty = pl.col("letter").fill_null("") == ""
    value, declined = pl.lit(None, dtype=pl.Float64), pl.lit(value=False)
    for form in one.forms:
        mine, meanings = pl.col("form") == form, one.coded(form)
        code = pl.col("letter").replace_strict(meanings, default=None, return_dtype=pl.Float64)
        value = pl.when(mine).then(code).otherwise(value)
        declined = pl.when(mine).then(one.declines(form, pl.col("letter"))).otherwise(declined)
    frame = frame.with_columns(value=value, declined=declined.fill_null(value=False), empty=empty)
    place = pl.col("letter").replace_strict({letter: n for n, letter in enumerate(LETTERS, 1)}, default=None)
    known = pl.col("declined") | pl.col("empty") | (pl.col("value").is_not_null() & (place <= pl.col("options")))
    wrong = frame.select(~known.fill_null(value=False)).to_series()
    table.refuse(wrong, "response", "'{}' is none of the letters of this question's options", "download it again")
    question = pl.format("choice-{}", "options") if one.question == "choice" else pl.lit(one.question)
    presented = {form: " ".join(sorted(["labels=letters", shown])) for form, shown in one.forms.items()}
    status = pl.when("declined").then(pl.lit(DONT_KNOW.status)).when("empty").then(pl.lit("unparsed"))
    return frame.select(
        "item",
        question.alias("question"),
        pl.lit(model).alias("rater"),
        pl.lit(one.name).alias("condition"),
        pl.int_range(pl.len()).over("item").cast(pl.Int32).alias("sample"),
        "value",
        status.otherwise(pl.lit("answered")).alias("status"),
        pl.col("form").replace_strict(presented, return_dtype=pl.String).alias("presentation"),
        table.column("response").cast(pl.String).alias("response"),
    )


def _notes(judgments: pl.DataFrame) -> Iterator[str]:
    hidden = judgments.filter(pl.col("presentation").str.contains("middle=hidden") & (pl.col("value") == 3))
    for model, count in hidden.group_by("rater").len().sort("rater").iter_rows():
        yield (
            f"{count:,} answers of {model} without a middle option are the letter c in the release, the middle option "
            "of the other form; they are kept as released."
        )
    empty = judgments.filter(pl.col("status") == "unparsed").group_by("rater", "condition").len()
    for model, condition, count in empty.sort("rater", "condition").iter_rows():
        yield f"{count:,} answers of {model} to {condition} are empty in the release; their status is unparsed."
