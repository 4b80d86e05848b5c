"""Adaptive collection: what it saves, that nothing is biased, and that the always-valid interval is valid.

`python -m benchmarks adaptive` prints the tables of docs/adaptive.md: ratings per item for the same result by an even
allocation, the rule and an oracle that knows every distribution, on DICES-350 (real answers), W&C-Sent (distributions
that fit its answers) and simulated corpora; bias and coverage of alpha and the share unsafe from the core and from all
ratings pooled; and how often an interval misses alpha at any look. A fast version is part of the test suite.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import polars as pl

import vantage
from benchmarks.calibration import dices
from benchmarks.planning import wcsent
from vantage.adaptive.sequential import always_valid
from vantage.adaptive.simulated import Savings, drawn_shares, followed, oracle_ratings, savings
from vantage.adaptive.until import Distributions, Until, Z, width
from vantage.measures.ratings import Floats, Ints
from vantage.planning.model import RatingModel

UNSAFE = 2
"""The code of "Yes, unsafe" in DICES."""
WIDTHS = ("width 0.3", "width 0.4")
LEAST = 3


def mean_saved(shares: Floats, codes: Floats) -> float:
    """The share of ratings that an oracle saves for the mean of these items."""
    variance = np.clip(shares @ np.square(codes) - np.square(shares @ codes), 0, None)
    return float(1 - np.sqrt(variance).mean() ** 2 / variance.mean()) if variance.any() else 0.0


def table_of(frame: pl.DataFrame) -> Ints:
    """Answers as options, one row per item and one column per rater, everyone having judged everything."""
    wide = frame.pivot(on="rater", index="item", values="value").sort("item").drop("item")
    return np.searchsorted(np.unique(frame["value"].to_numpy()), wide.to_numpy()).astype(np.int64)


def counts_of(table: Ints, options: int) -> Floats:
    """How often each option was chosen, by item."""
    return np.asarray(np.eye(options)[table].sum(axis=1))


def drawn_answers(shares: Floats, most: int, rng: np.random.Generator) -> Ints:
    """Answers of as many people to items with these distributions."""
    ends = np.cumsum(shares, axis=1)[:, :-1]
    return np.asarray((rng.random((len(shares), most, 1)) > ends[:, None, :]).sum(axis=2))


def corpora() -> dict[str, tuple[Floats, Callable[[np.random.Generator], Ints], Floats]]:
    """True distributions, answers in random order, and codes of the options, by corpus."""
    corpora: dict[str, tuple[Floats, Callable[[np.random.Generator], Ints], Floats]] = {}
    if (frame := dices()) is not None:
        whole = table_of(frame)
        for name, table, codes in (
            ("DICES-350, share unsafe", (whole == UNSAFE).astype(np.int64), np.array([0.0, 1.0])),
            ("DICES-350, three answers", whole, np.array([0.0, 1.0, 2.0])),
        ):
            shares = counts_of(table, len(codes)) / table.shape[1]
            corpora[name] = (shares, lambda rng, table=table: rng.permuted(table, axis=1), codes)  # type: ignore[misc]
    if (frame := wcsent()) is not None:
        codes = np.unique(frame["value"].to_numpy())
        item = frame["item"].rank("dense").to_numpy().astype(np.int64) - 1
        counts = np.zeros((item.max() + 1, len(codes)))
        np.add.at(counts, (item, np.searchsorted(codes, frame["value"].to_numpy())), 1)
        shares = drawn_shares(counts[counts.sum(axis=1) >= 3], np.random.default_rng(0))
        corpora["W&C-Sent, trust"] = (shares, lambda rng, shares=shares: drawn_answers(shares, 150, rng), codes)  # type: ignore[misc]
    for name, strength, mean in (("simulated, clear items", 0.5, 0.2), ("simulated, all alike", 50.0, 0.4)):
        rng = np.random.default_rng(1)
        share = rng.beta(strength * mean, strength * (1 - mean), size=400)
        shares = np.column_stack([1 - share, share])
        corpora[name] = (shares, lambda rng, shares=shares: drawn_answers(shares, 150, rng), np.array([0.0, 1.0]))  # type: ignore[misc]
    return corpora


def compared(shares: Floats, draw: Callable[[np.random.Generator], Ints], rule: str, repeats: int) -> Savings:
    """What a rule saves, on average over orders of the answers."""
    until = Until.parse(rule)
    all_ = [savings(shares, draw(np.random.default_rng(n)), until, LEAST) for n in range(repeats)]
    even, adaptive, oracle = (
        float(np.mean([getattr(s, name) for s in all_])) for name in ("even", "adaptive", "oracle")
    )
    return Savings(until, even, adaptive, oracle)


def known(shares: Floats, draws: Ints, until: Until) -> tuple[float, float, float]:
    """Coverage of the items' intervals, the mean true width, and the share of items within a tenth of the target."""
    given = followed(draws, until, LEAST, shares.shape[1])
    steps = np.cumsum(np.eye(shares.shape[1])[draws], axis=1)[np.arange(len(draws)), given - 1]
    n, p = given[:, None], Distributions(steps).shares
    middle = (p + Z * Z / (2 * n)) / (1 + Z * Z / n)
    held = np.abs(shares - middle) <= width(p, n.astype(float)) / 2
    true = width(shares, n.astype(float)).max(axis=1)
    return float(held.mean()), float(true.mean()), float((true <= 1.1 * until.target).mean())


