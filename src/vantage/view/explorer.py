"""What the page asks, answered with plain data: items, raters, comparisons, runs and maps."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.disclosure import INSTEAD, hidden, shown
from vantage.corpora.schema import PEOPLE as PERSON_KINDS
from vantage.errors import InputError, VantageError, nearest
from vantage.instruments import Question
from vantage.measures.ratings import Ints
from vantage.report import COLUMNS, AnswerCounts, Spectrum, answers_of, colours_of, division, number
from vantage.view.mapping import axes
from vantage.view.opening import Opened

if TYPE_CHECKING:
    from vantage.view.raters import RaterTable

# What only some views need is imported when they are opened: the first page comes sooner.
T = TypeVar("T")
VIEWS: Final = ("overview", "spectrum", "items", "item", "raters", "rater", "compare", "calls", "map")
"""What a page may ask for; each is a method of `Explorer`."""
SIZE: Final = 50
"""Rows of a page."""
CALLS: Final = 25
"""Calls of a page."""
LARGEST: Final = 500
"""The most rows of a page over HTTP."""
TEXT: Final = 400
"""Characters of a text in a list."""
SORTS: Final = ("disagreement", "distance", "declined", "answers", "mean", "item")
FEW: Final = 60
"""Columns with at most so many different values can be chosen from."""


@dataclass
class Explorer:
    """One or several opened paths; reads them again when their files have changed."""

    opened: Sequence[Opened]
    read: Callable[[], Corpus | None]
    _stamp: object = None
    _corpus: Corpus | None = None
    _hidden: set[str] = field(default_factory=set)
    _known: dict[Any, Any] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def corpus(self) -> Corpus:
        """The judgments as they are now."""
        self.refresh()
        if self._corpus is None:
            raise InputError("there are no judgments here, only stored calls", remedy="look at the runs")
        return self._corpus

    @property
    def included(self) -> Corpus:
        """The judgments without those of excluded raters: what is counted, compared and mapped."""
        corpus = self.corpus
        return self.once("included", corpus.included)

    def refresh(self) -> str:
        """Reads the files again where they have changed; the stamp of what is shown."""
        with self._lock:
            stamp = tuple(one.stamp() for one in self.opened)
            if stamp != self._stamp:
                corpus = self.read()
                self._hidden = set() if corpus is None else set(hidden(corpus))
                self._corpus, self._known, self._stamp = corpus and shown(corpus.with_texts()), {}, stamp
        return f"{hash(stamp) & 0xFFFFFFFF:08x}"

    def once(self, key: Any, compute: Callable[[], T]) -> T:
        """A value that is computed once for the files as they are."""
        with self._lock:
            if key not in self._known:
                self._known[key] = compute()
            value: T = self._known[key]
            return value

    def prepare(self) -> None:
        """Computes what the first page needs; problems show when that page is opened."""
        with suppress(VantageError), self._lock:
            self.overview()
            self.spectrum()

    def overview(self) -> dict[str, Any]:
        """What there is: sizes, questions, groups and columns to choose from."""
        stamp = self.refresh()
        base = {
            "stamp": stamp,
            "paths": [{"name": one.name, "report": one.report is not None} for one in self.opened],
            "calls": any(one.store and one.store.is_file() for one in self.opened),
        }
        if self._corpus is None:
            return {**base, "judgments": 0, "questions": [], "items": 0, "raters": 0}
        corpus = self._corpus
        kinds = corpus.raters["kind"].cast(pl.String)
        models = corpus.raters.filter(~kinds.is_in(PERSON_KINDS))
        return {
            **base,
            **corpus.sizes,
            "name": corpus.about.name,
            "excluded": len(corpus.raters) - len(self.included.raters),
            "questions": [self._question(question) for question in self._judged()],
            "kinds": dict(kinds.value_counts().sort("count", descending=True).iter_rows()),
            "models": models["rater"].head(200).to_list(),
            "conditions": corpus.judgments["condition"].unique().sort().to_list(),
            "traits": {name: self._values(corpus.raters, name) for name in corpus.traits},
            "axes": len(axes(corpus)),
            "columns": {
                name: self._values(corpus.items, name) for name in corpus.items.columns if name not in ("item", "text")
            },
        }

    def items(
        self,
        question: str = "",
        search: str = "",
        sort: str = "disagreement",
        rater: str = "",
        condition: str | None = None,
        trait: str = "",
        where: Mapping[str, str] | None = None,
        only: Sequence[str] = (),
        descending: bool = True,
        page: int = 0,
        size: int = SIZE,
    ) -> dict[str, Any]:
        """Items with the distribution of their answers, searched, filtered and sorted."""
        asked, counts = self.question(question), self.distributions(question, trait, condition)
        kept = self._kept(search, where, only)
        places = np.flatnonzero(kept)
        order, distance, compared = self._order(counts, sort, rater)
        if order is not None:
            values = order[places]
            known = np.isfinite(values)
            ranked = np.argsort(-values[known] if descending else values[known], kind="stable")
            places = np.concatenate([places[known][ranked], places[~known]])
        elif not descending:
            places = places[::-1]
        shown = places[page * size : (page + 1) * size]
        return {
            "question": self._question(asked),
            "groups": counts.groups,
            "compared": compared,
            "total": len(places),
            "page": page,
            "size": size,
            "rows": self._item_rows(shown, counts, distance),
        }

    def spectrum(
        self,
        question: str = "",
        rater: str = "",
        condition: str | None = None,
        trait: str = "",
        among: Sequence[str] = (),
        one: str = "",
        other: str = "",
        search: str = "",
        where: Mapping[str, str] | None = None,
        start: int = 0,
        end: int | None = None,
    ) -> dict[str, Any]:
        """Every text as a column, from one end of the scale to the other; of many texts, neighbours as one.

        `rater` is the group by whose answers texts are sorted, `among` chosen raters who are a group of their own and
        sort them. `one` and `other` are groups as `compare` names them (a corpus, a condition, a model …) whose
        Spectra stand beside each other: of the texts that both judged, in the order of the first.
        """
        asked = self.question(question)
        names = [name or "everyone" for name in (one, other)][: 2 if other else 1] if one or other else []
        sides = [self._side(asked, name) for name in names]
        counts = sides[0] if sides else self.distributions(question, trait, condition, tuple(among))
        group = counts.groups.index(rater) if rater in counts.groups else min(len(among), 1) if not sides else 0
        whole = self.once(("spectrum", id(counts), group), lambda: Spectrum.of(counts, group))
        kept = self._kept(search, where)
        for side in sides[1:]:
            kept = kept & (side.n[:, 0] > 0)
            if not kept[whole.order].any() and not search and not where:
                raise InputError(f"{names[0]} and {names[1]} judged no text in common", remedy="choose other groups")
        order = whole.order[kept[whole.order]]
        return {
            "question": {**self._question(asked), "colours": colours_of(asked)},
            "by": counts.groups[group],
            "total": len(order),
            "start": start,
            "end": start + len(order[start:end]),
            **self._drawn(Spectrum(counts, order[start:end])),
            "beside": [self._drawn(Spectrum(side, order[start:end])) for side in sides[1:]],
        }

    def _side(self, question: Question, group: str) -> AnswerCounts:
        from vantage.view.comparing import chosen, named

        def counted() -> AnswerCounts:
            where = chosen(self.included, group)
            return AnswerCounts.of(self.included, question, where=where).first(named(group))

        return self.once(("side", question.id, group), counted)

    def _drawn(self, drawn: Spectrum) -> dict[str, Any]:
        """The columns of a Spectrum: a row for each text or, of many, the means of neighbours."""
        counts = drawn.counts
        many = len(drawn.order) > COLUMNS
        pins = drawn.pins()
        columns = zip(drawn.texts.tolist(), drawn.disagreement, strict=True) if many else ()
        by_group = [drawn.shares(at).round(3).tolist() for at in range(len(counts.groups))] if many else []
        return {
            "groups": counts.groups,
            "said": division(counts)["said"],
            "pins": [*map(list, zip(pins, self._item_rows(drawn.order[pins], counts), strict=True))],
            "rows": [] if many else self._item_rows(drawn.order, counts),
            "columns": [
                {"texts": texts, "disagreement": number(apart), "shares": [shares[at] for shares in by_group]}
                for at, (texts, apart) in enumerate(columns)
            ],
        }

    def item(self, item: str, trait: str = "") -> dict[str, Any]:
        """Everything about one item: its columns, its distributions, and every judgment with its rater."""
        corpus = self.corpus
        at = self._place(item)
        own = corpus.judgments.filter(pl.col("item") == item).join(corpus.raters, on="rater", how="left")
        asked = [question for question in corpus.questions if question.id in set(own["question"])]
        pictures = {q.id: self.distributions(q.id, trait, None).picture(at) for q in asked}
        return {
            "item": {name: value for name, value in corpus.items.row(at, named=True).items() if value is not None},
            "questions": [self._question(question) for question in asked],
            "pictures": pictures,
            "judgments": [
                {name: value for name, value in row.items() if value is not None and name != "item"}
                for row in own.sort("question", "rater", "sample").to_dicts()
            ],
            "neighbours": {
                name: corpus.items["item"][place]
                for name, place in (("previous", at - 1), ("next", at + 1))
                if 0 <= place < len(corpus.items)
            },
        }

    def raters(self, question: str = "", page: int = 0, size: int = LARGEST, **how: Any) -> dict[str, Any]:
        """Raters of every kind, how they follow the others, and what stands out."""
        return self._raters(question).page(page, size, **how)

    def rater(self, rater: str, question: str = "") -> dict[str, Any]:
        """One rater: traits, quality, use of the scale, and their answers against the others'."""
        return self._raters(question).one(rater, self.distributions(question, "", None))

    def compare(self, one: str, other: str, question: str = "", option: str = "", size: int = SIZE) -> dict[str, Any]:
        """Two groups of raters: the overall difference, and the items on which they part."""
        from vantage.view.comparing import compared

        return compared(self.included, self.question(question), one, other, size, option)

    def calls(self, item: str = "", rater: str = "", run: int | None = None, page: int = 0) -> dict[str, Any]:
        """Stored calls with prompt and reply: of an item, of a rater, of a run."""
        from vantage.runs.export import calls as exported
        from vantage.runs.store import RunStore, begun

        self.refresh()

        def matching() -> Iterator[dict[str, Any]]:
            for path in [one.store for one in self.opened if one.store and one.store.is_file() and begun(one.store)]:
                # Opened for reading each time, so that a run can go on meanwhile.
                with RunStore(path, read_only=True) as store:
                    every = exported(store, run=run, item=item or None)
                    yield from (call for call in every if rater in ("", call["rater"]))

        some = list(islice(matching(), page * CALLS, (page + 1) * CALLS + 1))
        kept = [{k: v for k, v in call.items() if v is not None and k != "settings"} for call in some[:CALLS]]
        unsaid = {"messages": [], "reply": INSTEAD}
        said = [{**call, **unsaid} if call.get("item") in self._hidden else call for call in kept]
        return {"page": page, "more": len(some) > CALLS, "calls": said}

    def map(self, kind: str = "agreement", question: str = "", x: str = "", y: str = "") -> dict[str, Any]:
        """Raters by agreement, as points or as a heat map of every two; items by two questions."""
        from vantage.view import mapping

        corpus = self.included
        drawn: dict[str, Callable[[], dict[str, Any]]] = {
            "agreement": lambda: mapping.by_agreement(corpus, self.question(question)),
            "heat": lambda: mapping.heat(corpus, self.question(question)),
            "items": lambda: {**mapping.by_two(corpus, x, y), "axes": mapping.axes(corpus)},
        }
        if kind not in drawn:
            raise InputError(f"there is no map '{kind}'", remedy=nearest(kind, list(drawn)))
        return self.once(("map", kind, question, x, y), drawn[kind])

    def question(self, name: str) -> Question:
        """A question by its id; the first that was judged where none is named."""
        if name:
            return self.corpus.question(name)
        judged = self._judged()
        if not judged:
            raise InputError("the corpus has no judgments", remedy="collect some, or ask a model")
        return judged[0]

    def _judged(self) -> list[Question]:
        corpus = self.corpus

        def judged() -> list[Question]:
            asked = set(corpus.judgments["question"].unique())
            return [question for question in corpus.questions if question.id in asked]

        return self.once("judged", judged)

    def distributions(
        self, question: str, trait: str, condition: str | None, among: tuple[str, ...] = ()
    ) -> AnswerCounts:
        """The counts of answers to a question."""
        asked, traits = self.question(question), self.corpus.traits
        # Reports write names of traits in words.
        trait = next((name for name in traits if name.replace("_", " ") == trait), trait)
        if trait and trait not in traits:
            raise InputError(f"raters have no trait '{trait}'", remedy=nearest(trait, traits))
        key = ("distributions", asked.id, trait, condition, among)
        where = None if condition is None else pl.col("condition") == condition
        return self.once(key, lambda: AnswerCounts.of(self.included, asked, trait=trait, where=where, among=among))

    def _raters(self, question: str) -> RaterTable:
        from vantage.view.raters import RaterTable

        asked = self.question(question)
        return self.once(("raters", asked.id), lambda: RaterTable.of(self.corpus, asked))

    def _order(self, counts: AnswerCounts, sort: str, rater: str) -> tuple[Any, Any, list[str] | None]:
        """The number that items are sorted by, the distance of the chosen group from the first, and their names."""
        group = counts.groups.index(rater) if rater in counts.groups else min(1, len(counts.groups) - 1)
        # Counts are computed once for each question, trait and condition, so that each of them is an object of its own.
        apart = self.once(("distance", id(counts), group), lambda: counts.distance(group)) if group > 0 else None
        if sort not in SORTS:
            raise InputError(f"items cannot be sorted by '{sort}'", remedy=nearest(sort, SORTS))
        order: dict[str, Callable[[], Any]] = {
            "disagreement": lambda: counts.disagreement,
            "distance": lambda: apart if apart is not None else np.full(len(counts.items), np.nan),
            "mean": lambda: counts.means[:, 0],
            "declined": lambda: counts.declined.astype(np.float64),
            "answers": lambda: counts.n.sum(axis=1).astype(np.float64),
            "item": lambda: None,
        }
        return order[sort](), apart, [counts.groups[group], counts.groups[0]] if group > 0 else None

    def _item_rows(self, places: Ints, counts: AnswerCounts, distance: Any = None) -> list[dict[str, Any]]:
        """What a list says of the items at some places."""
        items = self.corpus.items[places].iter_rows(named=True)
        texts = [(place, str(row.get("text") or ""), row) for place, row in zip(places.tolist(), items, strict=True)]
        return [
            {
                "item": row["item"],
                "text": text[:TEXT] + ("…" if len(text) > TEXT else ""),
                "pictures": counts.picture(place),
                "disagreement": number(counts.disagreement[place]),
                "distance": None if distance is None else number(distance[place]),
                "declined": int(counts.declined[place]),
                "columns": {k: str(v)[:80] for k, v in row.items() if k not in ("item", "text") and v is not None},
            }
            for place, text, row in texts
        ]

    def _kept(self, search: str, where: Mapping[str, str] | None, only: Sequence[str] = ()) -> Any:
        """Which items hold the words, have the values and are among those wanted."""
        items = self.corpus.items
        kept = np.ones(len(items), dtype=bool)
        for name, value in (where or {}).items():
            if name not in items.columns:
                raise InputError(f"items have no column '{name}'", remedy=nearest(name, items.columns))
            kept &= (items[name].cast(pl.String) == value).fill_null(value == "").to_numpy()
        if only:
            kept &= items["item"].is_in(list(only)).to_numpy()
        if search:
            texts = [pl.col(name) for name in items.columns if items.schema[name] == pl.String]
            hits = pl.any_horizontal(
                text.str.to_lowercase().str.contains(search.lower(), literal=True) for text in texts
            )
            kept &= items.select(hits.fill_null(False)).to_series().to_numpy()
        return kept

    def _place(self, item: str) -> int:
        places = self.once("places", lambda: {id_: at for at, id_ in enumerate(self.corpus.items["item"])})
        if item not in places:
            raise InputError(f"there is no item '{item}'", remedy="search for it in the list of items")
        return places[item]

    @staticmethod
    def _values(frame: pl.DataFrame, name: str) -> list[str]:
        """The different values of a column, where they are few."""
        column = frame[name]
        if column.dtype.is_nested():
            return []
        values = column.drop_nulls().cast(pl.String).unique()
        return values.sort().to_list() if len(values) <= FEW else []

    @staticmethod
    def _question(question: Question) -> dict[str, Any]:
        codes, labels, ticks = answers_of(question)
        return {
            "id": question.id,
            "title": question.title,
            "ask": question.ask,
            "scale": question.scale.describe(),
            "ordered": question.scale.ordered,
            "distances": question.scale.has_distances,
            "labels": labels,
            "ticks": ticks,
            "codes": codes.tolist(),
            "ends": question.scale.ends if question.scale.ordered else None,
        }
