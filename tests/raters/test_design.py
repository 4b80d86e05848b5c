"""Designs: every level equally often, main effects within items, and the same expectation as the full factorial."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from tests.test_presentations import DOCUMENT, INSTRUMENT, WORTH
from vantage import Instrument, Scale
from vantage.errors import InputError
from vantage.raters.design import ANSWER_SD, EFFECT_SD, Design, balanced_array, full_array
from vantage.raters.style import Style

SHAPES = [(2,), (2, 2), (2, 2, 2), (2, 3), (2, 2, 3), (2, 3, 2, 2, 2, 3), (2,) * 7, (3, 3, 3, 2)]


@pytest.mark.parametrize("shape", SHAPES)
def test_balanced_arrays_estimate_all_main_effects(shape: tuple[int, ...]) -> None:
    array = balanced_array(shape)
    assert len(array) <= np.prod(shape)
    for column, count in zip(array.T, shape, strict=True):
        assert np.bincount(column, minlength=count).tolist() == [len(array) / count] * count
    dummies = [np.ones((len(array), 1)), *(np.eye(n)[column][:, 1:] for column, n in zip(array.T, shape, strict=True))]
    assert np.linalg.matrix_rank(np.hstack(dummies)) == 1 + sum(n - 1 for n in shape)


def test_seven_factors_of_two_levels_are_orthogonal_in_eight_runs() -> None:
    signs = 2.0 * balanced_array((2,) * 7) - 1
    assert np.array_equal(signs.T @ signs, 8 * np.eye(7))


def main_effects(rows: np.ndarray, answers: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The mean at each level of each factor, less the mean at its first."""
    means = [[answers[rows[:, f] == level].mean() for level in range(n)] for f, n in enumerate(shape)]
    return np.concatenate([np.subtract(levels, levels[0]) for levels in means])


@pytest.mark.parametrize("shape", [(2, 2, 2), (2, 2, 3), (3, 3, 2)])
def test_main_effects_equal_those_of_the_full_factorial_in_expectation(shape: tuple[int, ...]) -> None:
    """Over all drawings of levels, whatever the rater's interactions: answers of all combinations are arbitrary."""
    planted = np.random.default_rng(1).normal(size=shape)
    full = full_array(shape)
    wanted = main_effects(full, planted[tuple(full.T)], shape)
    array = balanced_array(shape)
    drawn = []
    for orders in product(*(permutations(range(n)) for n in shape)):
        rows = np.column_stack([np.array(order)[column] for order, column in zip(orders, array.T, strict=True)])
        drawn.append(main_effects(rows, planted[tuple(rows.T)], shape))
    assert np.mean(drawn, axis=0) == pytest.approx(wanted, abs=1e-12)


def test_the_presentations_of_many_items_are_drawn_so() -> None:
    """The same through `cells`, with a rater whose effects differ from item to item and interact."""
    names = (("order", ("up", "down")), ("labels", ("numbers", "words", "letters")), ("middle", ("shown", "hidden")))
    design, whole = Design(names), Design(names, "full")
    assert (design.size, whole.size) == (6, 12)
    rng = np.random.default_rng(2)
    planted = rng.normal(size=(2, 3, 2))
    items = [f"item-{n}" for n in range(1500)]
    differences = []
    for item in items:
        own = planted + rng.normal(scale=0.3, size=planted.shape)
        means = {}
        for plan in (design, whole):
            cells = [tuple(dict(names)[f].index(c.levels[f]) for f, _ in names) for c in plan.cells(item)]
            answers = np.array([own[cell] for cell in cells])
            rows = np.array(cells)
            means[plan.kind] = main_effects(rows, answers, (2, 3, 2))
        differences.append(means["balanced"] - means["full"])
    found = np.array(differences)
    error = found.std(axis=0) / np.sqrt(len(items))
    assert np.all(np.abs(found.mean(axis=0)) < 4 * error + 1e-12)


def test_items_keep_their_presentations_when_others_or_samples_are_added() -> None:
    design = Design.of("order,labels,direction", INSTRUMENT, [WORTH], Style())
    assert design.asked("a", 1) == design.asked("a", 2)[: design.size]
    assert [repeat for _, repeat in design.asked("a", 2)] == [0] * design.size + [1] * design.size
    assert len({tuple(map(str, design.cells(f"item-{n}"))) for n in range(20)}) > 5


def test_the_smallest_effect_is_seen_with_the_power_that_is_stated() -> None:
    design, scale = Design((("order", ("up", "down")), ("labels", ("numbers", "letters")))), Scale.points(1, 5)
    items, samples, length = 40, 2, 4.0
    effect = design.smallest_effect("order", items, samples, scale)
    rng = np.random.default_rng(3)
    runs = 4000
    each = design.size * samples // 2
    own = rng.normal(effect, EFFECT_SD * length, size=(runs, items))
    answers = rng.normal(scale=ANSWER_SD * length, size=(2, runs, items, each)).mean(axis=-1)
    differences = own + answers[1] - answers[0]
    z = differences.mean(axis=1) / (differences.std(axis=1, ddof=1) / np.sqrt(items))
    assert (np.abs(z) > 1.96).mean() == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize(
    ("vary", "style", "options", "problem"),
    [
        ("odrer", "zero-shot", {}, "there is no factor 'odrer'"),
        ("order,order", "zero-shot", {}, "given twice"),
        ("order", "zero-shot", {"base": "order=up"}, "given twice"),
        ("order=up", "zero-shot", {}, "order has one level"),
        ("order=up/sideways", "zero-shot", {}, "order has no level 'sideways' here"),
        ("direction=plain/choice", "zero-shot", {}, "direction has no level 'choice' here"),
        ("reason,format", "zero-shot", {}, "replies have one format; vary format or reason"),
        ("reason", "together", {}, "two-step asks one question at a time"),
        ("shots", "zero-shot", {}, "the style has no examples to vary; add few-shot:K"),
        ("questions", "zero-shot", {}, "questions are asked one at a time"),
        ("format", "together", {}, "has one form of reply"),
        ("format=line/scored", "zero-shot", {"samples": 2}, "cannot be sampled"),
        ("order", "zero-shot", {"kind": "latin"}, "there is no design 'latin'"),
        ("order", "zero-shot", {"base": "wording=7"}, "wording has no level '7' here"),
    ],
)
def test_what_cannot_be_varied_is_refused(vary: str, style: str, options: dict[str, object], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Design.of(vary, INSTRUMENT, [WORTH], Style.parse(style), **options)  # type: ignore[arg-type]


def test_a_twin_without_paraphrases_is_not_crossed_with_wording() -> None:
    first, second = DOCUMENT["questions"]
    twin = {"ask": "It is a waste.", "scoring": "mirrored"}
    instrument = Instrument.from_document({**DOCUMENT, "questions": [{**first, "reversed": twin}, second]})
    with pytest.raises(InputError, match="'worth' has no reversed wording 2"):
        Design.of("direction,wording", instrument, [instrument.question("worth")], Style())
