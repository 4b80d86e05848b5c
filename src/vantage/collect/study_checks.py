"""Checks that the values of a study file fit each other, the instrument, and the items of the corpus."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from string import Formatter
from typing import Final

import polars as pl

from vantage.adaptive.until import Until
from vantage.collect.document import RangePart, StudyDocument
from vantage.collect.languages import catalogues, language
from vantage.corpora import Corpus
from vantage.corpora.disclosure import TECHNICAL
from vantage.documents import Document, Loc
from vantage.errors import InputError, nearest
from vantage.instruments import Instrument
from vantage.presentations import FACTORS, Presentation, levels
from vantage.scales import Scale, show_code

TAKEN: Final = ("rater", "kind", *TECHNICAL)
"""Columns of exported raters, which no trait may be named after."""


class PlanChecks:
    """Checks values of a study file against each other and against the instrument."""

    def __init__(self, document: Document, plan: StudyDocument, instrument: Instrument) -> None:
        self.document, self.plan, self.instrument = document, plan, instrument
        self.questions = [question.id for question in instrument.questions]
        self.named = [*self.questions, *{question.whole.id for question in instrument.questions if question.whole}]

    def run(self) -> None:
        """Reports every problem."""
        plan = self.plan
        if plan.conditions:
            way = "between" if plan.conditions.between else "within"
            self._unique(("conditions", way), plan.conditions.names, "condition")
            for index, name in enumerate(plan.conditions.names):
                self._known(("conditions", way, index), name, list(self.instrument.conditions), "condition")
        if not isinstance(plan.questions, str):
            for index, group in enumerate(plan.questions):
                self._unique(("questions", index), group, "question")
                for name in group:
                    self._known(("questions", index), name, self.named, "question")
        if plan.double and plan.double.raters <= plan.core:
            self._note(("double", "raters"), f"must be more than 'raters', which is {plan.core}")
        self._adaptive()
        for key, code in [
            (("language",), plan.language),
            *((("languages", n), c) for n, c in enumerate(plan.languages)),
        ]:
            if code and language(code).code != code.partition("-")[0].lower():
                self._note(key, f"there are no pages in '{code}'; available: {', '.join(catalogues())}")
        self._unique(("languages",), plan.languages, "language")
        self._unique(("traits",), [trait.id for trait in plan.traits], "trait")
        for index, trait in enumerate(plan.traits):
            if trait.id in TAKEN:
                self._note(("traits", index, "id"), f"every export has a column '{trait.id}'; rename the trait")
        self._attention()
        self._gold()
        self._presentation()
        self._recruitment()

    def _adaptive(self) -> None:
        plan = self.plan.adaptive
        if plan is None:
            return
        until = Until.parse(plan.until)
        if self.plan.double:
            self._note(("double",), "an adaptive study has no doubly annotated subset; leave it out")
        for question in self.instrument.questions if until.by_item else ():
            if question.scale.range is not None:
                problem = f"question '{question.id}' takes any number, so that answers have no shares; use 'alpha 0.2'"
                self._note(("raters", "until"), problem)
        if until.needed is not None and until.needed[0] > plan.max:
            self._note(
                ("raters", "until"),
                f"no item can be known to a width of {until.target:g} with {plan.max} ratings; 'max' must be at least "
                f"{until.needed[0]} for items on which everyone agrees, and {until.needed[1]} where people are split",
            )
        known = {trait.id: trait for trait in self.plan.traits}
        for index, name in enumerate(plan.balance):
            self._known(("raters", "balance", index), name, list(known), "trait")
            if name in known and known[name].kind != "choice":
                self._note(("raters", "balance", index), f"trait '{name}' must be a choice with options")
            elif name in known and len(known[name].options) > plan.max:
                problem = (
                    f"'{name}' has {len(known[name].options)} options, but no item gets more than {plan.max} ratings"
                )
                self._note(("raters", "balance", index), problem)

    def _attention(self) -> None:
        plan = self.plan.attention
        if plan is None:
            return
        known = {check.id: check for check in self.instrument.checks}
        if not plan.checks and not known:
            self._note(("attention",), f"instrument '{self.instrument.id}' has no checks; add some under 'checks'")
        for index, part in enumerate(plan.checks):
            loc: Loc = ("attention", "checks", index)
            if isinstance(part, str):
                self._known(loc, part, list(known), "check of the instrument")
            else:
                self._accepted((*loc, "accept"), part.question, part.accept)
        self._unique(("attention", "checks"), [p if isinstance(p, str) else p.id for p in plan.checks], "check")

    def _gold(self) -> None:
        plan = self.plan.gold
        if plan is None:
            return
        self._unique(("gold", "items"), [part.item for part in plan.items], "gold item")
        for index, part in enumerate(plan.items):
            loc: Loc = ("gold", "items", index)
            for question, accept in part.accept.items():
                codes = [accept.from_, accept.to] if isinstance(accept, RangePart) else accept
                self._accepted((*loc, "accept", question), question, codes, inside=isinstance(accept, RangePart))
            if part.condition:
                self._known((*loc, "condition"), part.condition, list(self.instrument.conditions), "condition")

    def _presentation(self) -> None:
        part = self.plan.presentation
        if part is None:
            return
        loc: Loc = ("presentation",)
        if not part.levels:
            self._note(loc, "no factor is given, so nothing changes; leave it out, or name one such as 'order: random'")
        groups = [] if isinstance(self.plan.questions, str) else self.plan.questions
        asked = {name for group in groups for name in group} or set(self.questions)
        questions = [question for question in self.instrument.questions if question.id in asked]
        for factor, chosen in part.levels.items():
            self._unique((*loc, factor), chosen, "level")
            try:
                known = levels(factor, self.instrument, questions)
            except InputError as error:
                self._note((*loc, factor), error.problem)
                continue
            allowed = known if factor in ("wording", "labels") else FACTORS[factor]
            for level in chosen:
                self._known((*loc, factor), level, allowed, f"level of {factor}")
        try:
            for way, words in product(part.levels.get("direction", ("",)), part.levels.get("wording", ("",))):
                for question in questions:
                    Presentation(direction=way, wording=words).shown(question)
        except InputError as error:
            self._note(loc, error.problem)
        moved = sorted(set(part.levels) - {"order", "questions"})
        if self.plan.attention and moved:
            self._note(
                loc,
                "attention checks name an answer as the instrument shows it, so only 'order' and 'questions' go with "
                f"them; leave out {', '.join(moved)} or the checks",
            )

    def _recruitment(self) -> None:
        plan = self.plan.recruitment
        if plan.via == "prolific" and not (plan.completion_code or plan.completion_url):
            self._note(("recruitment",), "Prolific needs a 'completion_code', shown there when you set up the study")
        for name in ("screen_out_code", "full_code", "no_consent_code", "failed_check_code"):
            if plan.via != "prolific" and getattr(plan, name):
                self._note(("recruitment", name), "only valid with 'via: prolific'")

    def _accepted(self, loc: Loc, question: str, codes: Sequence[float], *, inside: bool = False) -> None:
        self._known(loc, question, self.questions, "question")
        if question in self.questions:
            scale: Scale = self.instrument.question(question).scale
            for code in codes:
                fits = scale.ends[0] <= code <= scale.ends[1] if inside else scale.holds(code)
                if not fits:
                    self._note(loc, f"{show_code(code)} is not on the scale {scale.describe()}")

    def _note(self, loc: Loc, message: str) -> None:
        self.document.problem(self.document.original(loc), message)

    def _known(self, loc: Loc, name: str, known: Sequence[str], what: str) -> None:
        if name not in known:
            self._note(loc, f"unknown {what} '{name}'; {nearest(name, known)}")

    def _unique(self, loc: Loc, names: Sequence[str], what: str) -> None:
        for index, name in enumerate(names):
            if name in names[:index]:
                self._note((*loc, index), f"duplicate {what} '{name}'")


def check_items(document: Document, plan: StudyDocument, instrument: Instrument, corpus: Corpus) -> None:
    """Checks that the corpus has the fields that are shown and the gold items."""
    items = corpus.scan("items")
    columns = items.collect_schema().names()
    # A target alone can be judged only where the instrument asks about nothing else.
    judged = [field for field in instrument.fields if field.kind != "target"] or instrument.fields
    if not any(field.name in columns for field in judged):
        names = ", ".join(f"'{field.name}'" for field in instrument.fields)
        problem = f"its items have none of the columns {names} that '{instrument.id}' shows ({', '.join(columns)})"
        document.problem(("corpus",), problem)
        return
    conditions = plan.conditions.names if plan.conditions else ()
    try:
        for condition in conditions or ("",):
            corpus.check_asked(instrument, condition=condition)
    except InputError as error:
        document.problem(("corpus",), str(error).rstrip("."))
        return
    needed = {field.name for condition in conditions for field in instrument.shown(condition)}
    for question in instrument.questions:
        for wording in (question.ask, *question.ask_in.values()):
            needed |= {word for _, word, _, _ in Formatter().parse(wording) if word}
    for name in sorted(needed - set(columns)):
        document.problem(("corpus",), f"its items have no column '{name}', which '{instrument.id}' needs")
    if plan.gold:
        wanted = [part.item for part in plan.gold.items]
        existing = set(items.select("item").filter(pl.col("item").is_in(wanted)).collect()["item"])
        for index, item in enumerate(wanted):
            if item not in existing:
                document.problem(("gold", "items", index, "item"), f"the corpus has no item '{item}'")
