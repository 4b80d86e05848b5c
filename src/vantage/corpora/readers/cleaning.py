"""What is repaired in a table, and noted, and what is doubted: codes for missing, decimal commas, twins, word scales.

Everything is decided on the different values of a column, each with how often and where it occurs, so that a million
rows cost little more than a thousand. A repair that cannot change a number (spaces around one, say) is made and noted;
whatever could change one raises a `Doubt` with the option that settles it.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from unicodedata import normalize

import polars as pl

from vantage.corpora.orders import UNPLACED, known_order
from vantage.corpora.readers.table_file import ROW, FileRows
from vantage.errors import InputError
from vantage.scales import Option, OptOut, Scale, show_code

RAW: Final = "__raw"
"""The column of the different values as they are in the file; `count` and `ROW` say how often and where."""
CLEAN: Final = "__clean"
"""The column of what they were read as."""
MANY: Final = 200
"""More different whole numbers than this make a continuous scale."""
MOST_WORDS: Final = 50
"""More different words than this are no answers to choose from."""
NOTHING: Final = ("na", "n/a", "n.a.", "nan", "#n/a", "<na>", "null", "none", "nil", ".", "-", "--", "?", "missing")
"""How programs and people write that there is nothing."""
SENTINELS: Final = [
    float(sign + digits)
    for sign in ("", "-")
    for digits in ("66", "77", "88", "97", "98", "99", "777", "888", "998", "999", "9999", "99999")
] + [8.0, 9.0, -1.0, -7.0, -8.0, -9.0]
"""Numbers that questionnaires use for "no answer"."""
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_COMMA: Final = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+")
_THOUSANDS: Final = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
_NUMBERED: Final = re.compile(
    r"([+-]?(?:0|[1-9]\d*))(?:\s*[-–—=:.)(]+\s*(?!(?:jan|feb|m[aä]r|apr|ma[iy]|ju[nl]|aug|sep|o[ck]t|nov|de[cz])\w*\.?$)"
    r"([^\s\d+%-].*?)\)?)?",
    re.IGNORECASE,
)
"""A number, or a number with its words: "1 - not at all". Neither a date (2. Jan) nor a band (3-4) is one."""


@dataclass(slots=True)
class Cleaning:
    """What the user has said about a table, and what was noted while it was read."""

    missing: Sequence[str] = ()
    valid: Sequence[str] = ()
    decimal: Literal[".", ","] | None = None
    order: Sequence[str] | None = None
    strip: bool | None = None
    case: Literal["keep", "fold"] | None = None
    empty: str | None = None
    spelling: Literal["keep", "join"] | None = None
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.missing = [plain(word) for word in self.missing]
        self.valid = [plain(word) for word in self.valid]
        if self.decimal not in (None, ".", ","):
            raise InputError(f"'{self.decimal}' is not a decimal mark", remedy="use . or ,")
        if self.case not in (None, "keep", "fold"):
            problem = f"'{self.case}' does not say what to do with upper and lower case"
            raise InputError(problem, remedy="use keep or fold")
        if self.spelling not in (None, "keep", "join"):
            raise InputError(f"'{self.spelling}' does not say what to do with spellings", remedy="use keep or join")

    def values(self, rows: FileRows, column: str, seen: pl.DataFrame, *, labelled: bool) -> pl.Series:
        """The different answers as numbers where all of them are, else as words; what means nothing is null.

        `labelled` says that an instrument knows the words, so that words and numbers may occur side by side.
        """
        values = seen[RAW]
        if isinstance(values.dtype, pl.Enum) and self.order is None and len(values.dtype.categories) > 2:
            self.order = values.dtype.categories.to_list()
            self.notes.append(f"The order of the answers is that of the column's categories: {', '.join(self.order)}.")
        if values.dtype == pl.Boolean or values.dtype.is_numeric():
            numbers = values.cast(pl.Float64)
            if (odd := ~numbers.is_finite()).any():
                index = odd.arg_max() or 0
                raise rows.fault(f"the value is {numbers[index]}", "leave it empty", seen[ROW][index], column)
            return self._without_codes(column, numbers, seen["count"])
        words = values.cast(pl.String)
        numbers = words.cast(pl.Float64, strict=False)
        if numbers.null_count() == words.null_count() and numbers.is_finite().all():
            return self._without_codes(column, numbers, seen["count"])
        return self._words(rows, column, seen.with_columns(words), labelled=labelled)

    def _without_codes(self, column: str, numbers: pl.Series, counts: pl.Series) -> pl.Series:
        """Numbers without the codes that mean missing."""
        codes = _numbers(self.missing)
        gone = numbers.is_in(codes).fill_null(value=False)
        if gone.any():
            self.noted(
                int(counts.filter(gone).sum()), column, codes=[show_code(c) for c in codes if (numbers == c).any()]
            )
        return numbers.set(gone, None).alias(CLEAN)

    def _words(self, rows: FileRows, column: str, answers: pl.DataFrame, *, labelled: bool) -> pl.Series:
        counts = answers.drop_nulls(RAW).group_by(RAW).agg(pl.col("count").sum(), pl.col(ROW).min())
        counts = counts.sort("count", ROW, descending=[True, False])
        seen: dict[str, int] = dict(counts.select(RAW, "count").iter_rows())
        first: dict[str, int] = dict(counts.select(RAW, ROW).iter_rows())
        read: dict[str, str | float | None] = {word: self._read(word) for word in seen}
        numbers = [word for word, value in read.items() if isinstance(value, float)]
        rest = [word for word, value in read.items() if isinstance(value, str)]
        nothing = [] if labelled else self._nothing(rest, decline=not numbers)
        if nothing and (numbers or len(rest) > len(nothing)):
            if self.empty is None or not numbers:
                written = list(dict.fromkeys(word.strip() for word in nothing))
                in_all = _in_all(sum(seen[word] for word in nothing))
                problem = f"'{nothing[0].strip()}' may mean that there is no answer{in_all}"
                valid = shlex.quote(f"--valid={','.join(written)}")
                remedy = f"pass {self.also(written)}, or {valid} if it is an answer"
                # Beside other words, "none" is an answer such as "no hate speech" more often than not.
                settle = {"valid" if {plain(word) for word in written} == {"none"} else "missing": written}
                raise rows.doubt(problem, remedy, first[nothing[0]], column, **settle)
            read |= dict.fromkeys(nothing)
            rest = [word for word in rest if word not in nothing]
            self.noted(sum(seen[word] for word in nothing), column, codes=[w.strip() for w in nothing])
        commas = [word for word in read if _COMMA.fullmatch(plain(word))]
        if commas and self.decimal is None:
            self._check_commas(rows, column, commas, rest, first)
        if numbers and rest and not labelled and not _numbered([*numbers, *rest]):
            odd = list(dict.fromkeys(word.strip() for word in sorted(rest)))
            shown = ", ".join(f"'{word}'" for word in odd[:3]) + (" …" if len(odd) > 3 else "")
            what, cell = ("is not a number", "cell") if len(odd) == 1 else ("are not numbers", "cells")
            # A comma in the option would part codes that are numbers of their own.
            nothing = [word for word in odd if "," not in word]
            other = f", or pass {self.also(nothing[:3])} where there is no answer" if nothing else ""
            problem = f"{shown} {what}, although other cells are{_in_all(sum(seen[w] for w in rest))}"
            raise rows.fault(problem, f"correct the {cell}{other}", first[min(rest)], column)
        given = [word for word, value in read.items() if value is None and plain(word) and word not in nothing]
        if given:
            self.noted(sum(seen[word] for word in given), column, codes=[word.strip() for word in given])
        if repaired := sum(seen[word] for word in numbers if not _NUMBER.fullmatch(word) and word not in commas):
            self.notes.append(f"{counted(repaired, 'number')} of {_place(column)} had spaces or other signs around.")
        if commas and self.decimal == ",":
            self.notes.append(f"Commas in {_place(column)} were read as decimal marks.")
        if rest:
            twins = _merged(rest)
            for word, kept in twins.items():
                if word.strip() != kept:
                    twin = f"'{word.strip()}' ({counted(seen[word], 'cell')}) was read as '{kept}'"
                    self.notes.append(f"In {_place(column)} {twin}: they differ in case or spaces only.")
            read |= twins
            made = [_written(value) if isinstance(value, float) else value for value in read.values()]
        new = pl.Series(made if rest else list(read.values()), dtype=pl.String if rest else pl.Float64)
        words = answers[RAW].replace_strict(pl.Series(list(read), dtype=pl.String), new, return_dtype=new.dtype)
        return words.alias(CLEAN)

    def _nothing(self, words: Sequence[str], *, decline: bool) -> list[str]:
        """Words for "no answer"; those that `decline` to answer too, where the others are the steps of a scale."""
        said = {*(plain(word) for word in self.order or ()), *self.valid}
        nothing = [word for word in words if plain(word) in NOTHING and plain(word) not in said]
        if nothing or self.order or not decline:
            return nothing
        declined = [word for word in words if UNPLACED.fullmatch(word.strip()) and plain(word) not in said]
        return declined if declined and known_order([*{plain(w) for w in words if w not in declined}]) else []

    def _check_commas(
        self, rows: FileRows, column: str, commas: Sequence[str], rest: Sequence[str], first: Mapping[str, int]
    ) -> None:
        """Doubts numbers with commas, which may be decimal marks or group thousands."""
        place, shown = first[commas[0]], f"'{commas[0].strip()}'"
        if all(_THOUSANDS.fullmatch(plain(word)) for word in commas):
            problem = f"{shown} may be a number of thousands or one with a decimal comma"
            raise rows.fault(problem, "pass --decimal . for thousands, or --decimal ,", place, column)
        if all(word in commas or _NUMBERED.fullmatch(plain_id(word)) for word in rest):
            remedy = "pass --decimal , (or --decimal . if it is a word)"
            raise rows.doubt(f"{shown} looks like a number with a decimal comma", remedy, place, column, decimal=",")

    def _read(self, word: str) -> str | float | None:
        """A cell as a number or a word; null for what means nothing."""
        text = plain(word)
        if not text or self.is_missing(word):
            return None
        if self.decimal == "." and _THOUSANDS.fullmatch(text):
            text = text.replace(",", "")
        if self.decimal == "," and (_COMMA.fullmatch(text) or "," not in text):
            text = text.replace(".", "").replace(",", ".") if _COMMA.fullmatch(text) else text
        if not _NUMBER.fullmatch(text):
            return word.strip()
        return float(text)

    def is_missing(self, word: object) -> bool:
        """Whether a cell is one of the codes for "no answer", as a word or as a number."""
        text = plain(word)
        return text in self.missing or (_NUMBER.fullmatch(text) is not None and float(text) in _numbers(self.missing))

    def noted(self, count: int, column: str, codes: Sequence[str]) -> None:
        """Notes how many cells of a column were read as missing."""
        if count:
            listed = ", ".join(dict.fromkeys(codes))
            self.notes.append(f"{counted(count, 'cell')} of {_place(column)} ({listed}) read as missing.")

    def also(self, codes: Sequence[str]) -> str:
        """The option that adds codes for "no answer" to those that were given."""
        return shlex.quote(f"--missing={','.join([*self.missing, *codes])}")

    def check_far(self, rows: FileRows, column: str, numbers: pl.Series, where: Callable[[float], int]) -> None:
        """Doubts numbers that questionnaires use for "no answer", far from the others or alone below a scale from 0."""
        among = numbers.is_in(SENTINELS)
        rest = numbers.filter(~among)
        if not among.any() or rest.n_unique() < 2:
            return
        low, high = float(rest.min()), float(rest.max())  # type: ignore[arg-type]
        gap = max(high - low, 2.0)
        known = _numbers([*self.missing, *self.valid])
        doubtful = numbers.filter(among & ~numbers.is_in(known)).unique().sort()
        # -1, 0 and 1 are a scale; -1 below a longer one from 0 on is a code.
        far = [n for n in doubtful if n < low - gap or n >= high + gap or (n < 0 <= low and high > 1)]
        # 8 and 9 beside 1 to 5 are codes both.
        far = [n for n in doubtful if n in far or (n > high + 1 and n + 1 in far) or (n < low - 1 and n - 1 in far)]
        if far:
            shown = [show_code(number) for number in far]
            others = f"the other values ({show_code(low)} to {show_code(high)})"
            lie = f"{' and '.join(shown)} {'lie' if far[1:] else 'lies'} far from {others}"
            remedy = f"pass {self.also(shown)}, or --valid={','.join(shown)} where that is what was answered"
            problem = f"{lie} and may mean that there is no answer"
            doubt = rows.doubt(problem, remedy, where(far[0]), column, missing=shown)
            # One digit more than the others have may belong to a scale with gaps.
            doubt.otherwise = {"valid": shown} if all(abs(n) < 10 for n in far) else {}
            raise doubt

    def check_ends(
        self, rows: FileRows, column: str, counts: Mapping[float, int], where: Callable[[float], int]
    ) -> None:
        """Doubts a number beside a scale from 1 on: a 0, one beyond a gap, a rare one, or one between its steps."""
        codes, total = sorted(counts), sum(counts.values())
        known, rare = _numbers([*self.missing, *self.valid]), max(1, total // 100) if total >= 20 else 0
        steps = [code for code in codes if code % 1 == 0]
        odd = [code for code in codes if code % 1] if 2 < len(steps) <= 11 else []
        if odd and sum(counts[code] for code in odd) > rare:
            odd = []
        for code, rest in ((codes[0], codes[1:]), (codes[-1], codes[:-1])) if len(codes) > 4 else ():
            scale = len(rest)
            if rest == [float(n) for n in range(1, scale + 1)] and scale in (5, 7, 9):
                # 1 to 6 and 1 to 10 are scales too.
                apart = code == 0 or code in SENTINELS or (code > scale + 1 and rare > 0)
                odd += [code] if apart or counts[code] <= rare else []
        if odd := [code for code in odd if code not in known]:
            rest = [code for code in codes if code not in odd]
            seen = f"{show_code(odd[0])} occurs {counted(counts[odd[0]], 'time')}"
            problem = f"{seen} beside {show_code(rest[0])} to {show_code(rest[-1])}, and may be an error or no answer"
            shown = [show_code(code) for code in odd]
            remedy = f"pass {self.also(shown)}, or --valid={','.join(shown)} where that is what was answered"
            doubt = rows.doubt(problem, remedy, where(odd[0]), column, missing=shown)
            doubt.otherwise = {"valid": shown}
            raise doubt

    def trait(self, rows: FileRows, column: str, seen: pl.DataFrame) -> dict[Any, Any]:
        """What to replace among the values of a trait: codes for missing, and spellings joined as the user has said."""
        values = seen[RAW].drop_nulls()
        gone = [value for value in values if self.is_missing(value)] if self.missing else []
        changed: dict[Any, Any] = dict.fromkeys(gone)
        if gone:
            count = int(seen.filter(pl.col(RAW).is_in(gone))["count"].sum())
            self.noted(count, column, [str(value) for value in gone])
            values = values.filter(~values.is_in(gone))
        words = values.cast(pl.String)
        first = dict(zip(seen[RAW].cast(pl.String), seen[ROW], strict=True))
        numbers = words.cast(pl.Float64, strict=False)
        odd = words.filter(numbers.is_null() | numbers.is_nan())
        doubtful = [word for word in odd if plain(word) in NOTHING and plain(word) not in self.valid]
        if 0 < len(doubtful) == len(odd) < len(words):
            problem = f"'{odd[0]}' may mean 'not known'"
            remedy = f"pass {self.also(doubtful)}, or --valid={','.join(doubtful)}"
            raise rows.doubt(problem, remedy, first[odd[0]], column, missing=doubtful)
        commas = [word for word in odd if _COMMA.fullmatch(plain(word)) or _THOUSANDS.fullmatch(plain(word))]
        if commas and len(commas) == len(odd) and self.decimal is None:
            self._check_commas(rows, column, commas, (), first)
        if commas and len(commas) == len(odd):
            changed |= {word: value for word in commas if isinstance(value := self._read(word), float)}
            words = words.filter(~words.is_in(commas))
        if not len(odd):
            where = dict(zip(numbers, words, strict=True))
            self.check_far(rows, column, numbers, lambda number: first[where[number]])
        if seen.schema[RAW] == pl.String:
            changed |= self.ids(rows, column, column, words, first.__getitem__)
        return changed

    def ids(
        self, rows: FileRows, column: str, name: str, ids: pl.Series, where: Callable[[str], int]
    ) -> dict[str, str]:
        """New spellings for ids (or values of a trait) that differ by spaces or case only, as the user has decided."""
        changed: dict[str, str] = {}
        if name in ("rater", "item") and self.spelling != "keep" and len(ids) > 1:
            changed = self._respelt(rows, column, name, ids, where)
            ids = ids.filter(~ids.is_in(list(changed))) if changed else ids
        spaced = ids.filter(ids.str.contains("[^!-~]")) if self.strip is not False else ids.clear()
        if stripped := {old: new for old in spaced if (new := plain_id(old)) != old}:
            fold = str if self.case == "keep" else str.casefold
            tidy = [one for one in ids if one not in stripped]
            others = {fold(stripped.get(one, one)): one for one in (*reversed(list(stripped)), *tidy)}
            twin = next((old for old, new in stripped.items() if others[fold(new)] != old), None)
            if twin is not None and self.strip is None:
                other = others[fold(stripped[twin])]
                joined = {"".join(one.split()).casefold() for one in (twin, other)}
                by = "spaces" if len(joined) == 1 else "invisible characters"
                by += "" if plain_id(other) == stripped[twin] else " and case"
                problem = f"{name} '{twin}' differs from '{other}' by {by} only"
                remedy = "pass --strip if they are the same, or --keep-spaces"
                raise rows.doubt(problem, remedy, where(twin), column, strip=True)
            if self.strip:
                changed = {old: new for old, new in stripped.items() if new}
                self.notes.append(f"Spaces around {_ids(len(changed), name)} removed.")
        folded = ids.replace(changed).unique(maintain_order=True) if changed else ids
        if self.case != "keep" and len(folded) > 1:
            lower = folded.str.to_lowercase()
            if lower.n_unique() < len(lower):
                first: dict[str, str] = {}
                twins = {
                    i: kept for i, low in zip(folded, lower, strict=True) if (kept := first.setdefault(low, i)) != i
                }
                twin = next(iter(twins))
                if self.case is None:
                    problem = f"{name} '{twin}' differs from '{twins[twin]}' by upper and lower case only"
                    remedy = "pass --case fold if they are the same, or --case keep"
                    raise rows.doubt(problem, remedy, where(twin), column, case="fold")
                changed |= twins | {old: twins[new] for old, new in changed.items() if new in twins}
                self.notes.append(f"{_ids(len(twins), name)} joined that differed in case only.")
        return changed

    def _respelt(
        self, rows: FileRows, column: str, name: str, ids: pl.Series, where: Callable[[str], int]
    ) -> dict[str, str]:
        """Joins ids that are spelt in two ways: r01 and r1, 1 and 1.0, Müller and Mueller, O’Neil and O'Neil."""
        if not ids.str.contains(r"[^ -~]|[A-Z]|(^|\D)0\d|^\d+\.0$").any():
            return {}
        folded = ids.str.to_lowercase().str.replace_many(
            ["ä", "ö", "ü", "ß", "’", "‘"], ["ae", "oe", "ue", "ss", "'", "'"]
        )
        folded = folded.str.normalize("NFKD").str.replace_all(r"\p{M}", "")
        folded = folded.str.replace_all(r"(^|\D)0+(\d)", "${1}${2}").str.replace(r"^(\d+)\.0$", "${1}")
        if folded.n_unique() == len(folded):
            return {}
        lower = ids.str.strip_chars().str.to_lowercase().str.normalize("NFC")
        first: dict[str, int] = {}
        twins: dict[str, str] = {}
        for place, key in enumerate(folded):
            other = first.setdefault(key, place)
            if other != place and lower[other] != lower[place]:
                twins[ids[place]] = ids[other]
        if twins and self.spelling is None:
            twin, other_id = next(iter(twins.items()))
            problem = f"{name} '{twin}' and {name} '{other_id}' may be the same, spelt in two ways"
            raise rows.fault(problem, "pass --spelling join if they are, or --spelling keep", where(twin), column)
        if twins:
            self.notes.append(f"{_ids(len(twins), name)} joined that were spelt in two ways.")
        return twins


