"""Tables drawn at random, each with what it says: a generator that knows nothing of how tables are read.

Names are words of languages that the reader mostly has no words for, syllables or numbers; ids, scales, traits, further
columns, gaps and the order of rows and columns differ from table to table.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl

Cell = tuple[str, str, str, str]
"""Question, item, rater and answer, as words."""

WORDS: Final = {
    "nl": ("zin", "beoordelaar", "oordeel", "geslacht", "leeftijd", "duur", "gewicht", "opmerking"),
    "it": ("enunciato", "valutatore", "giudizio", "genere", "età", "durata", "peso", "osservazione"),
    "pl": ("zdanie", "oceniający", "ocena", "płeć", "wiek", "czas", "waga", "uwaga"),
    "ja": ("文", "評価者", "評価", "性", "年", "所要", "重み", "感想"),
    "en": ("sentence", "rater", "rating", "gender", "age", "duration", "weight", "comment"),
    "de": ("Satz", "Bewerter", "Urteil", "Geschlecht", "Alter", "Dauer", "Gewicht", "Anmerkung"),
    "sv": ("mening", "bedömare", "omdöme", "kön", "ålder", "längd", "vikt", "anmärkning"),
}
SYLLABLES: Final = ("ka", "lo", "mi", "tu", "re", "so", "pi", "na", "ve", "du", "fo", "gri", "sta", "ble")
SCALES: Final[tuple[list[Any], ...]] = (
    [1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3], [0, 1], [-2, -1, 0, 1, 2], list(range(0, 101, 5)),
    ["waar", "onwaar"], ["rood", "groen", "blauw"], ["mai", "a volte", "sempre"], [1, 2, 3],
)  # fmt: skip


@dataclass
class Drawn:
    """A table and what it says, or the options with which it must say it where they cannot be inferred."""

    shape: str
    rows: list[dict[str, Any]]
    truth: Counter[Cell]
    options: dict[str, Any] = field(default_factory=dict)
    """What only the owner of the table knows."""

    @property
    def frame(self) -> pl.DataFrame:
        return pl.DataFrame(self.rows, infer_schema_length=None)


class Draw:
    """One table of a shape, from a seed."""

    def __init__(self, shape: str, seed: int, *, small: bool = False) -> None:
        self.rng = random.Random(f"{shape}/{seed}")  # noqa: S311 - reproducible
        self.shape, self.small = shape, small
        self.style = self.rng.choice(["words", "syllables", "numbers"])
        self.words = self.rng.choice(list(WORDS.values()))
        self.used: set[str] = set()
        self.scale = self.rng.choice(SCALES)
        self.items = [self.id("item", n) for n in range(self.rng.randint(*((3, 10) if small else (8, 40))))]
        self.raters = [self.id("rater", n) for n in range(self.rng.randint(*((2, 6) if small else (3, 14))))]

    def name(self, what: int) -> str:
        """The name of a column; `what` is the place of its meaning in WORDS."""
        while True:
            made = {
                "words": self.words[what],
                "syllables": "".join(self.rng.choices(SYLLABLES, k=2)),
                "numbers": f"v{len(self.used) + 1}",
            }[self.style]
            made = f"{made}{len(self.used)}" if made in self.used else made
            if made not in self.used:
                self.used.add(made)
                return made

    def id(self, what: str, number: int) -> str:
        style = self.__dict__.setdefault(f"{what}_style", self.rng.choice(["letter", "number", "hex", "word"]))
        start = self.__dict__.setdefault(f"{what}_start", self.rng.randint(1, 900))
        if style == "letter":
            return f"{'zk'[what == 'rater']}{number + start:04}"
        if style == "number":
            return str(100 * start + number)
        if style == "hex":
            return f"{random.Random(f'{what}{start}{number}').getrandbits(64):016x}"  # noqa: S311
        return f"{SYLLABLES[number % 14]}{SYLLABLES[number // 14 % 14]}{'xy'[what == 'rater']}"

    def judgments(self, *, complete: float = 1.0) -> dict[tuple[str, str], Any]:
        """Answers of raters about items, alike for an item, some left out."""
        made = {}
        for item in self.items:
            level = self.rng.random()
            for rater in self.raters:
                if self.rng.random() <= complete:
                    place = level if self.rng.random() < 0.6 else self.rng.random()
                    made[item, rater] = self.scale[min(int(place * len(self.scale)), len(self.scale) - 1)]
        return made or self.judgments(complete=complete)

    def traits(self) -> dict[str, dict[str, Any]]:
        """For each rater what is known of them, under the names of columns."""
        columns: dict[str, Callable[[], Any]] = {}
        if self.rng.random() < 0.6:
            columns[self.name(3)] = lambda: self.rng.choice(["x", "d", "h"])
        if self.rng.random() < 0.6:
            columns[self.name(4)] = lambda: self.rng.randint(18, 80)
        if self.rng.random() < 0.3:
            columns[self.name(3)] = lambda: self.rng.choice([1, 2])
        return {rater: {name: draw() for name, draw in columns.items()} for rater in self.raters}

    def beside(self, rows: list[dict[str, Any]]) -> None:
        """Columns that are no answers: durations, weights, times, something constant."""
        for what, draw in (
            (5, lambda: self.rng.randint(30, 2400)),
            (6, lambda: round(self.rng.uniform(0.3, 2.5), 3)),
            (7, lambda: f"2025-0{self.rng.randint(1, 9)}-1{self.rng.randint(0, 9)} 10:{self.rng.randint(10, 59)}"),
        ):
            if self.rng.random() < 0.3:
                name = self.name(what)
                for row in rows:
                    row[name] = draw()

    def shuffled(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Rows in another order, with their columns in another order (the same in each)."""
        order = list(rows[0])
        if self.rng.random() < 0.5:
            first = self.rng.randint(0, len(order))
            order = [*order[first:], *order[:first]]
        self.rng.shuffle(rows)
        return [{name: row.get(name) for name in order} for row in rows]

    def drawn(self) -> Drawn:
        made: Drawn = getattr(self, self.shape)()
        return made

    def long(self) -> Drawn:
        item, rater, value = self.name(0), self.name(1), self.name(2)
        traits, judged = self.traits(), self.judgments(complete=self.rng.choice([1.0, 0.7, 0.4]))
        rows = [{item: i, rater: r, value: v, **traits[r]} for (i, r), v in judged.items()]
        self.beside(rows)
        return Drawn("long", self.shuffled(rows), Counter(("", i, r, str(v)) for (i, r), v in judged.items()))

    def questions(self) -> Drawn:
        item, rater = self.name(0), self.name(1)
        asked, traits = [self.name(2) for _ in range(self.rng.randint(2, 4))], self.traits()
        parts = {question: self.judgments() for question in asked}
        rows = [
            {item: i, rater: r, **{q: parts[q][i, r] for q in asked}, **traits[r]}
            for i in self.items
            for r in self.raters
        ]
        self.beside(rows)
        truth = Counter((q, i, r, str(v)) for q, part in parts.items() for (i, r), v in part.items())
        return Drawn("questions", self.shuffled(rows), truth)

    def by_rater(self) -> Drawn:
        item, judged = self.name(0), self.judgments(complete=self.rng.choice([1.0, 1.0, 0.6]))
        rows = [{item: i, **{r: judged.get((i, r)) for r in self.raters}} for i in self.items]
        if self.rng.random() < 0.3:
            rows = [{**row, self.words[7]: self.rng.choice(["web", "boek", "krant"])} for row in rows]
        self.beside(rows)
        return Drawn("by_rater", self.shuffled(rows), Counter(("", i, r, str(v)) for (i, r), v in judged.items()))

    def by_item(self) -> Drawn:
        self.raters = [self.id("rater", n) for n in range(self.rng.randint(*((5, 14) if self.small else (15, 60))))]
        self.items = self.items[: self.rng.randint(*((2, 6) if self.small else (4, 10)))]
        rater, traits, judged = self.name(1), self.traits(), self.judgments(complete=self.rng.choice([1.0, 0.9]))
        rows = [{rater: r, **traits[r], **{i: judged.get((i, r)) for i in self.items}} for r in self.raters]
        if isinstance(self.scale[0], int) and self.rng.random() < 0.3:
            total = self.name(6)
            rows = [{**row, total: sum(row[i] or 0 for i in self.items)} for row in rows]
        self.beside(rows)
        return Drawn("by_item", self.shuffled(rows), Counter(("", i, r, str(v)) for (i, r), v in judged.items()))

    def counts(self) -> Drawn:
        item, people = self.name(0), self.rng.randint(3, 12)
        start = self.name(2)
        answers = [str(answer) for answer in self.scale[:7]]
        rows, truth = [], Counter[Cell]()
        for i in self.items:
            given = Counter(self.rng.choices(answers, k=people))
            rows.append({item: i, **{f"{start}_{answer}": given.get(answer, 0) for answer in answers}})
            truth.update({("", i, "", answer): n for answer, n in given.items()})
        options = {"counts": [f"{start}_{answer}" for answer in answers], "map": {"item": item}}
        return Drawn("counts", self.shuffled(rows), truth, options)

    def shares(self) -> Drawn:
        item, start = self.name(0), self.name(2)
        answers = [str(answer) for answer in self.scale[:5]]
        rows, truth = [], Counter[Cell]()
        for i in self.items:
            drawn = [self.rng.random() ** 3 for _ in answers]
            parts = [round(one / sum(drawn), 4) for one in drawn]
            parts[-1] = round(1 - sum(parts[:-1]), 4)
            rows.append({item: i, **{f"{start}_{a}": max(p, 0.0) for a, p in zip(answers, parts, strict=True)}})
            truth[("", i, "", "")] += 1
        options = {"shares": [f"{start}_{answer}" for answer in answers], "map": {"item": item}}
        return Drawn("shares", self.shuffled(rows), truth, options)

    def pairs(self) -> Drawn:
        one, other, won, rater = self.name(0), self.name(0), self.name(2), self.name(1)
        members, truth = self.items[:8], Counter[Cell]()
        rows: list[dict[str, Any]] = []
        for r in self.raters:
            for _ in range(self.rng.randint(8, 20)):
                a, b = self.rng.sample(members, 2)
                if any({row[one], row[other]} == {a, b} and row[rater] == r for row in rows):
                    continue
                winner = min(a, b) if self.rng.random() < 0.8 else max(a, b)
                rows.append({one: a, other: b, won: winner, rater: r})
                truth[("", " | ".join(sorted((a, b))), r, winner)] += 1
        options = {"pairs": [one, other], "map": {"value": won, "rater": rater}}
        return Drawn("pairs", self.shuffled(rows), truth, options)

    def anonymous(self) -> Drawn:
        item, value = self.name(0), self.name(2)
        judged = self.judgments(complete=0.6)
        rows = [{item: i, value: v} for (i, _), v in judged.items()]
        truth = Counter(("", i, "", str(v)) for (i, _), v in judged.items())
        options = {"anonymous": True, "map": {"item": item, "value": value}}
        return Drawn("anonymous", self.shuffled(rows), truth, options)

    def lists(self) -> Drawn:
        item, rater, value = self.name(0), self.name(1), self.name(2)
        labels, truth = ["vrees", "woede", "vreugde", "rouw"], Counter[Cell]()
        rows = []
        for i in self.items:
            for r in self.raters:
                chosen = [label for label in labels if self.rng.random() < 0.4]
                rows.append({item: i, rater: r, value: "|".join(chosen)})
                truth.update((f"{value}: {label}", i, r, str(int(label in chosen))) for label in labels)
        options = {"lists": value, "map": {"item": item, "rater": rater}}
        return Drawn("lists", self.shuffled(rows), truth, options)


def unnamed(drawn: Drawn) -> Drawn:
    """The same table with columns called c1 … cn, and what it then says; options are left out."""
    names = {name: f"c{n}" for n, name in enumerate(drawn.rows[0], 1)}
    truth = Counter[Cell]()
    for (question, item, rater, answer), count in drawn.truth.items():
        column, colon, label = question.partition(":")
        asked = f"{names[column]}:{label}" if colon else names.get(question, question)
        of_answer = next((names[n][1:] for n in names if n.endswith(f"_{answer}")), answer)
        said = {
            "by_item": (asked, names.get(item, item), rater, answer),
            "by_rater": (asked, item, names.get(rater, rater), answer),
            "counts": (asked, item, rater, of_answer),
        }
        truth[said.get(drawn.shape, (asked, item, rater, answer))] += count
    return Drawn(drawn.shape, [{names[name]: cell for name, cell in row.items()} for row in drawn.rows], truth)


SHAPES: Final = ("long", "questions", "by_rater", "by_item", "counts", "shares", "pairs", "anonymous", "lists")
