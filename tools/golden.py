"""Every measure's numbers on small invented corpora, kept so that a rebuild can be compared with what was before it.

A case is a measure with options on a corpus: every value of `ci` that the measure takes, and several groupings. The
kept file has one row per number or text of a result. Estimates must never change (`tests/measures/test_golden.py`);
intervals may, where `changed.yaml` beside the file says why.

Run it from the root of the project: `python -m tools.golden --diff` lists every interval, reason and own column that
changed (`--only alpha` for one measure), `--write` keeps today's numbers.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
import yaml

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.measures import find, registry
from vantage.measures.aggregation.balanced import balanced
from vantage.scales import OptOut, Scale

FOLDER: Final = Path(__file__).resolve().parents[1] / "tests" / "measures" / "golden"
KEPT: Final = FOLDER / "kept.parquet"
CHANGED: Final = FOLDER / "changed.yaml"
"""Why intervals of a measure changed: `measure: {ci: reason}`, where the ci `all` means every one."""
KEY: Final = ("corpus", "measure", "variant", "by", "ci", "row", "column")
COUNTS: Final = ("items", "raters", "judgments")
IGNORED: Final = ("options", "measure", "left_out", *COUNTS)
SURE: Final = ("estimate",)
"""The columns that no rebuild may change."""
TOLERANCE: Final = 1e-10
"""How far an estimate may be from the one that was kept, as a share of it: processors round sums differently."""
SEARCHED: Final = 1e-6
"""The same for the other numbers, many of which are where a search for variances ended."""
FITTED: Final = ("population", "icc", "reliability", "explain")
"""Measures whose estimates are where a search ended too."""
SMALL: Final = {"resamples": 200, "permutations": 200, "splits": 100, "relabellings": 20, "seed": 0}
"""The options that make a case quick and repeatable, where a measure takes them."""

WORDS: Final = ["the", "office", "seems", "slow", "and", "perhaps", "they", "blame", "nobody", "because", "it", "is",
                "not", "clear", "what", "was", "meant"]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """A measure with its options on a corpus."""

    corpus: str
    measure: str
    by: tuple[str, ...] | None
    ci: str
    variant: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> dict[str, str]:
        """What its rows are known by."""
        by = "default" if self.by is None else " ".join(self.by)
        return {"corpus": self.corpus, "measure": self.measure, "variant": self.variant, "by": by, "ci": self.ci}


# --- the corpora -----------------------------------------------------------------------------------------------------


def _traits(raters: int, rng: np.random.Generator) -> dict[str, list[Any]]:
    return {
        "home": [("coast", "hills")[n % 2] for n in range(raters)],
        "age": [int(age) for age in rng.integers(18, 80, raters)],
    }


def _judged(
    rng: np.random.Generator, items: int, raters: list[str], questions: list[str], asked: float, noise: float = 0.9
) -> pl.DataFrame:
    """Who judged what, and a latent answer: the item, the rater's severity and noise."""
    rows = []
    for question in questions:
        meant, severity = rng.normal(0, 1, items), rng.normal(0, 0.5, len(raters))
        for item, number in product(range(items), range(len(raters))):
            latent = meant[item] + severity[number] + noise * rng.normal()
            if rng.random() < asked:
                rows.append((f"i{item:02}", question, raters[number], latent))
    return pl.DataFrame(rows, schema=["item", "question", "rater", "latent"], orient="row")


def _unanswered(frame: pl.DataFrame, rng: np.random.Generator, statuses: list[str], share: float) -> pl.DataFrame:
    """The frame with some answers taken away, each for one of these reasons."""
    drawn = rng.random(len(frame)) < share
    which = rng.integers(0, len(statuses), len(frame))
    status = [statuses[w] if d else "answered" for w, d in zip(which, drawn, strict=True)]
    return frame.with_columns(
        pl.Series("status", status), value=pl.when(pl.Series(drawn)).then(None).otherwise(pl.col("value"))
    )


def _items(items: int, rng: np.random.Generator) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "item": [f"i{n:02}" for n in range(items)],
            "text": [" ".join(rng.choice(WORDS, 9)) for _ in range(items)],
            "topic": [("work", "health", "sport")[n % 3] for n in range(items)],
            "source": [f"s{n // 5}" for n in range(items)],
            "length": rng.normal(20, 5, items).round(2),
        }
    )


def _codes(low: int, high: int) -> pl.Expr:
    return (pl.col("latent") * (high - low) / 5 + (low + high) / 2).round().clip(low, high).alias("value")