def inferred_scale(
    cleaning: Cleaning,
    question: str,
    values: pl.Series,
    labels: Mapping[float, str],
    opt_outs: tuple[OptOut, ...],
    fail: Callable[[str, str], InputError],
) -> Scale:
    """A bare scale for the different answers to a question, numbers or words; what was decided is noted.

    `labels` are words for codes, where the file has them; `fail` makes the error for a value that cannot be used.
    """
    if values.dtype == pl.String and len(values):
        return _word_scale(cleaning, question, values.to_list(), opt_outs, fail)
    codes = sorted(set(values.cast(pl.Float64)) | set(labels)) or [0.0, 1.0]
    if bad := next((code for code in codes if code - code != 0), None):
        raise fail(f"{bad:g}", "is not a finite number")
    low, high = codes[0], codes[-1]
    if any(code % 1 for code in codes) or high - low > MANY:
        return Scale(level="interval", opt_outs=opt_outs, range=(low, high if high > low else low + 1))
    if low == high:
        low, high = min(low, 0.0), max(high, 1.0)
    anchors = {int(code): word for code, word in labels.items()}
    nominal = (low, high) == (0, 1)
    if nominal:
        anchors = {int(code): anchors.get(int(code), f"{code:g}") for code in (low, high)}
    level: Literal["nominal", "ordinal"] = "nominal" if nominal else "ordinal"
    return Scale.points(int(low), int(high), anchors=anchors, level=level, opt_outs=opt_outs)


