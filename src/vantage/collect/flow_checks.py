"""Checks that the parts of a study file fit each other, and that its flow can be gone through to its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil

from vantage.collect.blocks import Block, blocks_of, phases_of
from vantage.collect.document import StudyDocument
from vantage.collect.flow_document import ScreeningRulePart, SelectionPart, TrainingItemPart, TraitPart, WhenPart
from vantage.collect.languages import catalogues, language
from vantage.collect.study_checks import TAKEN, BlockChecks, StudyChecks, placed_blocks
from vantage.collect.translations import columns, differences
from vantage.corpora import Corpus
from vantage.documents import Document, Loc
from vantage.errors import InputError
from vantage.instruments import Instrument


class FlowChecks(StudyChecks):
    """Checks a study file, whose instruments and corpus are given where they could be read."""

    def __init__(
        self, document: Document, plan: StudyDocument, instruments: Mapping[str, Instrument], corpus: Corpus | None
    ) -> None:
        super().__init__(document, plan)
        self.instruments, self.corpus = instruments, corpus
        written = document.data.get("flow") if isinstance(document.data, Mapping) else None
        self.whole = len(plan.flow) == len(written or ())
        """Whether all phases could be read; otherwise references to the others are not checked."""
        self.asked: dict[str, tuple[TraitPart, Loc]] = {}
        """The questions about the participant so far."""
        self.rules: list[ScreeningRulePart] = []
        self.rows: dict[str, Sequence[int]] = {}
        """The rows of the items of each block that has its own."""

    def run(self) -> None:
        """Reports every problem."""
        self._recruitment()
        self._languages()
        if not self.instruments:
            return
        if self.plan.flow:
            self._order()
        self._questions()
        if not self._blocks():
            return
        blocks = blocks_of(self.plan, self.instruments)
        self._instruments(blocks)
        self._training()
        if self.corpus is not None:
            sizes = self._items(blocks)
            self._quotas(people_needed(self.plan, blocks, sizes))
        for block, (part, loc, _) in zip(blocks, placed_blocks(self.plan), strict=True):
            BlockChecks(self, block, part, loc).run(self.corpus, self.rows.get(block.repeats or block.id, ()))
        self._translations()

    def _recruitment(self) -> None:
        recruitment = self.plan.recruitment
        if recruitment.via == "prolific" and not (recruitment.completion_code or recruitment.completion_url):
            self.note(("recruitment",), "Prolific needs a 'completion_code', shown there when you set up the study")
        for name in ("screen_out_code", "full_code", "no_consent_code", "failed_check_code"):
            if recruitment.via != "prolific" and getattr(recruitment, name):
                self.note(("recruitment", name), "only valid with 'via: prolific'")

    def _languages(self) -> None:
        """Checks that there are pages in the languages of the study, one of which is that of its instrument."""
        plan, own = self.plan, self.instruments.get("")
        named: list[tuple[Loc, str]] = [(("language",), plan.language)]
        named += [(("languages", index), code) for index, code in enumerate(plan.languages)]
        named += [(("translations", code), code) for code in plan.translations]
        if plan.languages and plan.translations:
            self.note(("languages",), "'translations' name the languages; leave this out")
        for loc, code in named:
            if code and language(code).code != code.partition("-")[0].lower():
                self.note(loc, f"there are no pages in '{code}'; available: {', '.join(catalogues())}")
        self.unique(("languages",), plan.languages, "language")
        offered = plan.languages or ([plan.language] if plan.language else [])
        if own and offered and language(own.language).code not in {language(code).code for code in offered}:
            problem = f"instrument '{own.id}' is written in '{own.language}'; offer that, or translate it"
            self.note(("languages",) if plan.languages else ("language",), problem)

    def _translations(self) -> None:
        """Checks that translations are equivalent to the instrument, and that the items are there in every language."""
        own, items = self.instruments[""], self.corpus.items if self.corpus is not None else None
        for code in self.plan.translations:
            loc, other = ("translations", code), self.instruments[f"@{code}"]
            if language(other.language).code != code or code == language(own.language).code:
                problem = f"'{other.id}' is written in '{other.language}', '{own.id}' in '{own.language}'"
                self.note((*loc, "instrument"), f"{problem}; name the translation by its own language")
            for problem in differences(own, other):
                self.note((*loc, "instrument"), problem)
            if items is None:
                continue
            known = [column for field in own.fields for column in columns(field.name, code) if column in items.columns]
            if not known and any(field.kind != "target" for field in own.fields):
                names = " or ".join(columns(own.fields[0].name, code))
                self.note(loc, f"the items have no texts in '{code}'; add a column {names}")
            for column in known:
                if items[column].null_count():
                    self.note(loc, f"the column '{column}' is empty for {items[column].null_count()} items")
        if self.plan.translations and any(part.instrument for part, *_ in placed_blocks(self.plan)):
            self.note(("translations",), "all blocks use the study's own instrument, which is what is translated")

    def _order(self) -> None:
        kinds = [phase.kind for phase in self.plan.flow]
        for key in ("traits", "quiz"):
            if getattr(self.plan, key):
                phase = "questionnaire" if key == "traits" else key
                self.note((key,), f"the file has a 'flow'; make this a phase '{phase}' of it")
        if self.whole and kinds[0] != "consent":
            self.note(("flow", 0), "the first phase must be 'consent'")
        for index, kind in enumerate(kinds[1:], 1):
            if kind == "consent":
                self.note(("flow", index), "'consent' is the first phase, and only that")
        if self.whole and not any(kind in ("block", "blocks") for kind in kinds):
            self.note(("flow",), "this flow cannot end: no phase is a 'block', so there is nothing to judge")

    def _questions(self) -> None:
        for index, phase in enumerate(phases_of(self.plan)):
            # Without a flow, the only questions are the traits.
            inside: Loc = ("flow", index, phase.kind, "questions") if self.plan.flow else ("traits",)
            for number, question in enumerate(phase.questions_here):
                loc = (*inside, number)
                if question.id in self.asked:
                    self.note(loc, f"duplicate trait '{question.id}'")
                if question.id in TAKEN:
                    self.note((*loc, "id"), f"every export has a column '{question.id}'; rename the trait")
                if question.show_if:
                    self._condition((*loc, "show_if"), question.show_if)
                self.asked[question.id] = (question, loc)
            if phase.screener:
                for number, rule in enumerate(phase.screener.rules):
                    self._condition(("flow", index, "screener", "rules", number), rule)
                self.rules += phase.screener.rules
                if self.plan.recruitment.via == "prolific" and not self.plan.recruitment.screen_out_code:
                    self.note(("flow", index), "a screener on Prolific needs a 'screen_out_code' under 'recruitment'")
                for question in phase.screener.questions:
                    if question.required and question.show_if is None and not any(self._passing(question)):
                        problem = f"this flow cannot end: the rules screen out every answer to '{question.id}'"
                        self.note(("flow", index, "screener", "rules"), problem)

    def _condition(self, loc: Loc, when: WhenPart) -> None:
        if when.if_ not in self.asked:
            if self.whole:
                self.known((*loc, "if"), when.if_, list(self.asked), "earlier question")
            return
        question = self.asked[when.if_][0]
        if question.kind != "number" and (when.below is not None or when.above is not None):
            self.note(loc, f"'{question.id}' is of the kind '{question.kind}'; use 'is' or 'is_not'")
        for value in (*when.is_, *when.is_not):
            at = (*loc, "is" if when.is_ else "is_not")
            if question.options:
                self.known(at, str(value), question.options, "option")
            elif question.kind == "number" and not isinstance(value, int):
                self.note(at, f"'{question.id}' is a number, so '{value}' is never its answer")

    def _passing(self, question: TraitPart) -> Iterator[str | int]:
        """Answers to a question that no rule about it alone screens out."""
        answers: Sequence[str | int] = question.options
        if question.kind == "number":
            low = 0 if question.from_ is None else question.from_
            answers = range(low, min(low + 1000 if question.to is None else question.to, low + 10_000) + 1)
        if question.kind == "text":
            yield question.id
        for answer in answers:
            given = {question.id: [answer] if question.kind == "several" else answer}
            if not any(rule.if_ == question.id and rule.holds(given) for rule in self.rules):
                yield answer

    def _blocks(self) -> bool:
        """Whether the ids and references of the blocks are sound."""
        earlier: dict[str, bool] = {}
        sound = True
        for part, loc, group in placed_blocks(self.plan):
            mixed = group is not None and (group.order != "fixed" or group.people == "between")
            if part.id in earlier:
                self.note((*loc, "id"), f"duplicate block '{part.id}'")
                sound = False
            source = part.items.same_as if isinstance(part.items, SelectionPart) else None
            if source is not None:
                at: Loc = (*loc, "items", "same_as")
                if source not in earlier:
                    sound = self.known(at, source, list(earlier), "earlier block") if self.whole else False
                elif mixed and group is not None and any(one.id == source for one in group.of):
                    self.note(at, f"'{source}' may come later than this block, or not at all, in this group")
                elif not earlier[source]:
                    self.note(at, f"not every participant does '{source}'")
                for key in ("conditions", "raters", "batch"):
                    if getattr(part, key) is not None:
                        self.note((*loc, key), "not valid with 'same_as', which repeats what was judged before")
            earlier[part.id] = group is None or group.people != "between"
        if len(earlier) > 1 and self.plan.adaptive:
            self.note(("raters",), "a flow with several blocks cannot be adaptive; give a number")
        if len(earlier) > 1 and self.plan.batch.per_participant > 1:
            self.note(("batch", "per_participant"), "a flow with several blocks is done once; leave this out")
        return sound

    def _instruments(self, blocks: Sequence[Block]) -> None:
        own = self.instruments[""]
        scales = {question.id: (question.scale, own.id) for question in own.questions}
        by_id = {block.id: block for block in blocks}
        for block, (part, loc, _) in zip(blocks, placed_blocks(self.plan), strict=True):
            if part.instrument:
                at, other = (*loc, "instrument"), block.instrument
                if other.language != own.language:
                    self.note(at, f"'{other.id}' is in the language '{other.language}', the study in '{own.language}'")
                for question in other.questions:
                    scale, name = scales.setdefault(question.id, (question.scale, other.id))
                    if scale != question.scale:
                        self.note(at, f"question '{question.id}' has another scale in '{name}'; rename one of them")
            source = by_id.get(block.repeats or "")
            if source is not None and len(source.question_sets) != len(block.question_sets):
                self.note((*loc, "items", "same_as"), f"'{source.id}' has other groups of questions")

    def _training(self) -> None:
        for part, key, loc in _training(self.plan):
            instrument = self.instruments[key]
            self.known_answers(loc, instrument, part.accept, part.condition)
            fields = [field.name for field in instrument.fields]
            translated = [
                column for name in fields for code in self.plan.translations for column in columns(name, code)
            ]
            for name in part.item if isinstance(part.item, dict) else ():
                self.known((*loc, "item"), name, [*fields, *translated], "field")
        if self.corpus is not None:
            known = set(self.corpus.scan("items").select("item").collect()["item"])
            for item, at in training_items(self.plan):
                if item not in known:
                    self.note(at, f"the corpus has no item '{item}'")

    def _items(self, blocks: Sequence[Block]) -> dict[str, int]:
        """The number of items of every block, with problems of their selections."""
        assert self.corpus is not None  # noqa: S101
        apart = {item for block in blocks for item in block.gold} | {item for item, _ in training_items(self.plan)}
        sizes: dict[str, int] = {}
        pages = 0
        ends: dict[str, int] = {}
        for block, (part, loc, _) in zip(blocks, placed_blocks(self.plan), strict=True):
            at = (*loc, "items") if isinstance(part.items, SelectionPart) else loc or ("corpus",)
            if block.repeats is not None:
                whole = min(sizes[block.repeats], next(b.size for b in blocks if b.id == block.repeats))
                sizes[block.id] = min(whole, block.selection.sample or whole)
                most = pages - ends[block.repeats] + whole - 1
                if block.selection.sample is not None and block.selection.sample > whole:
                    self.note((*at, "sample"), f"participants judge only {whole} items in '{block.repeats}'")
                if whole and block.selection.distance > most:
                    problem = f"at most {most} pages can come between an item of '{block.repeats}' and its repetition"
                    self.note((*at, "distance"), problem)
            else:
                try:
                    self.rows[block.id] = block.rows(self.corpus, apart)
                    if not self.rows[block.id]:
                        self.note(at, "no items are left to judge")
                except InputError as error:
                    self.note(at, str(error).rstrip("."))
                size = sizes[block.id] = len(self.rows.get(block.id, ()))
                if part.batch is not None and part.batch > size > 0:
                    problem = f"each participant is to judge {part.batch} items, but the block has {size}"
                    self.note((*loc, "batch"), problem)
            pages += min(block.size, sizes[block.id])
            ends[block.id] = pages
        return sizes

    def _quotas(self, people: int) -> None:
        for name, quota in self.plan.quotas.items():
            if name not in self.asked:
                if self.whole:
                    self.known(("quotas", name), name, list(self.asked), "question about the participant")
                continue
            question, _ = self.asked[name]
            if question.kind != "choice":
                self.note(("quotas", name), f"'{name}' is of the kind '{question.kind}'; quotas need a 'choice'")
                continue
            passing = set(self._passing(question))
            for option, count in quota.items():
                known = self.known(("quotas", name, option), option, question.options, "option")
                if known and count and option not in passing:
                    problem = f"nobody can meet this quota: the screener ends the study for '{option}'"
                    self.note(("quotas", name, option), problem)
            total, whole = sum(quota.values()), set(quota) >= passing and question.required
            if total > people > 0:
                problem = f"the quotas ask for {total} people, but there is work for {people}"
                self.note(("quotas", name), problem)
            elif whole and total < people:
                problem = f"this flow cannot end: the quotas admit {total} people, but the ratings need {people}"
                self.note(("quotas", name), problem)


def people_needed(
    plan: StudyDocument, blocks: Sequence[Block], sizes: Mapping[str, int], ratings: Mapping[str, int] | None = None
) -> int:
    """How many batches of participants the wanted ratings take, or so many `ratings` of each block."""
    each = people_by_block(blocks, sizes, ratings)
    needed = [0]
    for phase in phases_of(plan):
        here = [each[part.id] for part in phase.blocks_here]
        between = phase.blocks is not None and phase.blocks.people == "between"
        needed.append(sum(here) if between else max(here, default=0))
    return max(needed)


def people_by_block(
    blocks: Sequence[Block], sizes: Mapping[str, int], ratings: Mapping[str, int] | None = None
) -> dict[str, int]:
    """How many batches of participants each block takes; one that repeats another takes no more than that."""
    wanted = (
        ratings
        if ratings is not None
        else {
            block.id: sum(block.allocation(arm, range(sizes[block.id])).count for arm in block.arms)
            for block in blocks
            if block.repeats is None
        }
    )
    return {block.id: ceil(wanted.get(block.id, 0) / max(min(block.size, sizes[block.id]), 1)) for block in blocks}


def training_items(plan: StudyDocument) -> Iterator[tuple[str, Loc]]:
    """The items of the corpus that participants practise on, with their place in the file."""
    return ((part.item, (*loc, "item")) for part, _, loc in _training(plan) if isinstance(part.item, str))


def _training(plan: StudyDocument) -> Iterator[tuple[TrainingItemPart, str, Loc]]:
    for index, phase in enumerate(plan.flow):
        if phase.guidelines and phase.guidelines.training:
            for number, part in enumerate(phase.guidelines.training.items):
                yield part, phase.guidelines.instrument, ("flow", index, "guidelines", "training", "items", number)
