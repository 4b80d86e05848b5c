"""A chat model as a rater: the same instrument, the same items, judgments in the same table."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError, nearest
from vantage.instruments import Instrument, Question, grouped
from vantage.presentations import PLAIN, Presentation
from vantage.raters.design import Design, styled
from vantage.raters.models import check_model, gives_several, is_remote, load_model
from vantage.raters.models.base import ChatModel, Remote, Request, Sampling
from vantage.raters.personas import Persona
from vantage.raters.prompts import Prompter, Shot
from vantage.raters.shots import Encode, History, choose, corpus_shots, instrument_shots, tfidf
from vantage.raters.style import Style
from vantage.raters.templates import Template, TemplatePrompter

ANSWER_TOKENS: Final = 8
"""How long a bare answer is, typically."""
REASON_TOKENS: Final = 120
"""How long an answer with its reasons is, typically."""


LEAST_MASS: Final = 0.5
"""Where the options have less of the probability than this, the model would rather say something else."""


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One request with what it is for, and what it takes to write it anew."""

    item: Mapping[str, Any]
    questions: tuple[Question, ...]
    sample: int
    request: Request
    prompter: Prompter
    shots: tuple[Shot, ...] = ()
    repeat: int | None = None
    """Which repetition of the same request it is, where the sample counts other presentations as well."""
    presentations: tuple[Presentation, ...] = ()
    """How each question is put; the questions come as they are shown."""

    @property
    def repetition(self) -> int:
        """Which repetition of the same request it is."""
        return self.sample if self.repeat is None else self.repeat

    def presented(self, question: str) -> Presentation:
        """How a question is put."""
        ids = [one.id for one in self.questions]
        return self.presentations[ids.index(question)] if self.presentations and question in ids else PLAIN

    def with_item(self, item: Mapping[str, Any]) -> PlannedCall:
        """The same call about an item that was changed, such as one that was cut."""
        request = self.prompter.request(self.questions, item, self.shots)
        return replace(self, request=replace(request, sampling=self.request.sampling, tag=self.request.tag))


