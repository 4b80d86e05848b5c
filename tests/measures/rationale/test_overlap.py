"""BLEU and ROUGE against their reference implementations, and against a published table."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.measures.rationale.single import bleu, rouge
from vantage.corpora.readers import load
from vantage.errors import InputError
from vantage.measures.rationale import overlap
from vantage.measures.rationale.overlap import Smoothing, bleu_of_pairs

WORDS = st.lists(st.sampled_from(["the", "cat", "sat", "on", "a", "mat", "dog", "ran"]), min_size=1, max_size=9)


def tokenized(text: str) -> list[str]:
    cut = overlap._treebank([text])
    return [cut.known[number] for number in cut.numbers]


def nltk_bleu(candidate: str, references: list[str], weights: list[float], method: str) -> float:
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    smooth: Any = getattr(SmoothingFunction(), method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = sentence_bleu([tokenized(r) for r in references], tokenized(candidate), weights, smooth)
    return float(told)


@settings(max_examples=60, deadline=None)
@given(WORDS, st.lists(WORDS, min_size=1, max_size=3), st.integers(1, 4))
def test_floor_smoothing_is_nltks_method_one(candidate: list[str], references: list[list[str]], n: int) -> None:
    text, known = " ".join(candidate), [" ".join(r) for r in references]
    assert bleu(text, known, n=n) == pytest.approx(nltk_bleu(text, known, [1 / n] * n, "method1"))


def test_unequal_weights_are_nltks() -> None:
    text, known = "the cat sat on the mat", ["a cat sat on a mat", "the mat is red"]
    ours = bleu(text, known, n=3, weights=[0.33, 0.33, 0.33])
    assert ours == pytest.approx(nltk_bleu(text, known, [0.33, 0.33, 0.33], "method1"))
    assert ours != pytest.approx(bleu(text, known, n=3), abs=1e-4)


@settings(max_examples=40, deadline=None)
@given(WORDS.filter(lambda words: len(words) > 3), WORDS, st.sampled_from(["floor", "add-k", "exp", "none"]))
def test_tokens_and_smoothing_are_sacrebleus(one: list[str], two: list[str], smoothing: Smoothing) -> None:
    from sacrebleu.metrics.bleu import BLEU

    text, known = " ".join(one), " ".join(two)
    theirs = BLEU(smooth_method=smoothing, effective_order=False).sentence_score(text, [known]).score / 100
    ours = bleu(text, known, smoothing=smoothing, tokens="13a")
    assert ours == pytest.approx(theirs if set(one) & set(two) else 0.0, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(WORDS, st.lists(WORDS, min_size=1, max_size=3), st.sampled_from(["floor", "add-k", "exp", "none"]))
def test_counts_are_those_of_sacrebleu(candidate: list[str], references: list[list[str]], smoothing: Smoothing) -> None:
    from sacrebleu.metrics.bleu import BLEU

    text, known = " ".join(candidate), [" ".join(r) for r in references]
    metric = BLEU(tokenize="none", smooth_method=smoothing, max_ngram_order=2, force=True)
    theirs = metric.corpus_score([text], [[reference] for reference in known])
    ours = bleu(text, known, n=2, smoothing=smoothing, tokens="words")
    if len(candidate) > 1 and theirs.counts[0]:
        assert ours == pytest.approx(theirs.score / 100)


@settings(max_examples=60, deadline=None)
@given(WORDS, WORDS)
def test_the_longest_common_subsequence_is_that_of_the_table(one: list[str], two: list[str]) -> None:
    table = np.zeros((len(one) + 1, len(two) + 1), dtype=int)
    for i, mine in enumerate(one):
        for j, theirs in enumerate(two):
            table[i + 1, j + 1] = table[i, j] + 1 if mine == theirs else max(table[i, j + 1], table[i + 1, j])
    for first, second in ((one, two), (two, one)):
        assert overlap._common(overlap.word_places(first), len(first), second) == table[-1, -1]


@settings(max_examples=40, deadline=None)
@given(WORDS, st.lists(WORDS, min_size=1, max_size=3))
def test_rouge_is_the_best_of_the_references(candidate: list[str], references: list[list[str]]) -> None:
    from rouge_score.rouge_scorer import RougeScorer

    text, known = " ".join(candidate), [" ".join(r) for r in references]
    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"])
    ours = rouge(text, known)
    for name, theirs in (("rouge-1", "rouge1"), ("rouge-2", "rouge2"), ("rouge-l", "rougeL")):
        assert ours[name] == pytest.approx(max(scorer.score(r, text)[theirs].fmeasure for r in known))


def test_identity_is_one_and_nothing_in_common_is_zero() -> None:
    text = "They blame the office for it."
    assert bleu(text, text) == pytest.approx(1.0)
    assert rouge(text, text) == {"rouge-1": 1.0, "rouge-2": 1.0, "rouge-l": 1.0}
    assert bleu("so", "what") == 0.0
    assert bleu("", "what") == 0.0


def test_several_lengths_are_counted_once_and_agree() -> None:
    text, known = "the cat sat on the mat", "a cat sat on a mat"
    together = bleu_of_pairs([(text, known)], (1, 2, 3, 4))
    assert {n: of_pairs[0] for n, of_pairs in together.items()} == {n: bleu(text, known, n=n) for n in (1, 2, 3, 4)}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"smoothing": "flor"}, "there is no smoothing 'flor'; did you mean 'floor'?"),
        ({"tokens": "13b"}, "there are no tokens '13b'; did you mean '13a'?"),
        ({"n": 0}, "BLEU-0 counts no words"),
        ({"weights": [0.5, 0.5]}, "BLEU-4 has 4 weights, not 2"),
    ],
)
def test_what_cannot_be_is_named(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said.split(";", maxsplit=1)[0]):
        bleu("a", "b", **wrong)
    with pytest.raises(InputError, match="no reference"):
        rouge("a", [])


_CHUNKS = [
    "a",
    "b'",
    "'s",
    "can't",
    "cannot",
    '"x',
    'x"',
    "''y",
    "y''",
    "'tis",
    "wanna",
    "(",
    ")",
    ".",
    "...",
    "x.",
    "1,2",
    "x,",
]
_CHUNKS += [
    ":",
    "--",
    "“q”",
    "'",
    "`a`",
    "d'ye",
    "[x]",
    "e.g.)",
    '"',
    "!",
    "’s",
    "gonna.",
    'a."',
    "3:4",
    "'em",
    "''",
    "*",
]


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(_CHUNKS), st.sampled_from(["", " ", " ", " ", "  ", "\n"])), min_size=1, max_size=9
    )
)
def test_cut_word_by_word_tokens_are_those_of_whole_sentences(chunks: list[tuple[str, str]]) -> None:
    text = "".join(chunk + blank for chunk, blank in chunks)
    whole = [token for part in overlap._SENTENCE.split(text.strip()) for token in overlap._tokenizer().tokenize(part)]
    assert tokenized(text) == whole


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    overlap._sacrebleu_tokens.cache_clear()
    with pytest.raises(InputError, match=r"needs sacrebleu.*vantage-raters\[text\]"):
        bleu("a", "b", tokens="13a")


@pytest.mark.slow
@pytest.mark.data
def test_the_experts_of_the_appraisals_paper(data_dir: Path) -> None:
    people = load("appraisals", data_dir / "appraisals", replies="none").judgments
    double = people.group_by("item", "question", maintain_order=True).agg("rationale")
    pairs = [told for told in double["rationale"].to_list() if len(told) == 2]
    assert len(pairs) == 960
    third = {3: (0.33, 0.33, 0.33)}
    scores = bleu_of_pairs([(second, first) for first, second in pairs], (2, 3, 4), weights=third)
    rouges = [rouge(second, first) for first, second in pairs]
    # Table 4 of the draft: 0.161, 0.085, 0.046 and 0.336, 0.120, 0.262.
    assert [round(float(np.mean(scores[n])), 3) for n in (2, 3, 4)] == [0.161, 0.085, 0.046]
    assert [round(float(np.mean([r[k] for r in rouges])), 3) for k in rouges[0]] == [0.336, 0.120, 0.262]
