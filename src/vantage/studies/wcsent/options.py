"""The options of the study."""

from __future__ import annotations

from dataclasses import dataclass

from vantage.studies.base import option


@dataclass(frozen=True)
class WcsentOptions:
    """What can be changed about the study."""

    predict: bool = option(True, "whether raters learn from the training part and judge the test part")
    encoder: str = option(
        "auto", "auto (the embedded MiniLM where it is installed), none, a folder or a name on the hub"
    )
    probe: str = option(
        "auto", "the language model that is probed: auto (the embedded one where it is installed), none, or hf:NAME"
    )
    variants: str = option(
        "distribution", "distribution, huber-mean, huber-median, coarse-mean, coarse-median, coarse-focal"
    )
    seeds: int = option(1, "how often every encoder is trained, with one seed after the other")
    members: int = option(0, "how many networks an encoder consists of; 0 for the default")
    styles: str = option(
        "zero-shot,few-shot:6,coarse,few-shot:6+coarse", "the prompting styles of models that are named with --model"
    )
    limit: int = option(0, "only the first pairs of the test part are put to models; 0 for all")
    stance: str = option("", "a CSV file with text, target, stance (and sentiment) of the pairs")
    demographics: str = option("", "a CSV file with the annotators' traits and a column rater")
