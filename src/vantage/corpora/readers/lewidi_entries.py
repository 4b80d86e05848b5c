"""Single items of LeWiDi files: what stands in them, and one sentence for whatever does not."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.corpora.readers.files import find, read_json
from vantage.errors import InputError
from vantage.scales import Scale, show_code

SPLITS: Final = ("train", "dev", "test")
MISSING: Final = frozenset({"", "nan", "DATA_EXPIRED", "CONSENT_REVOKED", "Prefer not to say"})
"""What stands in the metadata where nothing is known of an annotator."""

Judgment = tuple[str, str, str, float]
"""Item, question, rater and value."""


@dataclass(frozen=True, slots=True)
class LewidiEntry:
    """One item of a file; it can say what is wrong with it, and where."""

    path: Path
    key: str
    data: Mapping[str, Any]
    what: str = "item"

    def fault(self, problem: str, *names: str) -> InputError:
        """What to raise for a problem with the item, or with the part of it that the names lead to."""
        inside = f", {' › '.join(names)}" if names else ""
        return InputError(
            problem,
            file=f"{self.path}, {self.what} '{self.key}'{inside}",
            remedy="compare the file with the released one",
        )

    def value(self, *names: str) -> Any:
        """What stands under one name, or under a name inside the part of another name."""
        value: Any = self.data
        for depth, name in enumerate(names, 1):
            if not isinstance(value, Mapping) or name not in value:
                raise self.fault("this is missing", *names[:depth])
            value = value[name]
        return value

    def text(self, *names: str) -> str:
        """A value that has to be text."""
        value = self.value(*names)
        if not isinstance(value, str):
            raise self.fault(f"'{value}' is not text", *names)
        return value

    def number(self, *names: str) -> float:
        """A value that has to be a finite number, or the text of one."""
        value = self.value(*names)
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number):
            raise self.fault(f"'{value}' is not a number", *names)
        return number

    def whole(self, *names: str) -> int:
        """A value that has to be a whole number."""
        number = self.number(*names)
        if not number.is_integer() or abs(number) > 1e9:
            raise self.fault(f"'{self.value(*names)}' is not a small whole number", *names)
        return int(number)

    def soft_label(self, *spellings: str) -> float:
        """The released share of a label, under the first spelling of it that the file knows."""
        known = self.value("soft_label")
        spelling = next((s for s in spellings if isinstance(known, Mapping) and s in known), spellings[0])
        return self.number("soft_label", spelling)

    def item_2023(self) -> dict[str, Any]:
        """The columns that all data sets of 2023 share."""
        split = self.text("split")
        return {
            "item": f"{split}-{self.key}",
            "text": None,
            "split": split,
            "language": self.text("lang"),
            "hard_label": self.whole("hard_label"),
            "soft_label_1": self.soft_label("1"),
        }

    def raters(self) -> list[str]:
        """The annotators of an item of 2023, in the order of their annotations."""
        raters = self.text("annotators").split(",")
        if not all(raters):
            raise self.fault("an annotator has no name", "annotators")
        return raters

    def listed(self, *names: str) -> list[str]:
        """A comma-separated list with one entry for each annotator."""
        values = self.text(*names).split(",")
        if len(values) != len(self.raters()):
            raise self.fault(f"there are {len(values)} values for {len(self.raters())} annotators", *names)
        return values

    def turns(self) -> list[dict[str, str]]:
        """The turns of a ConvAbuse conversation, whose text is itself a JSON object."""
        try:
            spoken = json.loads(self.text("text"))
        except (json.JSONDecodeError, RecursionError):
            raise self.fault("the conversation is not JSON", "text") from None
        inner = LewidiEntry(self.path, self.key, {"text": spoken})
        return [
            {"speaker": speaker, "text": inner.text("text", turn)}
            for turn, speaker in (
                ("prev_agent", "Bot"),
                ("prev_user", "User"),
                ("agent", "Bot"),
                ("user", "User"),
            )
        ]

    def judgments(
        self,
        item: str,
        scales: Mapping[str, Scale],
        answers: Mapping[str, Sequence[str]],
        spellings: Mapping[str, str] | None = None,
    ) -> Iterator[Judgment]:
        """Every annotator's answers; duplicate answers of an annotator are counted once."""
        spellings = spellings or {}
        raters = self.raters()
        for question, given in answers.items():
            known: dict[str, float] = {}
            for rater, answer in zip(raters, given, strict=True):
                code = self._code(spellings.get(answer, answer), rater, scales[question])
                if rater not in known:
                    yield item, question, rater, code
                elif known[rater] != code:
                    both = f"{show_code(known[rater])} and {show_code(code)}"
                    raise self.fault(f"annotator '{rater}' has two answers, {both}")
                known[rater] = code

    def judgments_2025(self, scales: Mapping[str, Scale]) -> Iterator[Judgment]:
        """Every annotator's answer to the one question of a data set of 2025."""
        ((question, scale),) = scales.items()
        given = self.value("annotations")
        if not isinstance(given, Mapping):
            raise self.fault("this is not an object from annotator to label", "annotations")
        for rater, answer in given.items():
            yield self.key, question, rater, self._code(answer, rater, scale)

    def _code(self, answer: object, rater: str, scale: Scale) -> float:
        try:
            code = float(answer)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            code = None
        if code is None or not scale.holds(code):
            raise self.fault(f"the label '{answer}' of '{rater}' is not on the scale {scale.describe()}")
        return code