def gaps() -> Corpus:
    """Fourteen people, two questions on a scale of five points, half of the cells empty, opt-outs and refusals."""
    rng = np.random.default_rng(1)
    people = [f"p{n:02}" for n in range(14)]
    judged = _judged(rng, 30, people, ["trust", "warmth"], 0.5).with_columns(_codes(1, 5)).drop("latent")
    judged = _unanswered(judged, rng, ["not_mentioned", "refused"], 0.08)
    scale = Scale.points(1, 5, opt_outs=[OptOut("not_mentioned", "not mentioned")])
    return Corpus(
        _items(30, rng),
        pl.DataFrame({"rater": people, "kind": "person", **_traits(14, rng)}),
        judged,
        Instrument.of_questions("gaps", "Gaps", {"trust": scale, "warmth": scale}),
    )


def models() -> Corpus:
    """Twelve people and three models, two conditions, samples of models, rationales and a calibrated probability."""
    rng = np.random.default_rng(2)
    people, machines = [f"p{n:02}" for n in range(12)], ["m-a", "m-b", "m-c"]
    static = _judged(rng, 44, [*people, *machines], ["mood"], 0.85, 0.7).with_columns(condition=pl.lit("static"))
    # The last twelve items are judged by models alone.
    static = static.filter((pl.col("item") < "i32") | pl.col("rater").is_in(machines))
    shift = pl.Series(rng.normal(0.3, 0.5, len(static)))
    context = static.with_columns(condition=pl.lit("context"), latent=pl.col("latent") + shift)
    judged = pl.concat([static, context]).with_columns(sample=pl.lit(0))
    more = judged.filter(pl.col("rater").is_in(machines))
    more = more.with_columns(sample=pl.lit(1), latent=pl.col("latent") + pl.Series(rng.normal(0, 0.4, len(more))))
    judged = pl.concat([judged, more]).with_columns(_codes(-3, 3)).drop("latent")
    judged = judged.with_columns(
        pl.Series("rationale", [" ".join(rng.choice(WORDS, rng.integers(3, 9))) for _ in range(len(judged))])
    )
    judged = _unanswered(judged, rng, ["refused", "unparsed"], 0.05)
    traits = {name: [*values, None, None, None] for name, values in _traits(12, rng).items()}
    return Corpus(
        _items(44, rng),
        pl.DataFrame({"rater": [*people, *machines], "kind": ["person"] * 12 + ["model"] * 3, **traits}),
        judged,
        Instrument.of_questions("models", "Models", {"mood": Scale.points(-3, 3, level="interval")}),
    )


def nominal() -> Corpus:
    """Fifteen people and two models, three labels and a yes/no question, gaps and refusals."""
    rng = np.random.default_rng(3)
    raters = [*(f"p{n:02}" for n in range(15)), "m-a", "m-b"]
    judged = _judged(rng, 36, raters, ["frame", "ironic"], 0.6)
    label = pl.when(pl.col("latent") < -0.4).then(0.0).when(pl.col("latent") < 0.7).then(1.0).otherwise(2.0)
    yes = (pl.col("latent") > 0.9).cast(pl.Float64)
    judged = judged.with_columns(value=pl.when(pl.col("question") == "frame").then(label).otherwise(yes)).drop("latent")
    judged = _unanswered(judged, rng, ["ambiguous", "refused"], 0.06)
    opt_outs = [OptOut("ambiguous", "ambiguous")]
    scales = {
        "frame": Scale.labels("blame", "cause", "remedy", opt_outs=opt_outs),
        "ironic": Scale.labels("no", "yes", opt_outs=opt_outs),
    }
    traits = {name: [*values, None, None] for name, values in _traits(15, rng).items()}
    return Corpus(
        _items(36, rng),
        pl.DataFrame({"rater": raters, "kind": ["person"] * 15 + ["model"] * 2, **traits}),
        judged,
        Instrument.of_questions("nominal", "Nominal", scales),
    )


def best_worst() -> pl.DataFrame:
    """Best and worst of tuples of four texts, by twelve raters."""
    rng = np.random.default_rng(4)
    worth = rng.normal(0, 1.2, 16)
    rows = []
    for item in range(32):
        members = rng.permutation(16)[:4]
        for rater in rng.permutation(12)[:4]:
            felt = worth[members] + rng.gumbel(size=4)
            about = (f"t{item:02}", f"p{rater:02}", *(f"x{m:02}" for m in members))
            rows += [(*about, "best", felt.argmax() + 1.0), (*about, "worst", felt.argmin() + 1.0)]
    schema = ["item", "rater", *(f"item_{n}" for n in range(1, 5)), "question", "value"]
    return pl.DataFrame(rows, schema=schema, orient="row")


