"""What plans will take before anything is sent (calls, tokens, cost and time), and whether it fits `--max-cost`.

The conversations of a plan are gone through turn by turn, as when they are held, with short replies that are only
assumed; no model is loaded. Calls are told apart by their keys, so that what a run would ask once is counted once. A
second question is counted wherever it may be asked, so that calls are the most there can be.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any, Final

from vantage.errors import InputError
from vantage.instruments import Question
from vantage.raters.answers import choices
from vantage.raters.chat import REASON_TOKENS, ChatRater
from vantage.raters.contradictions import contradictions
from vantage.raters.conversation import Ask, Conversations, Step
from vantage.raters.design import ANSWER_SD, EFFECT_SD
from vantage.raters.models import is_remote
from vantage.raters.models.base import Completion
from vantage.runs.keys import Keys
from vantage.runs.options import CONCURRENCY, RunOptions
from vantage.runs.plan import PlanPart, RunPlan
from vantage.runs.prices import Price, batch_share, cost_of, discounted, price_of
from vantage.runs.profiles import TokenUse, token_use, told_prices
from vantage.runs.store import RunStore

TOKEN_LENGTH: Final = 4
"""Characters per token where no tokenizer is at hand: about right for English prose."""
FOLLOWING: Final[dict[Step, int]] = {"relevance": 40, "why": 100}
"""Typical tokens of replies to second questions."""
LATENCY: Final = 0.6
"""Seconds that a hosted model takes before it writes, typically."""
SPEED: Final = 60.0
"""Tokens that a hosted model writes in a second, typically."""
ASSUMED: Final[dict[Step, str]] = {
    "relevance": "Every item is assumed relevant to every selective persona, which gives the largest number of calls.",
    "why": "A reason is assumed to be asked for after every answer.",
}
SHARED: Final = "Identical requests of two raters are sent once and counted for the first of them."
STORED: Final = "Replies that are in the store already are neither sent nor counted."
CLARIFYING: Final = "Requests to clarify unreadable replies are not counted."
TOKENS: Final = "Tokens are estimated from the length of the prompts and typical lengths of replies."
TIMED: Final = (
    f"The time of hosted models assumes {LATENCY:g} seconds for each call and {SPEED:g} tokens a second, at the "
    "concurrency and within the limits that are set."
)
UNKNOWN: Final = (
    "Nothing is known of {model} yet: tokens of replies, cost and time are the least there can be. If it thinks before "
    "it answers, they are many times as much; vantage models probe {model} with --store finds out."
)
UNTIMED: Final = "The speed of models on this machine is not known before they have run."


@dataclass(slots=True)
class Estimate:
    """What one rater, or several together, will take."""

    rater: str
    model: str
    style: str
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = 0.0
    """Null when the price of the model is not known."""
    seconds: float | None = 0.0
    """Null when the speed of the model is not known."""
    at_least: bool = False
    """Whether the model may think, so that tokens of replies, cost and time are only the least there can be."""

    def __add__(self, other: Estimate) -> Estimate:
        """Both, one after the other; of what differs nothing is said."""

        def both(one: Any, two: Any) -> Any:
            if isinstance(one, str):
                return one if one == two else ""
            if isinstance(one, bool):
                return one or two
            return None if one is None or two is None else one + two

        return Estimate(*map(both, astuple(self), astuple(other)))


class Forecast:
    """Adds up plans.

    >>> from vantage import ChatRater, demo_corpus
    >>> forecast, rater = Forecast(), ChatRater("openai:x", "two-step")
    >>> forecast.add(RunPlan.of(demo_corpus(), rater, "warmth-competence", questions=["trust"]))
    >>> forecast.total.calls, forecast.total.cost
    (60, None)

    Args:
        options: How the run would be carried out: prices, concurrency, limits.
        store: Where replies may be that need not be asked for again.
    """

    def __init__(self, options: RunOptions | None = None, store: RunStore | None = None) -> None:
        self.options, self._store = options or RunOptions(), store
        self.assumptions: list[str] = []
        self._seen: dict[bytes, int] = {}
        self._estimates: dict[tuple[str, str], Estimate] = {}
        self._uses: dict[str, TokenUse] = {}

    def add(self, plan: RunPlan, assumption: str = "") -> None:
        """Adds what a plan asks beyond what was added before; `assumption` says what had to be assumed for it."""
        for part in plan.parts:
            part.check()
            rater = part.rater
            mine = Estimate(rater.id, rater.model_name, str(rater.row()["style"]))
            self._walk(part, mine)
            prices = self.options.prices
            if self._store is not None:
                prices = told_prices(self._store, [rater], prices)
            mine.cost, mine.seconds = self._cost(mine, prices), self._seconds(mine, rater.settings)
            mine.at_least = bool(mine.completion_tokens) and self._is_unknown(rater.model_name)
            known = self._estimates.get((rater.id, mine.style))
            self._estimates[rater.id, mine.style] = mine if known is None else known + mine
        if plan.parts:
            for sentence in (assumption, CLARIFYING if self.options.clarify else ""):
                self._assume(sentence)

    @property
    def estimates(self) -> list[Estimate]:
        """One for each rater, in the order in which they were added."""
        return list(self._estimates.values())

    @property
    def by_style(self) -> list[tuple[Estimate, int]]:
        """One for each model and style, with the number of raters."""
        estimates: dict[tuple[str, str], tuple[Estimate, int]] = {}
        for one in self._estimates.values():
            known = estimates.get((one.model, one.style))
            estimates[one.model, one.style] = (one, 1) if known is None else (known[0] + one, known[1] + 1)
        return list(estimates.values())

    @property
    def total(self) -> Estimate:
        """All of them together."""
        return sum(self.estimates, Estimate("", "", ""))

    @property
    def notes(self) -> list[str]:
        """What the numbers rest on, in sentences."""
        if not self._estimates:
            return []
        untimed = any(one.seconds is None for one in self.estimates)
        timed = any(one.model.startswith("openai:") and one.seconds is not None for one in self.estimates)
        unknown = [UNKNOWN.format(model=name) for name in self._uses if self._is_unknown(name)]
        return [*self.assumptions, TOKENS, *unknown, *([TIMED] if timed else []), *([UNTIMED] if untimed else [])]

    def _walk(self, part: PlanPart, mine: Estimate) -> None:
        """Goes through the conversations of a part and counts the calls that were not counted before."""
        done = part.done()
        repeated = 1
        if part.rater.samples > 1 and not part.skipped(done) and self._store is None:
            # Samples differ in their number alone: one is gone through and stands for all.
            repeated = part.rater.samples
            part = replace(part, rater=replace(part.rater, samples=1))
        keys = Keys(part.rater, part.used, part.condition)
        talks = Conversations(part.rater, part.corpus, part.used, part.condition)
        characters = 0
        for call in part.calls(done):
            talk = talks.about(call)
            ask = next(talk)
            while True:
                key = keys.call(ask).key
                wanted = 1 if ask.step == "relevance" else repeated
                times = wanted - self._seen.get(key, 0)
                stored = self._store.lookup([key]).get(key) if self._store is not None else None
                if times > 0 and stored is not None:
                    self._seen[key] = wanted
                    self._assume(STORED)
                elif times > 0:
                    self._seen[key] = wanted
                    # Samples that come with one request share its prompt.
                    sent = math.ceil(times / part.rater.several)
                    mine.calls += sent
                    characters += sent * sum(len(message.content) for message in ask.request.messages)
                    mine.completion_tokens += round(times * self._reply_tokens(ask, part.rater, call.questions))
                    if ask.step in ASSUMED:
                        self._assume(ASSUMED[ask.step])
                elif ask.step == "answer":
                    self._assume(SHARED)
                try:
                    ask = talk.send(stored.completion if stored else _reply(ask, call.questions))
                except StopIteration:
                    break
        mine.prompt_tokens = round(characters / (self._usage(part.rater).characters or TOKEN_LENGTH))

    def _reply_tokens(self, ask: Ask, rater: ChatRater, questions: Sequence[Question]) -> float:
        """Tokens of a reply: as of stored ones of this model in this style, else typical ones and its thinking."""
        if ask.options:
            return 0
        usage = self._usage(rater)
        usual = usage.by_step.get((rater.style_name, ask.step))
        if usual is not None:
            self._assume("Replies are assumed to be as long as stored ones of the same model and style.")
            return min(usual, ask.request.sampling.max_tokens)
        written = float(FOLLOWING[ask.step]) if ask.step in FOLLOWING else rater.reply_tokens(questions)
        one = usage.reasoned if written >= REASON_TOKENS * len(questions) else usage.plain
        if ask.step == "answer" and one is not None:
            usual = one + written * (1 - 1 / len(questions))
        else:
            usual = written + usage.thinking
        if usage.thinking:
            self._assume(f"{rater.model_name} thinks for about {usage.thinking:,.0f} tokens, as {usage.source}.")
        return min(usual, ask.request.sampling.max_tokens)

    def _usage(self, rater: ChatRater) -> TokenUse:
        if rater.model_name not in self._uses:
            self._uses[rater.model_name] = token_use(self._store, rater)
        return self._uses[rater.model_name]

    def _is_unknown(self, model: str) -> bool:
        """Whether neither a profile nor stored replies tell how much a hosted model writes."""
        return is_remote(model) and model in self._uses and not self._uses[model].source

    def _assume(self, sentence: str) -> None:
        if sentence and sentence not in self.assumptions:
            self.assumptions.append(sentence)

    def _cost(self, mine: Estimate, prices: Mapping[str, Price]) -> float | None:
        price = price_of(mine.model, prices)
        if price is None:
            return None
        paid = discounted(price, batch_share(mine.model)) if self.options.engine == "batch" else price
        return cost_of(paid, mine.prompt_tokens, mine.completion_tokens)

    def _seconds(self, mine: Estimate, settings: Mapping[str, Any]) -> float | None:
        kind, options = mine.model.partition(":")[0], self.options
        if kind == "recorded" or not mine.calls:
            return 0.0
        if kind != "openai" or options.engine == "batch":
            return None
        under_way = options.concurrency or int(settings.get("concurrency", CONCURRENCY))
        limits = [
            (mine.calls * LATENCY + mine.completion_tokens / SPEED) / under_way,
            60 * mine.calls / (options.requests_per_minute or float("inf")),
            60 * mine.prompt_tokens / (options.tokens_per_minute or float("inf")),
        ]
        return max(limits)


def prompt_notes(part: PlanPart) -> list[str]:
    """What the prompts say against themselves, and what a design asks and can show, in sentences."""
    first = part.rater.plan(
        part.corpus, part.used, questions=part.asked, condition=part.condition, items=part.corpus.items.head(1)
    )
    against = [note for call in first for note in contradictions(call.prompter, call.questions)]
    return [*_design_notes(part), *dict.fromkeys(against)]


def _design_notes(part: PlanPart) -> list[str]:
    """What a design asks and can show; nothing without one."""
    design, samples = part.rater.design, part.rater.samples
    if design is None or not design.factors:
        return []
    whole = math.prod(len(levels) for _, levels in design.factors)
    times = f", {samples} times each" if samples > 1 else ""
    of_all = "" if design.size == whole else f" of {whole:,} possible"
    notes = [
        f"The {design.kind} design asks every question about every item in {design.size}{of_all} presentations{times}: "
        + "; ".join(f"{factor} ({', '.join(levels)})" for factor, levels in design.factors)
        + "."
    ]
    ordered = [question for question in part.used.questions if question.id in part.asked and question.scale.ordered]
    if ordered:
        scale, items = ordered[0].scale, len(part.corpus.items)
        seen = {f: design.smallest_effect(f, items, samples, scale) for f, _ in design.factors}
        notes.append(
            f"The smallest difference between two levels that {items:,} items show with 80 % power, in points of "
            f"{ordered[0].id} ({scale.describe()}): " + ", ".join(f"{f} {size:.2g}" for f, size in seen.items()) + ". "
            "This assumes a two-sided test at 5 %, answers about one item that vary by "
            f"{100 * ANSWER_SD:.0f} % of the scale's length (standard deviation), and effects "
            f"that vary by {100 * EFFECT_SD:.0f} % of it from item to item."
        )
    return notes


def _reply(ask: Ask, questions: Sequence[Question]) -> Completion:
    """A short reply after which the conversation goes on, if it can: ten is the highest relevance."""
    if ask.options:
        return Completion("", scores=(0.0,) * len(ask.options))
    if ask.step == "relevance":
        return Completion("10")
    known = choices(questions[0].scale)
    return Completion(known[0].word if known else "1")


def check_affordable(plan: RunPlan, store: RunStore, options: RunOptions) -> None:
    """Refuses a design that would cost more than the limit, and says what the limit pays for."""
    designs = [part for part in plan.parts if part.rater.design and part.rater.design.factors]
    if options.max_cost is None or not designs:
        return
    forecast = Forecast(options, store)
    forecast.add(plan)
    cost = forecast.total.cost
    if cost is None or cost <= options.max_cost:
        return
    first = designs[0]
    asked, items = first.rater.repetitions, int(len(first.corpus.items) * options.max_cost / cost)
    raise InputError(
        f"the design asks about each item {asked} times and costs about {cost:.4g}, more than {options.max_cost:g} "
        f"({forecast.total.calls:,} calls)",
        remedy=f"raise --max-cost, vary fewer factors, or ask about {items:,} items (--limit)",
    )