def adaptive_sample(
    whole: Ints, items: int, raters: int, core: int, rule: str, most: int, rng: np.random.Generator
) -> pl.DataFrame:
    """An adaptive study on random items with random raters: who rated what, and which ratings are the core."""
    rows = rng.choice(len(whole), items, replace=False)
    who = rng.permuted(np.tile(np.arange(whole.shape[1]), (items, 1)), axis=1)
    few = rng.choice(whole.shape[1], raters, replace=False)
    # The core comes from few raters with several items each, as in a study; the rest from anybody else.
    seats = np.resize(np.concatenate([rng.permutation(few) for _ in range(-(-items * core // raters))]), items * core)
    first = seats.reshape(core, items).T
    order = np.array(
        [[*dict.fromkeys([*own, *others])][: whole.shape[1]] for own, others in zip(first, who, strict=True)]
    )
    draws = whole[rows[:, None], order][:, :most]
    given = followed(draws, Until.parse(rule), core, int(whole.max()) + 1)
    item, turn = np.nonzero(np.arange(most)[None, :] < given[:, None])
    allocation = np.where(turn < core, "core", "extra")
    return pl.DataFrame(
        {"item": item, "rater": order[item, turn], "value": draws[item, turn].astype(float), "allocation": allocation}
    )


def biased(table: Ints, repeats: int, resamples: int = 200) -> list[dict[str, float | str]]:
    """Bias and coverage of alpha and of the share of the higher answer, from the core and from all ratings pooled."""
    item, rater = (grid.ravel() for grid in np.indices(table.shape))
    everything = pl.DataFrame({"item": item, "rater": rater, "value": table.ravel().astype(float)})
    functions: dict[str, Callable[..., pl.DataFrame]] = {
        "alpha": lambda data, **o: vantage.measures.alpha(data, level="nominal", **o),
        "share unsafe": vantage.measures.mean,
    }
    rows: list[dict[str, float | str]] = []
    samples = [
        adaptive_sample(table, 60, 20, 5, "width 0.4", 21, np.random.default_rng([n, 5])) for n in range(repeats)
    ]
    for name, function in functions.items():
        truth = float(function(everything, ci="none")["estimate"][0])
        for what, include in (("the core", False), ("all pooled", True)):
            made = [
                function(one, ci="both", resamples=resamples, seed=n, include_extra=include).row(0, named=True)
                for n, one in enumerate(samples)
            ]
            mean = float(np.mean([row["estimate"] for row in made]))
            held = float(np.mean([row["low"] <= truth <= row["high"] for row in made]))
            rows.append({"measure": name, "ratings": what, "truth": truth, "bias": mean - truth, "coverage": held})
        naive = [float(one["value"].mean()) for one in samples] if name == "share unsafe" else []  # type: ignore[arg-type]
        if naive:
            rows.append(
                {
                    "measure": name,
                    "ratings": "mean of all ratings",
                    "truth": truth,
                    "bias": float(np.mean(naive)) - truth,
                    "coverage": float("nan"),
                }
            )
    return rows


STUDIES = {
    "60 items × 4, 30 % yes": (RatingModel.of_shares([0, 1], [0.7, 0.3], "nominal", item=0.5, rater=0.05), 60, 4, 24),
    "100 items × 3, raters differ": (
        RatingModel.of_shares([0, 1], [0.7, 0.3], "nominal", item=0.3, rater=0.15),
        100,
        3,
        30,
    ),
    "60 items × 4, 10 % yes": (RatingModel.of_shares([0, 1], [0.9, 0.1], "nominal", item=0.4, rater=0.1), 60, 4, 24),
    "80 items × 4, five points": (
        RatingModel.of_shares([1, 2, 3, 4, 5], [0.1, 0.2, 0.4, 0.2, 0.1], "ordinal", item=0.4, rater=0.1),
        80,
        4,
        32,
    ),
}
"""Simulated studies: the model of ratings, items, ratings per item and raters."""


def true_alpha(model: RatingModel) -> float:
    """Alpha of very many items, each judged by two people who judge nothing else."""
    from vantage.planning.model import alphas

    big = model.answers(np.random.default_rng(9), items=400_000, per_item=2, raters=800_000, tables=1)
    return float(alphas(big, model.level, model.codes)[0])


def simulated(
    model: RatingModel, items: int, each: int, raters: int, rng: np.random.Generator
) -> tuple[Ints, Ints, Floats]:
    """The ratings of a study in the order in which they come in.

    Round after round through the items, each in its own order; everyone takes the next few.
    """
    unit = np.concatenate([rng.permutation(items) for _ in range(each)])
    rater = np.arange(items * each) // (items * each // raters)
    normal = rng.normal
    latent = np.sqrt(model.item) * normal(size=items)[unit] + np.sqrt(model.rater) * normal(size=raters)[rater]
    latent += np.sqrt(1 - model.item - model.rater) * normal(size=len(unit))
    return unit, rater, model.codes[np.searchsorted(model.cuts, latent)]


def missed(name: str, studies: int, *, every: int = 1, seed: int = 0) -> tuple[float, float, int]:
    """The share of studies in which the always-valid, and the usual, interval misses alpha at any look."""
    model, items, each, raters = STUDIES[name]
    truth, wrong, usual, looks = true_alpha(model), 0, 0, 0
    for study in range(studies):
        unit, rater, value = simulated(model, items, each, raters, np.random.default_rng([seed, study]))
        out, once = False, False
        looks = 0
        for n in range(items + 20, len(unit) + 1, every):
            now = always_valid(unit[:n], rater[:n], value[:n], model.level, items=items)
            if now.low is None or now.high is None or now.estimate is None:
                continue
            looks += 1
            out |= not now.low <= truth <= now.high
            once |= abs(now.estimate - truth) > Z * now.error
        wrong, usual = wrong + out, usual + once
    return wrong / studies, usual / studies, looks


def ratings_by_share(rule: str = "width 0.3") -> pl.DataFrame:
    """Ratings per item on DICES by the share of raters who find it unsafe, for each way of allocating them."""
    shares, draw, _ = corpora()["DICES-350, share unsafe"]
    until = Until.parse(rule)
    given = np.mean([followed(draw(np.random.default_rng(n)), until, LEAST, 2) for n in range(10)], axis=0)
    exact = oracle_ratings(shares, until.target)
    ways = {"even": np.full(len(exact), exact.max()), "adaptive": given, "oracle": exact}
    group = (shares[:, 1] * 20).round() / 20
    table = pl.concat(
        [pl.DataFrame({"share": group, "ratings": n, "way": way}) for way, n in ways.items()], how="vertical_relaxed"
    )
    return table.group_by("way", "share", maintain_order=True).agg(pl.col("ratings").mean()).sort("share")


def looks(name: str = "60 items × 4, 30 % yes", items: int = 200, each: int = 5, raters: int = 50) -> pl.DataFrame:
    """One simulated study, rating after rating: alpha with the always-valid interval, and with that for one look."""
    model = STUDIES[name][0]
    unit, rater, value = simulated(model, items, each, raters, np.random.default_rng(1))
    rows = []
    for n in range(items + 40, len(unit) + 1, 5):
        now = always_valid(unit[:n], rater[:n], value[:n], model.level, items=items)
        if now.estimate is not None:
            ends = {
                "always valid": (now.low, now.high),
                "for one look": (now.estimate - Z * now.error, now.estimate + Z * now.error),
            }
            rows += [
                {"ratings": n, "interval": k, "estimate": now.estimate, "low": e[0], "high": e[1]}
                for k, e in ends.items()
            ]
    return pl.DataFrame(rows)


def main() -> None:
    """Prints all tables; a number on the command line is how many studies are simulated for each interval."""
    studies = next((int(word) for word in sys.argv[1:] if word.isdecimal()), 2000)
    print("| corpus | goal | even | adaptive | oracle | saved | oracle saves | of the oracle's |")
    for name, (shares, draw, codes) in corpora().items():
        for rule in (*WIDTHS, "error 0.07"):
            s = compared(shares, draw, rule, 5)
            part = f"{s.saved / s.oracle_saved:.0%}" if s.oracle_saved > 0.005 else "–"
            print(
                f"| {name} | {rule} | {s.even:.1f} | {s.adaptive:.1f} | {s.oracle:.1f} | {s.saved:.0%} | "
                f"{s.oracle_saved:.0%} | {part} |",
                flush=True,
            )
        print(f"| {name} | mean of all items | | | | 0 % | {mean_saved(shares, codes):.0%} | |", flush=True)
    print("\n| corpus | goal | items' intervals hold | mean true width | within a tenth of the target |")
    for name, (shares, draw, _) in corpora().items():
        for rule in WIDTHS:
            held, true, near = known(shares, draw(np.random.default_rng(0)), Until.parse(rule))
            print(f"| {name} | {rule} | {held:.1%} | {true:.3f} | {near:.0%} |", flush=True)
    tables = {} if (frame := dices()) is None else {"DICES-350": (table_of(frame) == UNSAFE).astype(np.int64)}
    clear = corpora()["simulated, clear items"][0][:350]
    tables["simulated, clear items"] = drawn_answers(clear, 123, np.random.default_rng(7))
    print("\n| corpus | measure | ratings | truth | bias | coverage |")
    for corpus, table in tables.items():
        for row in biased(table, max(studies // 5, 20)):
            cells = f"{row['truth']:.3f} | {row['bias']:+.3f} | {row['coverage']:.1%}"
            print(f"| {corpus} | {row['measure']} | {row['ratings']} | {cells} |", flush=True)
    print("\n| study | looks | always-valid interval misses | usual interval misses |")
    for name in STUDIES:
        wrong, usual, looks = missed(name, studies)
        print(f"| {name} | {looks} | {wrong:.1%} | {usual:.1%} |", flush=True)


if __name__ == "__main__":
    main()
