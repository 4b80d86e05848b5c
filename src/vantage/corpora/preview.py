"""What Vantage would read from a table, with exactly the command that it prints.

`structure` says what the columns are. The preview imports the table into memory with the options of each reading; a
doubt that the reader raises is noted and settled as it suggests, until the table is read or something is in the way
that only the user can change. Where two readings are possible it shows what each would give and chooses none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.corpora.corpus import Corpus
from vantage.corpora.readers.column_facts import ColumnFacts, sample
from vantage.corpora.readers.columns import fitting
from vantage.corpora.readers.command import command
from vantage.corpora.readers.files import open_rows
from vantage.corpora.readers.structure import Structure, structure
from vantage.corpora.readers.table import read
from vantage.corpora.readers.table_file import Doubt, FileRows
from vantage.errors import InputError
from vantage.scales import show_code

SETTLED: Final = 12
"""After so many doubts the preview gives up."""
WHOLE: Final = 100_000
"""Of more rows than this, several readings are tried on some."""
MOST_READINGS: Final = 6
"""Where more are possible the preview names the doubts only."""
OPENING: Final = ("encoding", "separator", "quotes", "sheet")
"""The options that say how a file is opened."""


@dataclass(slots=True)
class Attempt:
    """One reading of a table, carried out: the options it took, what was doubted, and the corpus or the problem."""

    options: dict[str, Any]
    why: str = ""
    doubts: list[dict[str, Any]] | None = None
    corpus: Corpus | None = None
    problem: str | None = None
    others: list[Attempt] = field(default_factory=list)
    """The same with the other way to settle a doubt, where one is as likely."""
    undecided: list[str] = field(default_factory=list)
    """Those doubts."""

    def read(self, rows: FileRows) -> Attempt:
        """Reads the table, settling doubts on the way."""
        self.doubts = self.doubts or []
        while self.corpus is None and self.problem is None:
            try:
                self.corpus = read(rows, **self.options)
            except Doubt as doubt:
                if doubt.otherwise:
                    both = [self.why + ", " * bool(self.why) + _chosen(o) for o in (doubt.settle, doubt.otherwise)]
                    other = Attempt({**self.options}, both[1], [*self.doubts], undecided=[doubt.problem])
                    other.settle(doubt, doubt.otherwise)
                    self.others.append(other)
                    self.why, self.undecided = both[0], [*self.undecided, doubt.problem]
                self.settle(doubt, doubt.settle)
            except InputError as error:
                self.problem = str(error)
        return self

    def settle(self, doubt: Doubt, chosen: Mapping[str, Any]) -> None:
        """Takes options that settle a doubt."""
        self.doubts = [
            *(self.doubts or ()),
            {"doubt": str(doubt), "row": doubt.row, "column": doubt.column, "settle": dict(chosen)},
        ]
        for name, settled in chosen.items():
            known = self.options.get(name)
            new = dict.fromkeys(settled) if isinstance(settled, list) and isinstance(known, Mapping) else settled
            if isinstance(new, Mapping):
                new = {**(known or {}), **new}
            elif isinstance(new, list):
                new = [*(known or []), *new]
            self.options[name] = new
        gone = {*chosen.get("traits", ()), *chosen.get("map", ()), *chosen.get("without", ())}
        if values := self.options.get("values"):
            self.options["values"] = [name for name in values if name not in gone]
        if kinds := self.options.get("kinds"):
            self.options["kinds"] = {rater: kind for rater, kind in kinds.items() if rater not in gone}
        if len(self.doubts) >= SETTLED:
            self.problem = str(doubt)


def preview(source: str | Path | Any, **given: Any) -> dict[str, Any]:
    """What would be read from a file or a frame, as plain data; options of the reader `table` may be given.

    >>> import polars as pl
    >>> table = pl.DataFrame({"id": ["a", "a"], "worker": ["x", "y"], "stars": ["4", "-99"], "age": [31, 52]})
    >>> result = preview(table)
    >>> result["columns"][2]["role"], result["command"].split(" --to")[0]
    ('value', 'vantage corpora import table --from FILE --map item=id,rater=worker,value=stars --traits age')
    """
    return attempts(source, **given)[0]


def attempts(source: str | Path | Any, **given: Any) -> tuple[dict[str, Any], list[Attempt]]:
    """What would be read, and the readings as they were carried out."""
    path = Path(source) if isinstance(source, str | Path) else None
    first = Attempt({name: value for name, value in given.items() if value not in (None, (), [], False)})
    rows: FileRows | None = None
    shape: Structure | None = None
    while rows is None and first.problem is None:
        try:
            rows = open_rows(source, **{k: first.options[k] for k in OPENING if k in first.options})
            shape = structure(rows, first.options)
        except Doubt as doubt:
            first.settle(doubt, doubt.settle)
        except InputError as error:
            first.problem = str(error)
    if rows is None or shape is None:
        return _facts(path, None, None, [first], first.problem), []
    opened = first.doubts or []
    several = len(shape.readings) > 1
    # Each takes as long as an import; of several the user chooses one, which is read whole.
    part = sample(rows) if several and (_rows(rows) or 0) > WHOLE else None
    read_from = replace(rows, lazy=part.lazy(), streamed=False) if part is not None else rows
    tried = [
        Attempt({**r.options, **first.options, **_joined(r.options, first.options)}, r.why if several else "").read(
            read_from
        )
        for r in shape.readings
    ]
    if not tried:
        plain = Attempt(first.options).read(rows)
        if shape.doubt:
            plain = Attempt(first.options, problem=f"{path or 'frame'}: {shape.doubt}.")
        tried = [plain]
    for attempt in tried:  # which grows
        tried += [other.read(read_from) for other in attempt.others if len(tried) <= MOST_READINGS]
    undecided = dict.fromkeys(filter(None, (shape.doubt, *(what for one in tried for what in one.undecided))))
    for attempt in tried:
        attempt.doubts = [*opened, *(attempt.doubts or ())]
    good = [attempt for attempt in tried if attempt.problem is None]
    # That one of two readings fails does not make the other one right.
    why = ""
    if good and len(tried) > MOST_READINGS:
        tried, good = [Attempt(first.options, problem=f"{path or 'frame'}: {'; also, '.join(undecided)}.")], []
    elif good and len(tried) > 1:
        good, why = tried, "; also, ".join(undecided)
    if not good:
        return _facts(path, rows, shape, tried[:1], tried[0].problem), []
    seen = _facts(path, rows, shape, good, None, why)
    return seen if part is None else {**seen, "tried": len(part)}, good


def _chosen(options: Mapping[str, Any]) -> str:
    """What a way to settle a doubt says of raters, codes or columns.

    >>> _chosen({"kinds": {"Bert": "person", "gpt-4": "model"}}), _chosen({"missing": ["8", "9"]})
    ('Bert is a person, gpt-4 is a model', '8, 9: no answer')
    """
    ((option, chosen),) = options.items()
    if option == "kinds":
        return ", ".join(f"{rater} is a{'n' * (kind == 'aggregate')} {kind}" for rater, kind in chosen.items())
    means = {"missing": "no answer", "valid": "an answer", "traits": "no answers", "map": "no answers"}
    return f"{', '.join(chosen)}: {means[option]}" if option in means else "answers in all columns"


def _joined(inferred: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """What was inferred of `map` and `traits` beside what was given of them."""
    joined: dict[str, Any] = {}
    if "map" in inferred and "map" in given:
        joined["map"] = {**inferred["map"], **given["map"]}
    if "traits" in inferred:
        joined["traits"] = inferred["traits"]
    return joined


def _facts(
    path: Path | None,
    rows: FileRows | None,
    shape: Structure | None,
    tried: list[Attempt],
    problem: str | None,
    doubt: str = "",
) -> dict[str, Any]:
    first = tried[0]
    columns = shape.columns if shape is not None else {}
    one = len(tried) == 1
    held = {*fitting(columns, first.options.get("values") or ["*"])} if first.options.get("columns") else set()
    return {
        "file": str(path or "frame"),
        "rows": _rows(rows),
        "tried": None,
        "columns": [_column(fact, first.options, held) for fact in columns.values()],
        **reading_facts(first),
        "doubts": first.doubts or [],
        "notes": list(first.corpus.about.notes) if first.corpus is not None else list(rows.notes) if rows else [],
        "problem": problem,
        "doubt": doubt,
        "readings": [{"why": a.why, **reading_facts(a), "command": command(path, a.options)} for a in tried if not one],
        "command": command(path, first.options) if rows is not None and one else None,
    }


def _rows(rows: FileRows | None) -> int | None:
    if rows is None:
        return None
    (count,) = rows.collect(rows.lazy.select(pl.len()))
    return int(count.item())


def reading_facts(attempt: Attempt) -> dict[str, Any]:
    """What a reading gives: sizes, questions with their answers, and the first judgment."""
    corpus = attempt.corpus
    if corpus is None:
        sizes = dict.fromkeys(("items", "raters", "judgments"))
        return {**sizes, "questions": [], "first": None, "problem": attempt.problem}
    return {
        **corpus.sizes,
        "questions": [_question(corpus, question.id) for question in corpus.questions[:20]],
        "first": _first(corpus),
    }


def _question(corpus: Corpus, id: str) -> dict[str, Any]:  # noqa: A002
    scale = corpus.question(id).scale
    values = corpus.scan().filter(pl.col("question") == id).group_by("value").len().collect(engine="streaming")
    counts: dict[float, int] = dict(values.drop_nulls("value").sort("value").iter_rows())
    total = sum(counts.values())
    names = {option.code: option.name for option in scale.options}
    shares = {names.get(code, show_code(code)): n / total for code, n in counts.items()}
    return {
        "question": id,
        "scale": scale.describe(),
        "answers": [o.name for o in scale.options] if len(scale.options) <= 11 else [],
        "mean": sum(code * n for code, n in counts.items()) / total if total and scale.ordered else None,
        "shares": shares if len(shares) <= 11 else {},
    }


def _first(corpus: Corpus) -> str | None:
    """The first judgment as a sentence, by which a user sees whether the table was understood."""
    row = corpus.scan().filter(pl.col("value").is_not_null()).head(1).collect()
    if row.is_empty():
        return None
    item, question, rater, value = row.select("item", "question", "rater", "value").row(0)
    options = {option.code: option.label for option in corpus.question(question).scale.options}
    label = f" ('{options[value]}')" if options.get(value) and options[value] != show_code(value) else ""
    return f"{rater} said {show_code(value)}{label} about '{item}'"


def _column(fact: ColumnFacts, options: Mapping[str, Any], held: set[str]) -> dict[str, Any]:
    roles = {column: role for role, column in options.get("map", {}).items()}
    roles |= dict.fromkeys(options.get("traits", ()), "trait")
    return {
        "column": fact.name,
        "role": roles.get(fact.name, "value" if fact.name in held else None),
        "different": fact.distinct,
        "empty": fact.rows - fact.filled,
        "examples": list(fact.examples),
    }