def _word_scale(
    cleaning: Cleaning,
    question: str,
    words: Sequence[str],
    opt_outs: tuple[OptOut, ...],
    fail: Callable[[str, str], InputError],
) -> Scale:
    words = sorted({word.strip() for word in words})
    if cleaning.order:
        order = [word.strip() for word in cleaning.order]
        if unknown := next((w for w in words if w.casefold() not in {o.casefold() for o in order}), None):
            raise fail(unknown, f"is not in the order given ({', '.join(order)})")
        return _ordered(order, opt_outs)
    if (codes := _numbered(words)) is not None:
        cleaning.notes.append(f"The answers to '{question}' are numbered; their numbers are the codes.")
        low, high = min(codes), max(codes)
        return Scale.points(low, high if high > low else low + 1, anchors=codes, opt_outs=opt_outs)
    if joined := next((word for word in _lists(words) if plain(word) not in cleaning.valid), None):
        raise fail(joined, "names several of the answers: pass --lists with the column, or --valid if it is an answer")
    if len(words) > MOST_WORDS:
        raise fail(words[0], f"is one of {len(words):,} different texts, too many to be answers")
    if made := known_order(words):
        cleaning.notes.append(f"The answers to '{question}' were taken as ordered: {' < '.join(made)}.")
        return _ordered(made, opt_outs)
    if len(words) > 2:
        cleaning.notes.append(
            f"The answers to '{question}' were taken as words without an order ({', '.join(words[:8])}"
            f"{' …' if len(words) > 8 else ''}); if they have one, import again with --order."
        )
    words = words if len(words) > 1 else [f"not {words[0]}", words[0]]
    return Scale(tuple(Option(float(code), word) for code, word in enumerate(words)), "nominal", opt_outs)