def sets() -> pl.DataFrame:
    """Which of four options apply, by twelve raters."""
    rng = np.random.default_rng(5)
    meant, mild = rng.normal(size=(30, 4)), 0.5 * rng.normal(size=(12, 4))
    rows = []
    for item, rater in product(range(30), range(12)):
        if rng.random() < 0.6:
            felt = meant[item] + mild[rater] + rng.normal(size=4) > 0.3
            rows += [(f"i{item:02}", f"p{rater:02}", f"mood.{n}", float(felt[n])) for n in range(4)]
    return pl.DataFrame(rows, schema=["item", "rater", "question", "value"], orient="row")


def presented() -> Corpus:
    """Two models, each question in two orders and two wordings, twice; their averages, and five people."""
    rng = np.random.default_rng(6)
    rows: list[tuple[Any, ...]] = []
    mind = rng.normal(size=30)
    for rater, item in product(("p1", "p2", "p3", "p4", "p5"), range(30)):
        rows.append((f"i{item:02}", "mood", rater, None, 0, mind[item] + 0.8 * rng.normal()))
    for rater, item in product(("m-a", "m-b"), range(30)):
        meant = mind[item] + 0.5 * rng.normal()
        for order, wording, sample in product(("up", "down"), ("1", "2"), (0, 1)):
            latent = meant + 0.4 * (order == "up") + 0.2 * (wording == "2") + 0.7 * rng.normal()
            rows.append((f"i{item:02}", "mood", rater, f"order={order} wording={wording}", sample, latent))
    schema = ["item", "question", "rater", "presentation", "sample", "latent"]
    judged = (
        pl.DataFrame(rows, schema=schema, orient="row", infer_schema_length=None)
        .with_columns(_codes(1, 7))
        .drop("latent")
    )
    # Samples of different presentations are different judgments.
    judged = judged.with_columns(sample=pl.int_range(pl.len()).over("item", "question", "rater"))
    known = {"rater": ["p1", "p2", "p3", "p4", "p5", "m-a", "m-b"], "kind": ["person"] * 5 + ["model"] * 2}
    instrument = Instrument.of_questions("presented", "Presented", {"mood": Scale.points(1, 7)})
    return balanced(Corpus(_items(30, rng), pl.DataFrame(known), judged, instrument), ["m-a", "m-b"])


def second() -> pl.DataFrame:
    """What twelve people say of thirty answers about ten texts, each given by one of them."""
    rng = np.random.default_rng(7)
    rows = []
    for answer, rater in product(range(30), range(12)):
        if rng.random() < 0.6:
            about = (f"a{answer:02}", f"p{rater:02}", float(rng.random() < (answer % 4 + 1) / 5))
            rows.append((*about, f"i{answer // 3}", "mood", [f"p{answer % 12:02}"]))
    schema = ["item", "rater", "value", "first_item", "first_question", "given_by"]
    return pl.DataFrame(rows, schema=schema, orient="row")


CORPORA: Final = {made.__name__: made for made in (gaps, models, nominal, best_worst, sets, presented, second)}
OWN: Final = {"scaling": "best_worst", "set-alpha": "sets", "audit": "presented",
              "balanced-gain": "presented", "expectations": "gaps", "defensible": "second"}  # fmt: skip
"""Measures that need a table of their own."""