@dataclass(frozen=True)
class ChatRater:
    """A chat model that judges items in one prompting style.

    Args:
        model: `openai:NAME`, `gguf:PATH`, `hf:NAME`, `embedded`, `recorded:PATH`, or a model object.
        style: Parts joined by `+`, such as `few-shot:4+reasoning` (see `vantage.raters.style`).
        persona: Who plays the rater, for the styles `persona` and `selective-persona`.
        user: A rater of the corpus whose trait (`perspective`) or earlier judgments (`history`) are given.
        samples: How often each question is asked, in each presentation of the design.
        template: A prompt of a published release, put as it is printed (see `vantage.raters.templates`).
        design: The presentations in which every item is asked (see `vantage.raters.design`).
        temperature: Sampling temperature; 0 gives the most probable reply.
        max_tokens: The maximum length of a reply in tokens; more for models known to think first.
        seed: Random seed.
        training: A corpus to draw few-shot examples from, instead of the instrument's own, and a user's history,
            instead of the corpus that is judged.
        encode: With `history`: what makes two items similar; TF-IDF unless given (see `vantage.raters.encoders`).
        calibrate: With `scoring`: whether to take off what an option is given whatever the item (see
            `vantage.raters.scoring.calibrated`); by default for the embedded model only.
        min_mass: With `scoring` and `sampling`: how probable the options must be together for the likeliest of them
            to count as an answer (default: 0.5; 0 for the embedded model, whose answers are weak).
        name: The rater's id (default: made from model, style, persona and user).
    """

    model: str | ChatModel
    style: str | Style = "zero-shot"
    persona: Persona | None = None
    user: str | None = None
    samples: int = 1
    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 512
    seed: int = 0
    training: Corpus | None = None
    encode: Encode = tfidf
    calibrate: bool | None = None
    min_mass: float | None = None
    name: str = ""
    design: Design | None = None
    template: Template | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the model, such as base_url or threads."""

    def __post_init__(self) -> None:
        if isinstance(self.style, str):
            object.__setattr__(self, "style", Style.parse(self.style))
        voice = self.parts.voice
        for who, given, needed in (
            ("persona", self.persona, voice in ("persona", "selective-persona")),
            ("user", self.user, voice in ("perspective", "history")),
        ):
            if needed != (given is not None):
                wanted, remedy = ("needs", f"pass {who}=") if needed else ("has no place for", "leave it out")
                raise InputError(f"style '{self.parts.name}' {wanted} a {who}", remedy=remedy)
        if self.samples < 1:
            raise InputError(f"{self.samples} samples were asked for", remedy="ask for at least one")
        if self.parts.distribution and self.samples > 1:
            raise InputError("scoring and sampling give the whole distribution at once", remedy="leave samples at 1")
        if self.template is not None and self.parts != Style():
            raise InputError("a template has a form of its own", remedy="leave the style out")
        if self.min_mass is not None and not 0 <= self.min_mass <= 1:
            raise InputError(f"the least mass is {self.min_mass}", remedy="give a share from 0 to 1")

    @property
    def parts(self) -> Style:
        """The style, read."""
        assert isinstance(self.style, Style)  # noqa: S101 - read in __post_init__
        return self.style

    @property
    def answers(self) -> bool:
        """Whether its replies are answers, which can be asked for again; not where it writes texts."""
        return True

    @property
    def model_name(self) -> str:
        """The model as it is named on the command line."""
        return self.model if isinstance(self.model, str) else self.model.name

    @property
    def calibrates(self) -> bool:
        """Whether scores are calibrated; that would take off the effects for which presentations are varied."""
        if self.calibrate is not None:
            return self.calibrate
        return self.model_name == "embedded" and not (self.design and self.design.factors)

    @property
    def repetitions(self) -> int:
        """How often a question is asked about an item, over all presentations."""
        return self.samples * (self.design.size if self.design else 1)

    @property
    def least_mass(self) -> float:
        """The share of the probability that the options must have together."""
        if self.min_mass is not None:
            return self.min_mass
        return 0.0 if self.model_name == "embedded" else LEAST_MASS

    @property
    def remote(self) -> bool:
        """Whether the model is behind a network, which tells only how a reply begins."""
        return is_remote(self.model) if isinstance(self.model, str) else isinstance(self.model, Remote)

    @property
    def several(self) -> int:
        """How many of its samples one request may ask for, at an endpoint that gives several."""
        if not isinstance(self.model, str):
            return int(getattr(self.model, "several", 1))
        chats = self.settings.get("api", "chat") == "chat"
        return int(self.settings.get("several", 1)) if chats and gives_several(self.model) else 1

    @property
    def id(self) -> str:
        """The rater's id in the raters table."""
        return self.name or f"{self.model_name}+{self.style_name}{self.played}"

    @property
    def played(self) -> str:
        """Whom the rater stands for, as the end of its id."""
        return f"/{self.persona.id}" if self.persona else f"/@{self.user}" if self.user else ""

    @property
    def style_name(self) -> str:
        """The style as the raters table has it."""
        return f"template:{self.template.name}" if self.template else self.parts.name

    def row(self) -> dict[str, Any]:
        """The rater's row: what it is, how it was asked, and as whom."""
        row: dict[str, Any] = {
            "rater": self.id,
            "kind": "persona" if self.persona or self.user else "model",
            "model": self.model_name,
            "style": self.style_name,
        }
        if self.template:
            row["template"] = self.template.digest
        if self.user:
            row["stands_for"] = self.user
        if self.persona:
            row |= self.persona.traits()
        return row

    def reply_tokens(self, questions: Sequence[Question]) -> int:
        """How long the reply to a first request is, typically: for an estimate of what asking will take."""
        style = self.parts
        required = not style.two_step and any(question.rationale == "required" for question in questions)
        return len(questions) * (REASON_TOKENS if style.reasoning or style.answer_first or required else ANSWER_TOKENS)

    def asked_of(self, model: str) -> ChatRater:
        """The same rater with another model; an address or a key of one kind of model is none of another kind."""
        same = model.partition(":")[0] == self.model_name.partition(":")[0]
        return replace(self, model=model, name="", settings=self.settings if same else {})

    def check_model(self) -> None:
        """Refuses a model that does not exist or has no such settings, before any model is asked."""
        if isinstance(self.model, str):
            check_model(self.model, self.settings)

    def open(self) -> ChatModel:
        """The model itself, loaded."""
        return load_model(self.model, **self.settings) if isinstance(self.model, str) else self.model

    def plan(
        self,
        corpus: Corpus,
        instrument: Instrument,
        *,
        questions: Sequence[str] = (),
        condition: str = "",
        items: pl.DataFrame | None = None,
        done: Container[tuple[str, str, int]] = (),
    ) -> Iterator[PlannedCall]:
        """Every first request of the rater, in the order of the items; nothing is sent.

        When options are scored, one question comes after the other, so that neighbours share their prompts' beginning.

        Args:
            corpus: The items, and what examples and users' histories are drawn from.
            instrument: What is asked.
            questions: Some of its questions; all where none is named.
            condition: The circumstances.
            items: Some of the items; all where none are given.
            done: Judgments (item, question, sample) that are there; a request whose every answer is, is left out.
        """
        asked = chosen_questions(instrument, questions)
        prompter = self.prompter(corpus, instrument, condition)
        groups = self.groups(asked)
        shots = _Shots(self, corpus, instrument, condition)
        chosen = corpus.items if items is None else items
        # A study may have a prompter of its own, which words the questions itself.
        if type(prompter) is Prompter:
            corpus.check_asked(instrument, [question.id for question in asked], condition, chosen)
        passes = [(group,) for group in groups] if self.parts.scoring else [tuple(groups)]
        draws = [
            Sampling(self.temperature, self.top_p, self.max_tokens, self.seed + n) for n in range(self.repetitions)
        ]
        for groups_of_pass in passes:
            for item in chosen.iter_rows(named=True):
                id_ = str(item["item"])
                asked_as = self.design.asked(id_, self.samples) if self.design else None
                for group in groups_of_pass:
                    samples = [n for n in range(self.repetitions) if not all((id_, q.id, n) in done for q in group)]
                    if not samples:
                        continue
                    if asked_as is not None:
                        for sample in samples:
                            presentation, repeat = asked_as[sample]
                            yield self._presented(prompter, shots, group, item, sample, repeat, presentation)
                        continue
                    examples = tuple(shots.for_item(group, item))
                    request = prompter.request(group, item, examples)
                    for sample in samples:
                        tag = (id_, group[0].id if len(group) == 1 else "", sample)
                        tagged = Request(request.messages, draws[sample], request.schema, tag)
                        yield PlannedCall(item, group, sample, tagged, prompter, examples)

    def _presented(
        self,
        prompter: Prompter,
        shots: _Shots,
        group: tuple[Question, ...],
        item: Mapping[str, Any],
        sample: int,
        repeat: int,
        presentation: Presentation,
    ) -> PlannedCall:
        """A call in a presentation. The seed counts repetitions of the same request, so that designs share calls."""
        id_ = str(item["item"])
        asked = presentation.arranged(group, self.seed, id_, repeat)
        ways = tuple(presentation.drawn(question, self.seed, id_, repeat) for question in asked)
        shown = tuple(way.shown(question) for way, question in zip(ways, asked, strict=True))
        examples = tuple(shots.for_item(group, item, presentation))
        writer = replace(prompter, style=styled(self.parts, presentation), presentation=presentation)
        shown = writer.read(shown)
        request = writer.request(shown, item, examples)
        drawn = replace(writer.sampling, seed=self.seed + repeat)
        tag = (id_, group[0].id if len(group) == 1 else "", sample)
        tagged = Request(request.messages, drawn, request.schema, tag)
        return PlannedCall(item, shown, sample, tagged, writer, examples, repeat, ways)

    def groups(self, asked: Sequence[Question]) -> list[tuple[Question, ...]]:
        """The questions that go into one request together."""
        if self.parts.together:
            return [tuple(asked)]
        alone = self.parts.distribution or self.template is not None or self.parts.voice == "history"
        return [(question,) for question in asked] if alone else grouped(asked)

    def prompter(self, corpus: Corpus, instrument: Instrument, condition: str = "") -> Prompter:
        """What writes this rater's prompts."""
        if condition and instrument.conditions and condition not in instrument.conditions:
            known = list(instrument.conditions)
            raise InputError(
                f"instrument '{instrument.id}' has no condition '{condition}'",
                remedy=nearest(condition, known),
            )
        sampling = Sampling(self.temperature, self.top_p, self.max_tokens, self.seed)
        if self.template is not None:
            return TemplatePrompter(instrument, self.parts, condition, "", sampling, template=self.template)
        return Prompter(instrument, self.parts, condition, self._voice(corpus), sampling, first_tokens=self.remote)

    def _voice(self, corpus: Corpus) -> str:
        if self.persona:
            return (
                f"{self.persona.profile()}\n\nRead and judge each item as this person would, from what they have lived."
            )
        trait = self.parts.trait
        known = f"{trait.replace('_', ' ').capitalize()}: {self._trait(corpus, trait)}." if trait else ""
        if self.parts.voice == "perspective":
            return (
                "Put yourself in the place of a person of whom one thing is known. "
                f"{known} Answer as you think this person would."
            )
        if self.parts.voice == "history":
            of_whom = f" of whom one thing is known. {known}" if known else "."
            return (
                f"You answer for one particular person{of_whom} The examples are this person's own earlier answers; "
                "judge the last item as the same person would."
            )
        return ""

    def _trait(self, corpus: Corpus, trait: str) -> str:
        if trait not in corpus.traits:
            raise InputError(f"the raters have no trait '{trait}'", remedy=nearest(trait, corpus.traits))
        user = corpus.raters.filter(pl.col("rater") == self.user)
        if user.is_empty():
            raise InputError(f"the corpus has no rater '{self.user}'", remedy="name one of its raters")
        value = user[trait][0]
        if value is None:
            raise InputError(f"the {trait} of rater '{self.user}' is not known", remedy="choose another rater or trait")
        return str(value)


