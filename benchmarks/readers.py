"""What simulated readers cost when they stop early, and whether items keep their order.

The full plan has 40 personas answer 20 times each. Personas differ by a planted amount; the entropy of all 800 answers
is compared with that of the readers who were asked before they stopped. Requests are counted where one request brings
several answers and where it brings one.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import numpy as np
import polars as pl
from scipy.stats import spearmanr

from vantage import Corpus, Instrument
from vantage.context import Simulator, detected, simulate
from vantage.measures.ratings import Floats
from vantage.raters.models.base import Completion, LogProbs, ModelError, Request
from vantage.raters.personas import Personas
from vantage.report import Figure
from vantage.studies.context.pipeline.ambiguity import entropy

ANSWERS = ("no", "yes", "ambiguous")
SAMPLES = 20
_NUMBER = re.compile(r"Statement (\d+)\.")


def _drawn(*parts: object) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32("|".join(map(str, parts)).encode()))


class Readers:
    """A model whose personas have known chances of every answer to every statement.

    Args:
        between: How much personas differ, in logits; 0 for readers who are all alike.
        several: How many answers one request brings.
        seed: Random seed.
    """

    window: int | None = None

    def __init__(self, between: float = 1.0, several: int = 1, seed: int = 0) -> None:
        self.name, self.notes, self.several = "readers", list[str](), several
        self.between, self.seed = between, seed
        self.replies = 0
        self.prompts: set[tuple[str, str]] = set()

    @property
    def requests(self) -> int:
        """How many requests were needed: one for each prompt where it brings several answers."""
        return len(self.prompts) if self.several > 1 else self.replies

    def chances(self, number: int, persona: str) -> Floats:
        """The chance of each answer of one persona to one statement."""
        base = _drawn(self.seed, number)
        lean = np.log(base.dirichlet(np.array([1, 1, 0.4]) * base.choice([0.3, 1.0, 3.0])) + 1e-3)
        odds = np.exp(1.5 * (lean + _drawn(self.seed, number, persona).normal(0, self.between, 3)))
        return np.asarray(odds / odds.sum())

    def complete(self, requests: Sequence[Request]) -> list[Completion]:
        """Answers as the persona of each request would."""
        return [self._reply(request) for request in requests]

    def _reply(self, request: Request) -> Completion:
        persona, asked = request.messages[0].content, request.messages[-1].content
        self.replies += 1
        self.prompts.add((persona, asked))
        match = _NUMBER.search(asked)
        assert match is not None
        number, who = int(match[1]), persona.partition("# Who you are")[2][:80]
        chances = self.chances(number, who)
        return Completion(ANSWERS[_drawn(number, who, request.sampling.seed, self.seed).choice(3, p=chances)])

    def score(self, requests: Sequence[Request], options: Sequence[str]) -> LogProbs:
        """These readers answer in words; nobody asks them for scores."""
        raise ModelError("simulated readers have no scores")

    def count_tokens(self, text: str) -> int:
        """Characters stand for tokens."""
        return len(text)

    def close(self) -> None:
        """Nothing is held."""

    def full(self, items: int, draw: int = 0) -> Floats:
        """The entropy of each statement when all personas answer all samples."""
        voices = [f"\n\n{one.profile()}"[:80] for one in Personas.load("pool")]
        rng, shares = np.random.default_rng((self.seed, draw)), []
        for number in range(items):
            counts = [rng.multinomial(SAMPLES, self.chances(number, voice)) for voice in voices]
            shares.append(np.sum(counts, axis=0) / (SAMPLES * len(voices)))
        return entropy(np.array(shares))


def statements(items: int) -> Corpus:
    """Statements that have nothing but a number."""
    table = pl.DataFrame(
        {"item": [f"s{n:03}" for n in range(items)], "text": [f"Statement {n}." for n in range(items)]}
    )
    empty = pl.DataFrame(schema={"item": pl.String, "question": pl.String, "rater": pl.String, "value": pl.Float64})
    return Corpus(table, pl.DataFrame(schema={"rater": pl.String}), empty, Instrument.load("sarcasm"))


def stopped(model: Readers, items: int = 120, stop: float = 0.3, most: int = 32) -> tuple[float, float, float]:
    """Spearman's correlation with the full plan, requests per item, and answers per item."""
    how = Simulator(model, answers="sampling", stop=stop, most=most, samples=SAMPLES)
    found = detected(simulate(statements(items), "sarcasm", how, "persona"))
    rho = float(spearmanr(model.full(items), found.table["score"].to_numpy())[0])
    return rho, model.requests / items, model.replies / items


def figure() -> Figure:
    """Prints the table of docs/context.md and gives its figure."""
    rows = []
    for several, label in ((5, "5 answers"), (1, "1 answer")):
        for between in (0.3, 1.0, 2.0):
            for most in (8, 16, 32, 64):
                model = Readers(between, several)
                rho, requests, replies = stopped(model, most=most)
                series = f"{label}, σ = {between:g}"
                print(f"{series}, at most {most}: rho {rho:.3f}, {requests:.1f} requests, {replies:.0f} answers")
                rows.append({"readers": series, "requests": requests, "rho": rho})
    again = Readers(1.0)
    print(f"two full plans (800 requests each): rho {spearmanr(again.full(120), again.full(120, 1))[0]:.3f}")
    options = {"x": "requests", "y": "rho", "series": "readers", "limits": [0.75, 1], "height": 3.4}
    options |= {
        "x_label": "requests (a full plan has 800)",
        "label": "rank correlation with a full plan",
    }
    return Figure("stopping", "", "", "curve", pl.DataFrame(rows), options)


def main() -> None:
    """Prints the table; `python -m tools.pictures context-stopping` keeps the figure, too."""
    figure()


if __name__ == "__main__":
    main()