def as_code(word: str) -> float | None:
    """The number that a cell has or begins with, or null.

    >>> as_code("1 - not at all"), as_code("0,5"), as_code("3-4"), as_code("02. Jan")
    (1.0, 0.5, None, None)
    """
    text = plain(word)
    if _NUMBER.fullmatch(text):
        return float(text)
    if _COMMA.fullmatch(text):
        return float(text.replace(".", "").replace(",", "."))
    numbered = _NUMBERED.fullmatch(plain_id(word))
    return float(numbered[1]) if numbered else None


def code_of(scale: Scale, word: str) -> float | None:
    """The code of a written answer: a label, or a number with or without its words ("1 - not at all")."""
    if (code := scale.code(word)) is not None:
        return code
    numbered = _NUMBERED.fullmatch(plain_id(word))
    return float(numbered[1]) if numbered and scale.holds(float(numbered[1])) else None


def _lists(words: Sequence[str]) -> list[str]:
    """Words that are lists of the others, such as joy|anger beside joy and anger.

    >>> _lists(["joy", "joy|anger", "anger", "joy|fear", "fear"]), _lists(["n/a", "yes", "no"])
    (['joy|anger', 'joy|fear'], [])
    """
    for mark in ("|", ";", ",", "/"):
        parted = {word: [part.strip() for part in word.split(mark)] for word in words if mark in word}
        alone = {word for word in words if mark not in word}
        often = Counter(part for parts in parted.values() for part in parts)
        listed = parted and alone and {*often} <= alone | {""}
        # Nobody writes the first two in an answer; parts that recur are labels.
        if listed or (mark in "|;" and parted and max((often + Counter(alone)).values()) > 1):
            return list(parted)
    return []


