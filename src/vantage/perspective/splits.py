"""Perspectivist splits: annotators who train a model, users it is tested for, and what is known of these.

The test set depends on the corpus, the seed and the sizes alone, so that every variant of a split is tested on the same
⟨text, user⟩ pairs:

1. Users are drawn to be tested; all other annotators train.
2. Some texts of the test users are set aside for adaptation. The other pairs of the test users are the test set.
3. `adaptation` says what becomes of the pairs set aside: dropped (`none`), added to training (`train`), or kept as a
   set of its own (`test`), to be looked at when a user is met.
4. Unless the split is `extended`, no text of the test set is in training; if it is, such texts may be, judged by
   others.

The method `released` takes the parts that a corpus was published with: its users are in training and test alike. A
prompted rater has learned from nobody, so that all pairs can be tested: the method `crossed`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError, VantageError, nearest
from vantage.instruments import Question

DENSE: Final = 0.9
"""Where the test users judged more than this share of the texts, only a part of these can be tested."""
DENSE_SHARE: Final = 0.3
_USERS: Final = 0.2
_ROWS: Final = 0.05
_TRAINING_TEXTS: Final = 0.7
"""PersEval's sizes: test users, adaptation rows, and for BREXIT the texts that only train."""
TWICE: Final = ("test-2038", "Ann448")
"""The item and rater that the released file of MD-Agreement has twice, and the library counts as two rows."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is drawn."""

    test_users: float
    adaptation_items: int
    test_texts: float | None

    def __post_init__(self) -> None:
        if not 0 < self.test_users < 1:
            raise InputError(f"test_users {self.test_users} is not a share", remedy="use for example 0.2")
        if self.adaptation_items < 1:
            raise InputError(f"{self.adaptation_items} adaptation items are too few", remedy="use for example 5")
        if self.test_texts is not None and not 0 < self.test_texts <= 1:
            raise InputError(f"test_texts {self.test_texts} is not a share", remedy="use for example 0.3")


@dataclass(frozen=True, slots=True)
class Draw:
    """Who is tested, on which texts they adapt, and which texts may be tested (all others, where null)."""

    test_users: frozenset[str]
    adaptation_texts: frozenset[str]
    test_texts: frozenset[str] | None = None