class _Shots:
    """Chooses the examples of each prompt: fixed ones, or a user's own earlier judgments."""

    def __init__(self, rater: ChatRater, corpus: Corpus, instrument: Instrument, condition: str) -> None:
        self.rater, self.corpus, self.instrument, self.condition = rater, corpus, instrument, condition
        self.fields = instrument.shown(condition)
        self.pools: dict[tuple[str, ...], list[Shot]] = {}
        self.histories: dict[str, History] = {}

    def for_item(
        self, questions: tuple[Question, ...], item: Mapping[str, Any], presentation: Presentation = PLAIN
    ) -> list[Shot]:
        """The examples, with their answers on the scales as shown and none that is not offered there."""
        if presentation.shots == "none":
            return []
        shots = [
            shown
            for shot in self._chosen(questions, item, presentation)
            if (shown := self._shown(shot, questions, presentation))
        ]
        return shots[::-1] if presentation.shots == "backward" else shots

    def _chosen(
        self, questions: tuple[Question, ...], item: Mapping[str, Any], presentation: Presentation
    ) -> list[Shot]:
        style = self.rater.parts
        shots: list[Shot] = []
        if style.shots:
            pool = [shot for shot in self._pool(questions) if self._shown(shot, questions, presentation)]
            shots = choose(pool, style.shots, questions[0].id, item, self.rater.seed, self.fields)
        if style.voice == "history":
            question = questions[0]
            if len(questions) > 1:
                raise InputError("a history shows one question at a time", remedy="leave together out of the style")
            if question.id not in self.histories:
                assert self.rater.user is not None  # noqa: S101 - checked when the rater was made
                known = self.corpus if self.rater.training is None else self.rater.training
                history = History.of(known, self.rater.user, question, self.fields, self.condition, self.rater.encode)
                if not history.shots:
                    raise InputError(
                        f"user '{self.rater.user}' has answered '{question.id}' about no item, so there is no history",
                        remedy="leave the user out, or use a style without history",
                    )
                self.histories[question.id] = history
            shots += self.histories[question.id].similar(item, style.neighbours)
        return shots

    def _shown(self, shot: Shot, questions: tuple[Question, ...], presentation: Presentation) -> Shot | None:
        """An example whose answers are offered, as they are written in a presentation."""
        if presentation is PLAIN:
            return shot
        answers: dict[str, float | str] = {}
        for question in questions:
            answer, scale = shot.answers[question.id], presentation.offered(question.scale)
            if isinstance(answer, str):
                known = answer in [opt_out.status for opt_out in scale.opt_outs]
            else:
                known, answer = scale.holds(answer), presentation.decoded(question, answer)
            if not known:
                return None
            answers[question.id] = answer
        return replace(shot, answers=answers)

    def _pool(self, questions: tuple[Question, ...]) -> list[Shot]:
        key = tuple(question.id for question in questions)
        if key not in self.pools:
            training = self.rater.training
            pool = (
                corpus_shots(training, questions, self.condition)
                if training is not None
                else instrument_shots(self.instrument, questions, self.condition)
            )
            if self.rater.parts.reasoning or self.rater.parts.answer_first:
                # An example without reasons would show that none are wanted.
                pool = [shot for shot in pool if all(shot.reasons.get(question.id) for question in questions)]
                if len(pool) < self.rater.parts.shots:
                    raise InputError(
                        f"{len(pool)} worked examples for question '{questions[0].id}' have reasons, "
                        f"{self.rater.parts.shots} were asked for",
                        remedy="ask for fewer, or for no reasons in the style",
                    )
            self.pools[key] = pool
        return self.pools[key]


def chosen_questions(instrument: Instrument, ids: Sequence[str]) -> list[Question]:
    """The questions named, or all of them; the name of one with several options stands for all of these."""
    return [question for id_ in ids for question in instrument.named(id_)] or list(instrument.questions)
