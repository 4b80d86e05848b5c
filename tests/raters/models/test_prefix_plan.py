from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from vantage.raters.models.prefix_scorer import Stem, batches, stems

PROMPTS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=9), min_size=1, max_size=12)


def everything(stem: Stem) -> list[Stem]:
    return [stem, *(inner for grown in stem.stems for inner in everything(grown))]


@given(PROMPTS, st.integers(1, 6))
@settings(max_examples=150)
def test_every_prompt_goes_on_once_from_a_beginning_that_is_its_own(prompts: list[list[int]], worth: int) -> None:
    root = stems(prompts, worth)
    assert sorted(row for stem in everything(root) for row in stem.rows) == list(range(len(prompts)))
    for stem in everything(root):
        below = [row for inner in everything(stem) for row in inner.rows]
        assert stem.first in below
        assert len({tuple(prompts[row][: stem.stop]) for row in below}) == 1
        assert all(stem.stop < len(prompts[row]) for row in below), "each prompt keeps its last token"
        for grown in stem.stems:
            members = sum(len(inner.rows) for inner in everything(grown))
            assert grown.start == stem.stop
            assert (grown.stop - grown.start) * (members - 1) >= worth


@given(PROMPTS)
@settings(max_examples=100)
def test_the_first_beginning_is_the_longest_that_all_share(prompts: list[list[int]]) -> None:
    stop = stems(prompts, 1).stop
    assert len({tuple(prompt[:stop]) for prompt in prompts}) == 1
    longer = {tuple(prompt[: stop + 1]) for prompt in prompts}
    assert len(longer) > 1 or min(len(prompt) for prompt in prompts) == stop + 1


def test_thousands_of_nested_prompts_are_planned() -> None:
    prompts = [[1] * length for length in range(1, 2500)]
    root = stems(prompts, 10**9)
    assert (root.stop, len(root.rows), root.stems) == (0, 2499, [])


@given(st.lists(st.integers(1, 40), min_size=1, max_size=40), st.integers(1, 100), st.integers(1, 7))
@settings(max_examples=100)
def test_batches_stay_within_their_room(lengths: list[int], room: int, most: int) -> None:
    found = list(batches(range(len(lengths)), lengths, room, most))
    assert sorted(row for batch in found for row in batch) == list(range(len(lengths)))
    for batch in found:
        longest = max(lengths[row] for row in batch)
        assert len(batch) <= most
        assert len(batch) == 1 or longest * len(batch) <= room