def _ordered(words: Sequence[str], opt_outs: tuple[OptOut, ...]) -> Scale:
    return Scale(tuple(Option(float(code), word) for code, word in enumerate(words, 1)), "ordinal", opt_outs)


def _numbered(words: Sequence[str]) -> dict[int, str] | None:
    """Codes and labels of answers such as "1 - not at all", "2", "3"; null for others."""
    matches = [match for word in words if (match := _NUMBERED.fullmatch(plain_id(word)))]
    if not matches or len(matches) < len(words) or not any(match[2] for match in matches):
        return None
    codes: dict[int, str] = {}
    for match in matches:
        code, label = int(match[1]), match[2] or ""
        if codes.get(code) and label and codes[code].casefold() != label.casefold():
            return None
        codes[code] = codes.get(code) or label
    named = [label.casefold() for label in codes.values() if label]
    return codes if max(codes) - min(codes) <= MANY and len(set(named)) == len(named) else None


def _merged(words: Sequence[str]) -> dict[str, str]:
    """Maps words that differ only in case or spaces to the most frequent one, which comes first in `words`."""
    first: dict[str, str] = {}
    return {word: first.setdefault(plain_id(word).casefold(), plain_id(word)) for word in words}


def plain(word: object) -> str:
    """A word as it is compared: without spaces around it, in small letters, with an ordinary minus sign."""
    return plain_id(str(word)).casefold().replace("\u2212", "-").replace("\u2013", "-")


def plain_id(text: str) -> str:
    """Text without zero-width characters and superfluous white space, with its accents composed."""
    return normalize("NFC", " ".join(text.replace("\u200b", "").replace("\ufeff", "").split()))


def _written(number: float) -> str:
    return str(int(number)) if number.is_integer() else repr(number)


def _numbers(codes: Sequence[str]) -> list[float]:
    return [float(code) for code in codes if _NUMBER.fullmatch(code)]


def counted(count: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "cell"), counted(1200, "cell")
    ('1 cell', '1,200 cells')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _ids(count: int, name: str) -> str:
    """So many ids, or values of a trait."""
    named = name in ("item", "rater", "question", "condition")
    return counted(count, f"{name} id") if named else f"{counted(count, 'value')} of '{name}'"


def _place(column: str) -> str:
    """A column in a note; the values of a wide table have no column of their own."""
    return "the values" if column.startswith("__") else f"column '{column}'"


def _in_all(count: int) -> str:
    return f" ({count:,} cells)" if count > 1 else ""