@cache
def corpus(name: str) -> Any:
    """The corpus of this name, made once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CORPORA[name]()


# --- the cases -------------------------------------------------------------------------------------------------------

BY: Final[tuple[tuple[str, ...] | None, ...]] = (None, ("question", "home"), ("question", "topic"), ("rater",))
LONG: Final = ("soft-labels", "refusals", "aggregate")
"""Measures with a row per item, which are not grouped by rater here; others have only the default interval then."""
POWERABLE: Final = ("mean", "prevalence", "entropy", "split-items", "alpha", "pairwise", "correlate", "regress")
NEEDED: Final[dict[str, tuple[dict[str, Any], ...]]] = {
    "compare": ({"between": "home"}, {"between": "topic"}, {"between": "condition"}),
    "distance": ({"between": "home"}, {"between": "kind"}),
    "dif": ({"between": "home"},),
    "population": ({"target": {"home": {"coast": 0.7, "hills": 0.3}}},),
    "whose-label": ({"traits": "home", "permutations": 9},),
    "regress": ({"on": "length"},),
    "prevalence": ({"value": 1.0},),
    "explain": ({"traits": "home"},),
    "correlate": ({}, {"outside": "length"}),
    "reliability": ({}, {"show": "components"}, {"show": "components", "trait": "home"}),
    "mean": ({}, {"between": "home"}),
    "alpha": ({}, {"level": "interval"}, {"level": "nominal"}),
    "entropy": ({}, {"per": "item"}),
    "split-items": ({}, {"between": "questions"}),
    "accuracy": ({}, {"metric": "mae"}, {"metric": "f1_macro"}),
    "alt-test": ({"min_items": 10},),
    "scaling": ({}, {"show": "reliability"}),
    "panel": ({}, {"show": "matrix"}),
    "expectations": ({"question": "trust", "others": "warmth"},),
}
"""The options with which a measure is called, where the default is not enough."""


def variants(name: str, corpus_name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The options, apart from grouping and interval, with which a measure is called on a corpus."""
    if name == "facets":
        yield "", {"question": {"gaps": "trust", "models": "mood", "nominal": "ironic"}[corpus_name]}
        return
    for options in NEEDED.get(name, ({},)):
        yield " ".join(f"{key}={value}" for key, value in options.items()), options
    if name in POWERABLE and corpus_name in ("models", "nominal"):
        needed: dict[str, dict[str, Any]] = {
            "regress": {"on": "length"},
            "prevalence": {"value": 1.0},
            "correlate": {"outside": "length"},
        }
        yield "powered_by=m-a", {"powered_by": "m-a", **needed.get(name, {})}


def cases(only: str | None = None, *, estimates: bool = False) -> Iterator[Case]:
    """All cases; only those of a measure, or only those without an interval where a measure can do without."""
    for name, known in registry().items():
        if not known.built_in or (only and name != only):
            continue
        ci: tuple[Any, ...] = known.choices.get("ci") or ("",)
        if estimates and "none" in ci:
            ci = ("none",)
        for where in (OWN[name],) if name in OWN else ("gaps", "models", "nominal"):
            grouped = BY[: 1 if name in OWN or "by" not in known.options else 3 if name in LONG else 4]
            for (variant, options), by, over in product(list(variants(name, where)), grouped, ci):
                if by == ("rater",) and over not in ("none", "auto", ""):
                    continue
                yield Case(where, name, by, over, variant, options)


def result(case: Case) -> pl.DataFrame:
    """What the measure gives, as one row per number or text; a refusal is one row too."""
    known = find(case.measure)
    options = {**{name: value for name, value in SMALL.items() if name in known.options}, **case.options}
    if case.ci:
        options["ci"] = case.ci
    if case.by is not None:
        options["by"] = list(case.by)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame = known.function(corpus(case.corpus), **options)
    except InputError as error:
        return _long(case, [("", "error", None, str(error))])
    except Exception as error:
        # A bug of today is kept too, so that a rebuild shows that it is gone.
        return _long(case, [("", "crash", None, type(error).__name__)])
    texts = [name for name, kind in frame.schema.items() if kind in (pl.String, pl.Categorical) or kind == pl.Enum]
    labels = [name for name in frame.columns if (name in texts or name in (case.by or ())) and name not in NO_LABEL]
    numbers = [name for name, kind in frame.schema.items() if kind.is_numeric() and name not in (*IGNORED, *labels)]
    rows: list[tuple[str, str, float | None, str | None]] = []
    seen: dict[str, int] = {}
    for row in frame.iter_rows(named=True):
        label = " ".join(str(row[name]) for name in labels)
        seen[label] = seen.get(label, 0) + 1
        label = f"{label} #{seen[label]}" if seen[label] > 1 else label
        rows += [(label, name, float(row[name]), None) for name in numbers if row[name] is not None]
        rows += [(label, name, None, row[name]) for name in ("over", "reason") if row.get(name)]
    return _long(case, rows)


NO_LABEL: Final = (
    *(
        "over",
        "reason",
        "random_sample",
        "floor_rater",
        "skill_over",
        "skill_reason",
        "unread",
        "worse_for",
        "no_vote",
        "unit",
    ),
    *IGNORED,
)
"""Texts that are results, and not what a row is about; a new column of such texts belongs here."""
TYPES: Final = {"row": pl.String, "column": pl.String, "number": pl.Float64, "text": pl.String}


