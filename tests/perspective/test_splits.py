import hashlib
import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vantage
from tests.perspective.conftest import made
from vantage import Corpus, InputError
from vantage.errors import VantageError
from vantage.perspective.splits import Sizes, Split, people_pairs, perseval, split

VARIANTS = [("named", "none"), ("named", "train"), ("named", "test"), ("unnamed", "train"), ("unnamed", "test")]


def fingerprint(pairs: pl.DataFrame, text: dict[str, str], strip: str = "") -> str:
    """Of the test set, in the form in which the reference values were taken."""
    rows = sorted([r.removeprefix(strip), text[i], int(x)] for i, r, x in pairs.iter_rows())
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]


@pytest.mark.slow
@given(
    people=st.integers(4, 12),
    texts=st.integers(12, 40),
    each=st.integers(4, 12),
    share=st.sampled_from([0.2, 0.35, 0.5]),
    items=st.integers(1, 4),
    seed=st.integers(0, 50),
)
@settings(max_examples=25, deadline=None)
def test_every_variant_is_tested_on_the_same_pairs_and_keeps_people_and_texts_apart(
    people: int, texts: int, each: int, share: float, items: int, seed: int
) -> None:
    corpus = made(people, texts, each, seed)
    tests = []
    for users, adaptation in VARIANTS:
        for extended in (False, True):
            try:
                found = split(
                    corpus,
                    users=users,  # type: ignore[arg-type]
                    adaptation=adaptation,  # type: ignore[arg-type]
                    extended=extended,
                    test_users=share,
                    adaptation_items=items,
                    seed=seed,
                )
            except InputError as error:
                assert "nothing is left to train on" in str(error)
                continue
            tests.append(found.test.sort("item", "rater"))
            trained, tested = found.train, found.test
            if adaptation != "train":
                assert not set(trained["rater"]) & set(tested["rater"])
            else:
                mine = trained.filter(pl.col("rater").is_in(list(found.test_users)))
                assert not set(mine["item"]) & set(tested["item"])
            if not extended:
                assert not set(trained["item"]) & set(tested["item"])
            assert (adaptation == "test") == bool(len(found.adaptation))
    assert all(frame.equals(tests[0]) for frame in tests)


def test_each_test_user_has_the_adaptation_texts_asked_for() -> None:
    found = split(made(12, 80, 20), adaptation="test", adaptation_items=3, test_users=0.25)
    per_user = found.adaptation.group_by("rater").len()
    assert len(per_user) == 3
    assert per_user["len"].min() >= 3  # type: ignore[operator]
    assert found.counts.filter(pl.col("part") == "adaptation")["without"].item() == 0
    assert 0 < found.given_away < 0.5


def test_the_order_of_the_table_does_not_matter() -> None:
    corpus = made()
    shuffled = Corpus(
        corpus.items.reverse(),
        corpus.raters.reverse(),
        corpus.judgments.sample(fraction=1, shuffle=True, seed=1),
        corpus.instruments,
    )
    one, other = (split(c, adaptation="test").test.sort("item", "rater") for c in (corpus, shuffled))
    assert one.equals(other)


def test_strata_are_tested_in_proportion() -> None:
    found = split(made(20), stratify="side", test_users=0.2)
    sides = found.corpus.raters.filter(pl.col("rater").is_in(list(found.test_users)))["side"].value_counts()
    assert dict(sides.iter_rows()) == {"left": 2, "right": 2}


def test_where_everyone_judged_everything_some_texts_are_kept_for_training() -> None:
    found = split(made(6, 20, 20), test_users=0.34, adaptation_items=2)
    assert found.test["item"].n_unique() == 6 - 2
    assert found.train["item"].n_unique() == 20 - 4


def test_parts_are_corpora_and_unnamed_users_have_no_traits() -> None:
    named = split(made(), adaptation="test").part("test")
    unnamed = split(made(), users="unnamed", adaptation="test").part("test")
    assert named.traits == ["side", "country"]
    assert unnamed.traits == []
    assert len(named.judgments) == len(unnamed.judgments) == len(split(made(), adaptation="test").test)


