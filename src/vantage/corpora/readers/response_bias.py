"""BiasMonkey (Tjuatja et al. 2024): language models' answers to survey questions in two forms each.

One folder per model holds 50 answers per question and form, as letters; `prompts/` holds the questions as put.
Letters are those of the first form, so that they mean the same option in both. A survey question is an item; its
number of options decides the question of the instrument, and the set that it belongs to is the condition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from vantage.corpora.corpus import Corpus
from vantage.corpora.readers.files import find, read_csv
from vantage.corpora.readers.release import codes, ids, release
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.scales import Option, Scale

LETTERS: Final = "abcde"


@dataclass(frozen=True, slots=True)
class _Set:
    """A set of questions: its two forms with their presentations, and whether only agreement counts."""

    name: str
    forms: dict[str, str]
    question: str

    def coded(self) -> dict[str, float]:
        """The code of each letter."""
        if self.question == "agreement":
            return {letter: float(letter == "a") for letter in LETTERS}
        return {letter: float(n) for n, letter in enumerate(LETTERS, 1)}


SETS: Final = (
    _Set("response_order", {"orig alpha": "order=up", "reversed alpha": "order=down"}, "choice"),
    _Set("acquiescence", {"orig alpha": "direction=choice", "pos alpha": "direction=plain"}, "agreement"),
    _Set("odd_even", {"middle alpha": "middle=shown", "no middle alpha": "middle=hidden"}, "degree"),
)


def read(path: Path) -> Corpus:
    """Reads the three sets of all models in the folder."""
    if path.is_file():
        raise InputError("this is a file", file=path, remedy="name the folder with prompts/ and a folder per model")
    find(path, f"prompts/{SETS[0].name}.csv")
    models = sorted(folder.name for folder in path.iterdir() if (folder / f"{SETS[0].name}.csv").is_file())
    models.remove("prompts")
    if not models:
        remedy = f"each holds {SETS[0].name}.csv with its answers"
        raise InputError("there is no folder of a model", file=path, remedy=remedy)
    items = pl.concat([_items(path, one) for one in SETS])
    judgments = pl.concat([_answers(path, one, model, items) for one in SETS for model in models])
    sizes = sorted(set(items.filter(set="response_order")["options"]))
    questions = {
        **{f"choice-{size}": Scale(_options(size), "nominal") for size in sizes},
        "agreement": Scale((Option(0.0, "another option"), Option(1.0, "option A, or yes")), "ordinal"),
        "degree": Scale(_options(5), "ordinal"),
    }
    asked = Instrument.of_questions("response-bias", "Survey questions in two forms", questions)
    raters = pl.DataFrame({"rater": models, "kind": "model", "model": models})
    return release("response-bias", items, raters, judgments, asked, _notes(judgments))


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


def _answers(path: Path, one: _Set, model: str, items: pl.DataFrame) -> pl.DataFrame:
    """What a model answered in a set."""
    table = read_csv(find(path / model, f"{one.name}.csv"))
    table.require("key", "response", "group")
    forms = table.column("group")
    table.refuse(~forms.is_in(list(one.forms)), "group", f"'{{}}' is not one of {', '.join(one.forms)}")
    frame = pl.DataFrame(
        {"item": f"{one.name}:" + ids(table, "key"), "value": codes(table, "response", one.coded()), "form": forms}
    )
    frame = frame.join(items.select("item", "options"), on="item", how="left", maintain_order="left")
    missing = frame["options"].is_null()
    table.refuse(missing, "key", "the question is not in the prompts", "download both again")
    question = pl.format("choice-{}", "options") if one.question == "choice" else pl.lit(one.question)
    presented = {form: " ".join(sorted(["labels=letters", shown])) for form, shown in one.forms.items()}
    return frame.select(
        "item",
        question.alias("question"),
        pl.lit(model).alias("rater"),
        pl.lit(one.name).alias("condition"),
        pl.int_range(pl.len()).over("item").cast(pl.Int32).alias("sample"),
        "value",
        pl.col("form").replace_strict(presented, return_dtype=pl.String).alias("presentation"),
        table.column("response").alias("response"),
    )


def _notes(judgments: pl.DataFrame) -> Iterator[str]:
    hidden = judgments.filter(pl.col("presentation").str.contains("middle=hidden") & (pl.col("value") == 3))
    for model, count in hidden.group_by("rater").len().sort("rater").iter_rows():
        yield (
            f"{count:,} answers of {model} without a middle option are the letter c in the release, the middle option "
            "of the other form; they are kept as released."
        )