def _long(case: Case, rows: list[tuple[str, str, float | None, str | None]]) -> pl.DataFrame:
    frame = pl.DataFrame(rows, schema=TYPES, orient="row")
    return frame.select(*(pl.lit(value).alias(name) for name, value in case.names.items()), *TYPES)


def results(only: str | None = None, *, estimates: bool = False) -> pl.DataFrame:
    """The numbers of today, of all cases."""
    return pl.concat(result(case) for case in cases(only, estimates=estimates))


# --- comparing -------------------------------------------------------------------------------------------------------


def kept() -> pl.DataFrame:
    """The numbers from before."""
    return pl.read_parquet(KEPT).with_columns(pl.col(*KEY, "text").cast(pl.String))


def differences(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """The numbers and texts of the cases in `after` that are not what they were: both, side by side."""
    same_cases = after.select(KEY[:5]).unique()
    both = before.join(same_cases, on=KEY[:5], how="semi").join(after, on=KEY, how="full", coalesce=True, suffix="_now")
    scale = pl.max_horizontal(pl.col("number").abs(), pl.col("number_now").abs(), pl.lit(1e-3))
    sure = pl.col("column").is_in(SURE) & ~pl.col("measure").is_in(FITTED)
    tolerance = pl.when(sure).then(TOLERANCE).otherwise(SEARCHED)
    moved = (pl.col("number") - pl.col("number_now")).abs() > tolerance * scale
    same = pl.col("number").eq_missing(pl.col("number_now")) | ~moved.fill_null(value=True)
    changed = both.filter(~(same & pl.col("text").eq_missing(pl.col("text_now"))))
    return changed.sort(KEY)


def wrong(changed: pl.DataFrame) -> pl.DataFrame:
    """Of the differences, those in columns that must never change, and cases that used to run and now refuse."""
    lost = pl.col("column").is_in(SURE) & pl.col("number").is_not_null()
    return changed.filter(lost)


def unexplained(changed: pl.DataFrame) -> pl.DataFrame:
    """Of the differences, those in intervals for which `changed.yaml` has no reason."""
    reasons: dict[str, dict[str, str]] = yaml.safe_load(CHANGED.read_text("utf-8")) or {}
    explained = [
        (pl.col("measure") == name) & ((pl.col("ci") == ci) | pl.lit(ci == "all"))
        for name, by_ci in reasons.items()
        for ci in by_ci
    ]
    return changed.filter(pl.col("column").is_in(["low", "high"]), ~pl.any_horizontal(pl.lit(False), *explained))


def report(changed: pl.DataFrame) -> str:
    """Every difference on a line, and how many there are of each measure."""
    lines = []
    for row in changed.iter_rows(named=True):
        was, now = (row[f"number{when}"] if row[f"text{when}"] is None else row[f"text{when}"] for when in ("", "_now"))
        case = " ".join(row[name] for name in KEY[:5] if row[name])
        lines.append(f"{case} [{row['row']}] {row['column']}: {_shown(was)} → {_shown(now)}")
    counts = changed.group_by("measure", "ci", "column").len().sort("measure", "ci", "column")
    lines += [f"{measure} {ci} {column}: {number} changed" for measure, ci, column, number in counts.iter_rows()]
    return "\n".join(lines) or "nothing changed"


def _shown(value: float | str | None) -> str:
    return f"{value:.6g}" if isinstance(value, float) else value or "none"


def write(only: str | None = None) -> None:
    """Keeps today's numbers, of one measure or of all."""
    FOLDER.mkdir(exist_ok=True)
    others = [kept().filter(pl.col("measure") != only)] if only else []
    frame = pl.concat([*others, results(only)]).with_columns(pl.col(*KEY, "text").cast(pl.Categorical))
    frame.write_parquet(KEPT, compression="zstd", compression_level=19)


def main() -> None:
    """Compares, or keeps."""
    parser = argparse.ArgumentParser(prog="python -m tools.golden", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--diff", action="store_true", help="list what changed (the default)")
    parser.add_argument("--write", action="store_true", help="keep today's numbers")
    parser.add_argument("--only", help="one measure")
    arguments = parser.parse_args()
    if arguments.write:
        write(arguments.only)
    else:
        sys.stdout.write(report(differences(kept(), results(arguments.only))) + "\n")


if __name__ == "__main__":
    main()