def read_entries(path: Path, stem: str) -> list[LewidiEntry]:
    """The items of one file, or of all splits in a folder."""
    names = [f"{stem}_{split}.json" for split in SPLITS]
    first = find(path, *names)
    files = [first] if path.is_file() else [f for n in names if (f := first.parent / n).is_file()]
    entries: list[LewidiEntry] = []
    seen: dict[tuple[object, str], Path] = {}
    for file in files:
        data = read_json(file)
        if not isinstance(data, Mapping) or not data:
            raise InputError(
                "the file is not an object from item ids to items",
                file=file,
                remedy="download the file again",
            )
        for key, value in data.items():
            entry = LewidiEntry(file, key, value if isinstance(value, Mapping) else {})
            # Ids of 2025 run through all splits; those of 2023 start again, and the split makes them unique.
            name = ("" if stem in ("MP", "CSC") else entry.text("split"), key)
            if name in seen:
                raise entry.fault(f"the item stands in {seen[name].name} as well")
            seen[name] = file
            entries.append(entry)
    return entries


def raters_of(judgments: pl.DataFrame) -> pl.DataFrame:
    """The annotators in the order of their numbers."""
    names = judgments.select(pl.col("rater").unique())
    return names.sort(pl.col("rater").str.len_chars(), "rater")


def with_traits(raters: pl.DataFrame, path: Path, stem: str, columns: Mapping[str, str]) -> pl.DataFrame:
    """The annotators with what the metadata say of them; MP leaves the prefix `Ann` out of its keys."""
    file = find(path.parent if path.is_file() else path, f"{stem}_annotators_meta.json")
    data = read_json(file)
    if not isinstance(data, Mapping):
        raise InputError(
            "the file is not an object from annotators to their traits",
            file=file,
            remedy="download the file again",
        )
    rows = []
    for rater in raters["rater"]:
        profile = data.get(rater, data.get(rater.removeprefix("Ann"), {}))
        traits = LewidiEntry(file, rater, profile if isinstance(profile, Mapping) else {}, "annotator")
        rows.append({name: _trait(traits, column) if profile else None for column, name in columns.items()})
    frame = pl.DataFrame(rows, schema={name: pl.Int64 if name == "age" else pl.String for name in columns.values()})
    return raters.hstack(frame)


def _trait(traits: LewidiEntry, column: str) -> str | int | None:
    value = str(traits.value(column))
    if value in MISSING:
        return None
    return traits.whole(column) if column == "Age" else value
