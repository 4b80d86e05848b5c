"""The options of the study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from vantage.studies.base import option


@dataclass(frozen=True)
class AppraisalsOptions:
    """What can be changed about the study."""

    steps: Literal["one", "two", "both"] = option(
        "both", "how models are asked: rating and reason at once, the reason after the rating, or each way"
    )
    runs: int = option(5, "how often a model is asked, each time with another seed")
    temperature: float = option(0.1, "of models that are asked")
    max_tokens: int = option(400, "the longest reply")
    posts: int = option(0, "how many posts models are asked about, from the first; 0 for all")
    encoder: str = option("", "minilm, tfidf or hf:NAME, for the likeness of rationales in meaning; none without it")
    bertscore: str = option("", "minilm or a Transformers encoder, for BERTScore; needs torch and bert-score")
    bertscore_layers: int = option(0, "from which layer; 0 for what bert-score knows, 6 for minilm")
    draws: int = option(3, "how many texts the chance baselines draw for each pair")
    topics: int = option(3, "how many topics per question; 0 for none")
    fits: int = option(3, "how many fits a topic's stability rests on")
    folds: int = option(5, "folds of the cross-validation")
    epsilon: float = option(0.2, "what a model saves, in the alternative annotator test; 0.2 is for experts")
    resamples: int = option(1000, "how often posts are resampled")