def balanced(pairs: pl.DataFrame, sizes: Sizes, seed: int) -> Draw:
    """Test users in proportion to their strata, each with the adaptation texts wanted, at most half of theirs.

    Users and texts are drawn from their sorted ids, so the order of the table does not matter.
    """
    rng = np.random.default_rng(seed)
    tested: list[str] = []
    strata = pairs.select("rater", "stratum").unique().sort("stratum", "rater").partition_by("stratum")
    for people in strata:
        ids = people["rater"].to_list()
        wanted = round(sizes.test_users * len(ids)) if len(strata) > 1 else max(1, round(sizes.test_users * len(ids)))
        tested += [ids[n] for n in rng.permutation(len(ids))[:wanted]]
    if not tested:
        raise InputError("no stratum has enough people for a test user", remedy="raise test_users, or drop stratify")
    of_users = pairs.filter(pl.col("rater").is_in(tested))
    every = pairs["item"].unique().sort().to_list()
    share = sizes.test_texts
    if share is None:
        share = DENSE_SHARE if of_users["item"].n_unique() > DENSE * len(every) else 1.0
    allowed = every if share == 1.0 else sorted(_drawn(rng, every, max(2, round(share * len(every)))))
    judged = dict(
        of_users.filter(pl.col("item").is_in(allowed)).group_by("rater").agg(pl.col("item").sort()).iter_rows()
    )
    chosen: set[str] = set()
    for n in rng.permutation(len(tested)):
        own = judged.get(tested[n], [])
        missing = min(sizes.adaptation_items, len(own) // 2) - sum(text in chosen for text in own)
        if missing > 0:
            chosen |= _drawn(rng, [text for text in own if text not in chosen], missing)
    return Draw(frozenset(tested), frozenset(chosen), None if share == 1.0 else frozenset(allowed))


def perseval(pairs: pl.DataFrame, sizes: Sizes, seed: int) -> Draw:
    """As PersEval draws for EPIC, MHS and DICES: 5 % of the test users' rows, then every row on these texts.

    It draws from users and from rows sorted by their ids, in the type that these have in the release, and seeds
    Python's generator before each.
    """
    del sizes
    return _of_rows(pairs, lambda rows: in_own_type(rows["item"].to_list()), seed)


def perseval_md(pairs: pl.DataFrame, sizes: Sizes, seed: int) -> Draw:
    """As PersEval draws for MD-Agreement: texts as they come, and twice the pair that the released file has twice."""
    del sizes
    item, rater = TWICE
    again = pairs.filter(pl.col("item").str.ends_with(item), pl.col("rater").str.ends_with(rater))
    return _of_rows(pl.concat([pairs, again]), lambda rows: rows.sort("order")["item"].to_list(), seed)


def _of_rows(pairs: pl.DataFrame, ordered: Callable[[pl.DataFrame], list[str]], seed: int) -> Draw:
    users = in_own_type(pairs["rater"].unique().to_list())
    generator = random.Random(seed)  # noqa: S311 - the library's generator, for the same draws
    tested = set(generator.sample(users, int(_USERS * len(users))))
    if not tested:
        raise InputError(f"a fifth of {len(users)} people is less than one person", remedy="use the method balanced")
    rows = ordered(pairs.filter(pl.col("rater").is_in(list(tested))))
    generator = random.Random(seed)  # noqa: S311
    drawn = generator.sample(range(len(rows)), int(_ROWS * len(rows)))
    return Draw(frozenset(tested), frozenset(rows[n] for n in drawn))


def perseval_dense(pairs: pl.DataFrame, sizes: Sizes, seed: int) -> Draw:
    """As PersEval draws for BREXIT, where everyone judged everything: users by group, 30 % of texts tested."""
    from sklearn.model_selection import train_test_split

    del sizes
    people = pairs.select("rater", "stratum").unique().sort("rater")
    if people["stratum"].n_unique() < 2:
        raise InputError(
            "this draw takes users from each group alike", remedy="pass stratify, the trait with the groups"
        )
    _, tested = train_test_split(
        people["rater"].to_list(), test_size=_USERS, random_state=seed, stratify=people["stratum"].to_list()
    )
    texts = sorted(pairs["item"].unique())
    generator = random.Random(seed)  # noqa: S311 - as above
    training = set(generator.sample(texts, int(_TRAINING_TEXTS * len(texts))))
    others = [text for text in texts if text not in training]
    adapting = generator.sample(others, int(_ROWS * len(others)))
    return Draw(frozenset(tested), frozenset(adapting), frozenset(others))


def in_own_type(ids: list[str]) -> list[str]:
    """Ids sorted as the release has them: numbers by size, anything else by letters.

    A part in front that a reader put there, the same for all and closed by a hyphen, does not count.

    >>> in_own_type(["10", "9"]), in_own_type(["350-10", "350-9"]), in_own_type(["Ann10", "Ann9"])
    (['9', '10'], ['350-9', '350-10'], ['Ann10', 'Ann9'])
    """
    parted = [name.rpartition("-") for name in ids]
    if len({part[0] for part in parted}) == 1 and all(part[2].isdecimal() for part in parted):
        return sorted(ids, key=lambda name: int(name.rpartition("-")[2]))
    return sorted(ids)


def _drawn(rng: np.random.Generator, texts: list[str], wanted: int) -> set[str]:
    return {texts[n] for n in rng.permutation(len(texts))[:wanted]}


Users: TypeAlias = Literal["named", "unnamed"]
Adaptation: TypeAlias = Literal["none", "train", "test"]
Method: TypeAlias = Literal["balanced", "perseval", "perseval-md", "perseval-dense", "released", "crossed"]
Part: TypeAlias = Literal["train", "adaptation", "test"]

PARTS: Final[tuple[Part, ...]] = get_args(Part)
PEOPLE: Final = ("person", "author")
"""The kinds of raters that can be users; a slot is a seat that different people filled."""
_DRAWS: Final[dict[str, Callable[[pl.DataFrame, Sizes, int], Draw]]] = {
    "balanced": balanced,
    "perseval": perseval,
    "perseval-md": perseval_md,
    "perseval-dense": perseval_dense,
}


@dataclass(frozen=True)
class Split:
    """The pairs of each part, with the corpus they come from; it has checked its own invariants.

    The three tables have one row per ⟨text, user⟩ pair: `item`, `rater`, `value`.
    """

    corpus: Corpus
    question: str
    train: pl.DataFrame
    adaptation: pl.DataFrame
    test: pl.DataFrame
    set_aside: pl.DataFrame
    """The test users' pairs on adaptation texts, whatever became of them."""
    users: Users
    adapts: Adaptation
    extended: bool
    method: Method
    seed: int
    train_users: frozenset[str]
    test_users: frozenset[str]

    def __post_init__(self) -> None:
        problem = next((sentence for sentence, broken in self._invariants() if broken), None)
        if problem:
            raise VantageError(f"The split is not sound: {problem}.")

    def _invariants(self) -> list[tuple[str, bool]]:
        texts = {part: set(getattr(self, part)["item"]) for part in PARTS}
        raters = {part: set(getattr(self, part)["rater"]) for part in PARTS}
        known = self.adapts == "train" or self.method == "released"
        met = self.train_users | (self.test_users if known else frozenset())
        doubled = [part for part in PARTS if getattr(self, part).select("item", "rater").is_duplicated().any()]
        return [
            ("a user both trains the model and is tested", not known and bool(self.train_users & self.test_users)),
            ("a test pair belongs to an annotator who trains", not raters["test"] <= self.test_users),
            ("a training pair belongs to nobody who may train", not raters["train"] <= met),
            ("an adaptation pair belongs to an annotator who trains", not raters["adaptation"] <= self.test_users),
            ("a test text is an adaptation text", bool(texts["test"] & set(self.set_aside["item"]))),
            ("a test text is in training", not self.extended and bool(texts["test"] & texts["train"])),
            ("a part has duplicate pairs", bool(doubled)),
        ]

    @property
    def counts(self) -> pl.DataFrame:
        """Users, texts and annotations of each part, and how many users of the part have no annotation in it."""
        listed = {"train": self.train_users, "adaptation": self.test_users, "test": self.test_users}
        if self.adapts == "train":
            listed["train"] |= self.test_users
        rows = []
        for part in PARTS:
            frame: pl.DataFrame = getattr(self, part)
            users = frame["rater"].n_unique()
            without = 0 if part == "adaptation" and self.adapts != "test" else len(listed[part]) - users
            texts, pairs = frame["item"].n_unique(), len(frame)
            rows.append({"part": part, "users": users, "texts": texts, "annotations": pairs, "without": without})
        return pl.DataFrame(rows)

    @property
    def given_away(self) -> float:
        """The share of the test users' annotations that adaptation takes out of the test set."""
        return len(self.set_aside) / max(1, len(self.set_aside) + len(self.test))

    def part(self, name: Part) -> Corpus:
        """One part as a corpus; of unnamed users it tells no traits."""
        frame: pl.DataFrame = getattr(self, name)
        pairs = frame.select("item", "rater")
        judgments = self.corpus.judgments.filter(pl.col("question") == self.question).join(
            pairs, on=["item", "rater"], how="semi"
        )
        raters = self.corpus.raters.join(pairs, on="rater", how="semi")
        if self.users == "unnamed":
            raters = raters.select("rater", "kind")
        items = self.corpus.items.join(pairs, on="item", how="semi")
        return Corpus(items, raters, judgments, self.corpus.instruments, self.corpus.about)

    def validation(self, share: float = 0.2, seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Training pairs in two parts without a common text: what to learn from, and what to stop early by."""
        if not 0 < share < 1:
            raise InputError(f"a share of {share} of the texts cannot be set aside", remedy="use for example 0.2")
        texts = self.train["item"].unique().sort()
        chosen = np.random.default_rng(seed).permutation(len(texts))[: max(1, round(share * len(texts)))]
        held = pl.col("item").is_in(texts[chosen.tolist()].to_list())
        return self.train.filter(~held), self.train.filter(held)

    def _repr_html_(self) -> str:
        from vantage.notebook import html

        title, *_ = str(self).splitlines()
        heads = ("part", "users", "texts", "annotations", "users without any")
        counts = html.grid(heads, self.counts.iter_rows(), numeric=[False, True, True, True, True])
        return str(html.block("Split", counts, note=title))

    def __str__(self) -> str:
        variant = f"{self.users} users, adaptation {self.adapts}, {'extended' if self.extended else 'strict'}"
        lines = [f"{self.corpus.about.name}, {self.question}: {variant} ({self.method}, seed {self.seed})"]
        for part, users, texts, pairs, without in self.counts.iter_rows():
            rest = f"; {without} users have none" if without else ""
            lines.append(f"  {part:<10} {users:>6,} users {texts:>8,} texts {pairs:>9,} annotations{rest}")
        if self.adapts != "none":
            lines.append(f"  {self.given_away:.1%} of the test users' annotations serve adaptation")
        return "\n".join(lines)


def split(
    corpus: Corpus,
    *,
    question: str | None = None,
    users: Users = "named",
    adaptation: Adaptation = "none",
    extended: bool = False,
    test_users: float = 0.2,
    adaptation_items: int = 5,
    test_texts: float | None = None,
    stratify: str | None = None,
    method: Method = "balanced",
    seed: int = 42,
) -> Split:
    """Parts a corpus into training, adaptation and test pairs.

    Args:
        corpus: A corpus whose raters are people.
        question: Which question; optional if there is only one.
        users: `named` users are known by their traits; `unnamed` ones only by their adaptation answers.
        adaptation: What happens to the annotations that test users give beforehand: dropped, added to training,
            or kept apart for use at test time.
        extended: Whether texts of the test set may be in training, judged by other people.
        test_users: The share of people who are test users.
        adaptation_items: How many texts each test user judges beforehand. A text drawn for one user is an
            adaptation text for all, since it would otherwise be in training and in the test set.
        test_texts: The share of texts that may be tested. By default all, or 0.3 where the test users judged
            nine tenths of all texts, since nothing would be left to train on.
        stratify: A trait whose groups the test users represent in proportion.
        method: How to draw the split. `perseval`, `perseval-md` and `perseval-dense`
            draw exactly as the library PersEval does (for most corpora, for MD-Agreement, and for BREXIT with
            `stratify` its group): sizes are its own. `released` tests the items whose column `split` says test, and
            trains on the others. `crossed` tests all pairs, for raters that learn from nobody.
        seed: Random seed; the same seed gives the same test set.

    >>> from vantage import demo_corpus
    >>> print(split(demo_corpus(), question="trust", adaptation="test", adaptation_items=2))
    demo, trust: named users, adaptation test, strict (balanced, seed 42)
      train           7 users       24 texts       155 annotations
      adaptation      2 users        3 texts         5 annotations
      test            2 users        6 texts        11 annotations
      31.2% of the test users' annotations serve adaptation
    """
    _check(corpus, users, adaptation, method)
    sizes = Sizes(test_users, adaptation_items, test_texts)
    question = the_question(corpus, question)
    if method == "released":
        return released_split(corpus, question, users)
    pairs = people_pairs(corpus, question, stratify)
    if method == "crossed":
        every = pairs.select("item", "rater", "value")
        none, people = every.clear(), frozenset(every["rater"].unique())
        return Split(corpus, question, none, none, every, none, users, "none", True, method, seed, frozenset(), people)
    draw = _DRAWS[method](pairs, sizes, seed)
    pairs = pairs.select("item", "rater", "value")
    of_tested = pl.col("rater").is_in(list(draw.test_users))
    adapts = pl.col("item").is_in(list(draw.adaptation_texts))
    testable = pl.col("item").is_in(list(draw.test_texts)) if draw.test_texts is not None else pl.lit(True)
    of_users = pairs.filter(of_tested)
    set_aside, test = of_users.filter(adapts), of_users.filter(~adapts & testable)
    train = pairs.filter(~of_tested)
    if not extended:
        train = train.join(test, on="item", how="anti")
    if adaptation == "train":
        train = pl.concat([train, set_aside])
    if train.is_empty():
        raise InputError(
            "every text is in the test set, so nothing is left to train on",
            remedy="pass extended, or a smaller test_texts",
        )
    return Split(
        corpus,
        question,
        train,
        set_aside if adaptation == "test" else set_aside.clear(),
        test,
        set_aside,
        users,
        adaptation,
        extended,
        method,
        seed,
        frozenset(pairs["rater"].unique()) - draw.test_users,
        draw.test_users,
    )


def released_split(corpus: Corpus, question: str, users: Users = "named", part: str = "test") -> Split:
    """The parts that the column `split` of the items names: one is tested, and those published before it train.

    Users are in both, so that a rater may know them.
    """
    earlier = {"test": ("train", "dev", "validation"), "dev": ("train",)}.get(part, ())
    where = corpus.items["split"] if "split" in corpus.items.columns else pl.Series([""] * len(corpus.items))
    if part not in where or not where.is_in(earlier).any():
        raise InputError(f"the items have no part '{part}' with others to train on", remedy="see their column split")
    pairs = people_pairs(corpus, question).select("item", "rater", "value")
    train, test = (
        pairs.join(corpus.items.filter(where.is_in(some)), on="item", how="semi", maintain_order="left")
        for some in (earlier, (part,))
    )
    met, asked = frozenset(train["rater"].unique()), frozenset(test["rater"].unique())
    none = test.clear()
    return Split(corpus, question, train, none, test, none, users, "none", False, "released", 0, met, asked)


def _check(corpus: Corpus, users: str, adaptation: str, method: str) -> None:
    known_word("users", users, get_args(Users))
    known_word("adaptation", adaptation, get_args(Adaptation))
    known_word("method", method, get_args(Method))
    if users == "unnamed" and adaptation == "none":
        raise InputError(
            "nothing is known about unnamed users without adaptation, so there is no perspective to take",
            remedy="use adaptation train or test, or named users",
        )
    if users == "named" and not corpus.traits and adaptation == "none" and method not in ("released", "crossed"):
        raise InputError(
            "the raters have no traits, so named users without adaptation are as unknown as unnamed ones",
            remedy="join traits, or use adaptation train or test",
        )


def the_question(corpus: Corpus, question: str | None) -> str:
    """The question meant: the one named, or the only one."""
    if question is not None:
        return corpus.question(question).id
    if len(corpus.questions) > 1:
        ids: Sequence[str] = [q.id for q in corpus.questions]
        raise InputError("the corpus has several questions", remedy=f"pass question, one of {', '.join(ids)}")
    return corpus.questions[0].id


def tested(people: Split | Corpus, question: str | None) -> tuple[Corpus, Question, pl.DataFrame]:
    """The corpus, the question and the pairs of a split's test part, or of a whole corpus."""
    if isinstance(people, Split):
        return people.corpus, people.corpus.question(people.question), people.test.select("item", "rater", "value")
    asked = people.question(the_question(people, question))
    return people, asked, people_pairs(people, asked.id).select("item", "rater", "value")


def known_word(name: str, value: object, known: Sequence[str]) -> None:
    """Refuses a value that an option does not have."""
    if value not in known:
        raise InputError(f"{name} '{value}' is not known", remedy=nearest(str(value), list(known)))


def known_trait(corpus: Corpus, trait: str) -> None:
    """Refuses a trait that the raters do not have."""
    if trait not in corpus.traits:
        raise InputError(f"the raters have no trait '{trait}'", remedy=nearest(trait, corpus.traits))


def differing(corpus: Corpus, pairs: pl.DataFrame, wanted: Sequence[str] | None, same: str) -> tuple[str, ...]:
    """The traits in which the users of pairs differ; one wanted that is unknown, or the `same` for all, is refused."""
    users, chosen = corpus.raters.join(pairs.select("rater").unique(), on="rater", how="semi"), []
    for trait in corpus.traits if wanted is None else wanted:
        known_trait(corpus, trait)
        if users[trait].drop_nulls().n_unique() > 1:
            chosen.append(trait)
        elif wanted is not None:
            raise InputError(same.format(trait=trait), remedy="leave the trait out")
    return tuple(chosen)


def people_pairs(corpus: Corpus, question: str, stratify: str | None = None) -> pl.DataFrame:
    """One row per person and text, with the order of the texts in the corpus and the stratum of the person."""
    if stratify is not None:
        known_trait(corpus, stratify)
    stratum = pl.lit("") if stratify is None else pl.col(stratify).cast(pl.String).fill_null("")
    people = corpus.included().raters.filter(pl.col("kind").cast(pl.String).is_in(PEOPLE))
    people = people.select("rater", stratum.alias("stratum"))
    rows = corpus.judgments.filter(pl.col("question") == question, pl.col("value").is_not_null())
    pairs = rows.join(people, on="rater", maintain_order="left").select("item", "rater", "value", "stratum")
    # Under one condition and sample a corpus has no pair twice, as it has checked itself.
    once = rows["condition"].n_unique() <= 1 and rows["sample"].n_unique() <= 1
    twice = pairs.clear() if once else pairs.filter(pairs.select("item", "rater").is_duplicated())
    if len(twice):
        item, rater = twice.row(0)[:2]
        again = len(twice) - len(twice.unique(["item", "rater"]))
        raise InputError(
            f"{again} answers are a person's second to the same text, such as '{rater}' on '{item}'",
            remedy="filter to one condition and sample",
        )
    if pairs["rater"].n_unique() < 2:
        raise InputError(
            f"question '{question}' was answered by fewer than two people", remedy="check the raters' kinds"
        )
    order = corpus.items.select("item").with_row_index("order")
    return pairs.join(order, on="item", maintain_order="left")