def test_validation_never_shares_a_text() -> None:
    learn, stop = split(made(), extended=True).validation(0.25, seed=3)
    assert not set(learn["item"]) & set(stop["item"])
    assert len(learn) + len(stop) == len(split(made(), extended=True).train)
    with pytest.raises(InputError, match="share of 1"):
        split(made()).validation(1)


def test_an_unsound_split_is_refused() -> None:
    good = split(made(), adaptation="test")
    told: dict[str, Any] = {name: getattr(good, name) for name in Split.__dataclass_fields__}
    with pytest.raises(VantageError, match="a test text is in training"):
        Split(**{**told, "train": pl.concat([good.train, good.test.with_columns(rater=pl.lit(min(good.train_users)))])})
    with pytest.raises(VantageError, match="duplicate pairs"):
        Split(**{**told, "train": pl.concat([good.train, good.train])})


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"users": "unnamed"}, "nothing is known"),
        ({"users": "anonymous"}, "'anonymous' is not known"),
        ({"adaptation": "yes"}, "'yes' is not known"),
        ({"test_users": 1.0}, "not a share"),
        ({"adaptation_items": 0}, "are too few"),
        ({"test_texts": 2.0}, "not a share"),
        ({"stratify": "age"}, "no trait 'age'"),
        ({"question": "heard"}, "heard"),
        ({"method": "perseval-dense"}, "pass stratify"),
    ],
)
def test_bad_options_are_told_in_one_sentence(options: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        split(made(), **options)


def test_named_users_need_traits_or_adaptation() -> None:
    corpus = made()
    bare = Corpus(corpus.items, corpus.raters.select("rater"), corpus.judgments, corpus.instruments)
    with pytest.raises(InputError, match="have no traits"):
        split(bare)
    assert len(split(bare, adaptation="test").test)


def test_a_text_judged_twice_by_one_person_is_refused() -> None:
    corpus = made()
    again = corpus.judgments.head(1).with_columns(pl.lit(1, dtype=pl.Int32).alias("sample"))
    doubled = Corpus(corpus.items, corpus.raters, pl.concat([corpus.judgments, again]), corpus.instruments)
    with pytest.raises(InputError, match="second to the same text"):
        split(doubled)


@pytest.mark.data
def test_brexit_is_split_exactly_as_the_reference_does(data_dir: Path) -> None:
    corpus = vantage.read(data_dir / "lewidi/2023/HS-Brexit", "hs-brexit", groups="hub")
    counts = {
        ("named", "none", False): [(4, 800, 3200), (0, 0, 0)],
        ("named", "none", True): [(4, 1120, 4480), (0, 0, 0)],
        ("unnamed", "train", False): [(6, 800, 3232), (0, 0, 0)],
        ("named", "train", True): [(6, 1120, 4512), (0, 0, 0)],
        ("unnamed", "test", False): [(4, 800, 3200), (2, 16, 32)],
        ("named", "test", True): [(4, 1120, 4480), (2, 16, 32)],
    }
    text = {item: item for item in corpus.items["item"]}
    for (users, adaptation, extended), expected in counts.items():
        found = split(
            corpus,
            question="hate-speech",
            users=users,  # type: ignore[arg-type]
            adaptation=adaptation,  # type: ignore[arg-type]
            extended=extended,
            method="perseval-dense",
            stratify="group",
        )
        assert found.counts.select("users", "texts", "annotations").rows() == [*expected, (2, 320, 640)]
        assert fingerprint(found.test, text, "Ann") == "4a9987928971663a"


@pytest.mark.slow
@pytest.mark.data
def test_md_agreement_is_split_exactly_as_the_reference_does(data_dir: Path) -> None:
    corpus = vantage.read(data_dir / "lewidi/2023/MD-Agreement", "md-agreement")
    text = {item: str(n) for n, item in enumerate(corpus.items["item"])}
    counts = {
        ("train", False): [(719, 3627, 18135), (0, 0, 0)],
        ("train", True): [(781, 10753, 43481), (0, 0, 0)],
        ("test", False): [(594, 3627, 17154), (125, 553, 981)],
        ("test", True): [(656, 10753, 42500), (125, 553, 981)],
    }
    for (adaptation, extended), expected in counts.items():
        found = split(
            corpus,
            users="unnamed",
            adaptation=adaptation,  # type: ignore[arg-type]
            extended=extended,
            method="perseval-md",
        )
        assert found.counts.select("users", "texts", "annotations").rows() == [*expected, (163, 7126, 10283)]
        assert fingerprint(found.test, text) == "4f359292eebf2c15"
    # The first erratum of docs/perseval.md: 9 % of the annotations, nothing from 38 users, fewer than five from 114.
    known = found.adaptation.group_by("rater").len()["len"]
    assert round(100 * len(found.adaptation) / (len(found.adaptation) + len(found.test))) == 9
    assert (163 - len(known), 163 - int((known >= 5).sum())) == (38, 114)


def reference_draw(rows: list[tuple[Any, Any]], seed: int) -> tuple[set[Any], set[Any]]:
    """Test users and adaptation texts as the library draws them, from ids in the type of the release."""
    users = {user for _, user in rows}
    random.seed(seed)
    tested = set(random.sample(sorted(users), int(len(users) * 0.2)))
    texts = [text for text, user in rows if user in tested]
    random.seed(seed)
    return tested, set(random.sample(sorted(texts), int(len(texts) * 0.05)))


@pytest.mark.parametrize("kind", ["words", "numbers", "numbers with a prefix"])
def test_perseval_draws_from_sorted_ids_whatever_the_order_of_the_file(kind: str) -> None:
    rng = random.Random(4)  # noqa: S311
    texts: list[Any] = [rng.randrange(10**6) for _ in range(90)]
    users: list[Any] = list(range(5, 30))
    if kind == "words":
        texts, users = [f"t{n}-{n % 7}x" for n in texts], [f"Ann{n}" for n in users]
    rows = [(text, user) for text in texts for user in rng.sample(users, 6)]
    prefix = "350-" if kind == "numbers with a prefix" else ""
    pairs = pl.DataFrame(
        {
            "item": [f"{prefix}{text}" for text, _ in rows],
            "rater": [f"{prefix}{user}" for _, user in rows],
            "stratum": "",
            "order": list(range(len(rows))),
        }
    )
    found = perseval(pairs, Sizes(0.2, 5, None), 42)
    tested, adaptation = reference_draw(rows, 42)
    assert found.test_users == {f"{prefix}{user}" for user in tested}
    assert found.adaptation_texts == {f"{prefix}{text}" for text in adaptation}


@pytest.mark.data
def test_english_multipico_is_drawn_from_sorted_ids(data_dir: Path) -> None:
    corpus = vantage.read(data_dir / "lewidi/2025/MP", "mp").filter(language="en")
    pairs = people_pairs(corpus, "irony")
    # Ids that are words, as files read apart have them, are sorted by letters; the release's numbers by size.
    words = pairs.join(corpus.items.select("item", "split"), on="item").with_columns(
        pl.format("{}-{}", "split", "item").alias("item")
    )
    for own, rows, number in ((words, words, 891), (pairs, pairs.with_columns(pl.col("item").cast(pl.Int64)), 903)):
        found = perseval(own, Sizes(0.2, 5, None), 42)
        tested, adaptation = reference_draw(rows.select("item", "rater").rows(), 42)
        assert found.test_users == tested
        assert found.adaptation_texts == {str(text) for text in adaptation}
        test = own.filter(pl.col("rater").is_in(list(tested)), ~pl.col("item").is_in(list(found.adaptation_texts)))
        assert len(test) == number
    for use in ("train", "test"):
        parted = split(corpus, users="unnamed", adaptation=use, method="perseval")
        assert len(parted.test) == 903


def test_excluded_people_are_in_no_part() -> None:
    corpus = made(10, 12, 12)
    marked = Corpus(
        corpus.items,
        corpus.raters.with_columns(excluded=pl.col("rater") == "p3"),
        corpus.judgments,
        corpus.instruments,
    )
    assert "p3" not in people_pairs(marked, "seen")["rater"]
