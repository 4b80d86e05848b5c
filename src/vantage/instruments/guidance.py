"""Texts as they are written and as somebody reads them: they refer to answers, readers and circumstances by role.

| written | read |
| --- | --- |
| `{answer:neutral}` | what an answer is called where it is shown |
| `{whose}` | "your own" or, where a rater speaks for a described person, "this person's" |
| `{readers}` | "most readers" or, where a rater speaks for a described person, "this person" |
| `{when:context}` | nothing: its sentence holds under that condition only |
| `{when:reason}` | nothing: its sentence holds where a reason is asked for |

An answer is named by its code, its label or its opt-out, or as `lowest`, `neutral` (in the middle) or `highest`. A
sentence is left out where it refers to an answer that is not offered or to circumstances that do not hold; a point
whose first sentence is left out goes as a whole. What is written without roles is read as it stands. Guidelines,
questions and the reasons of examples have all roles, labels of answers those of readers.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from string import Formatter, ascii_uppercase
from typing import Final

from vantage.scales import Scale, show_code

READERS: Final = {"whose": ("your own", "this person's"), "readers": ("most readers", "this person")}
"""Whose reading counts: for a rater who speaks for themselves, and for one who speaks for a described person."""
REASON: Final = "reason"
"""The circumstance that a reason is asked for."""
_POINT: Final = re.compile(r"(?m)^(?=[ \t]*[-*•] |[ \t]*$)")
_SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+")
_ROLE: Final = re.compile(r"\{(?:answer:[^{}]+|when:[^{}]+|whose|readers)\}")


def answer_names(
    scale: Scale, words: Mapping[float | str, str] | None = None, *, mirrored: bool = False
) -> dict[str, str]:
    """What the answers of a scale are called where they are shown, by the names that guidelines may use.

    Args:
        scale: The scale as it is shown.
        words: What each code and each opt-out is called; as on a page without them.
        mirrored: Whether the question is a reversed twin, so that guidelines mean the opposite code.

    >>> names = answer_names(Scale.points(-1, 1, anchors={0: "not expressed"}))
    >>> names["neutral"], names["not expressed"], names["lowest"]
    ('0', '0', '-1')
    """
    said = _on_a_page(scale) if words is None else words
    codes = scale.codes or (scale.range or ())
    names = {out.status: said[out.status] for out in scale.opt_outs if out.status in said}
    for point in (*scale.options, *scale.anchors):
        if point.label:
            names.setdefault(point.label.casefold(), said.get(point.code, show_code(point.code)))
    for code in codes:
        names[show_code(scale.mirrored(code) if mirrored else code)] = said.get(code, show_code(code))
    if scale.ordered and codes:
        names |= {
            "lowest": said.get(codes[0], show_code(codes[0])),
            "highest": said.get(codes[-1], show_code(codes[-1])),
        }
        if len(codes) % 2:
            names["neutral"] = said[codes[len(codes) // 2]]
    return names


def shared_names(every: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """The names of several questions' answers; an answer that is not called the same everywhere has none."""
    names: dict[str, str] = {}
    unlike: set[str] = set()
    for one in every:
        unlike |= {name for name, word in one.items() if names.setdefault(name, word) != word}
    return {name: word for name, word in names.items() if name not in unlike}


def has_roles(text: str) -> bool:
    """Whether a text refers to anything by role.

    >>> has_roles("In {whose} view, how warm is {target}?"), has_roles("How warm is {target}?")
    (True, False)
    """
    return _ROLE.search(text) is not None


def escaped(text: str) -> str:
    """Text in which braces stand for themselves."""
    return text.replace("{", "{{").replace("}", "}}")


def rendered(
    text: str,
    answers: Mapping[str, str],
    *,
    person: bool = False,
    holds: Container[str] | None = None,
    again: bool = False,
) -> str:
    r"""A text as it is read.

    Args:
        text: As written.
        answers: What the answers are called (`answer_names`).
        person: Whether the reader speaks for a described person.
        holds: The circumstances that hold; all, where none are named.
        again: Whether other places are still to be filled, so that doubled braces stay doubled.

    >>> written = "- Give {whose} view.\n- Choose {answer:neutral} for both. Do.\n- No idea? Say {answer:unclear}."
    >>> rendered(written, {"unclear": "unclear"}, person=True)
    '- Give this person\'s view.\n- No idea? Say "unclear".'
    """
    kept = []
    for point in _POINT.split(text):
        sentences = _SENTENCE.split(point) if "{" in point else [point]
        if all(_stands(one, answers, holds) for one in sentences):
            kept.append(point)
        elif _stands(sentences[0], answers, holds):
            rest = " ".join(one for one in sentences if _stands(one, answers, holds)).rstrip()
            kept.append(rest.removesuffix(";") + "." * rest.endswith(";") + "\n")
    whole = "".join(kept).rstrip("\n") + "\n" * text.endswith("\n")
    parts: list[str] = []
    for literal, name, spec, _ in Formatter().parse(whole):
        parts.append(escaped(literal) if again else literal)
        if name == "answer" and spec:
            word = answers[spec.casefold()]
            parts.append(word if len(word) == 1 or re.fullmatch(r"[-+−]?[\d.]+", word) else f'"{word}"')
        elif name in READERS:
            parts.append(READERS[name][person])
        elif name is not None and name != "when":
            parts.append("{" + name + "}")
    return "".join(parts)


def refers(text: str) -> list[tuple[str, str]]:
    """What a text refers to, as pairs of a name and what stands behind its colon."""
    return [(name, spec or "") for _, name, spec, _ in Formatter().parse(text) if name is not None]


def _stands(sentence: str, answers: Mapping[str, str], holds: Container[str] | None) -> bool:
    return "{" not in sentence or all(
        (name != "answer" or not spec or spec.casefold() in answers)
        and (name != "when" or holds is None or spec in holds)
        for name, spec in refers(sentence)
    )


def _on_a_page(scale: Scale) -> dict[float | str, str]:
    """What the answers are called on a page: letters, labels or codes; opt-outs by how their label begins."""
    shown = scale.shown
    words: dict[float | str, str] = {
        option.code: ascii_uppercase[place]
        if scale.called == "letters" and len(shown) <= 26
        else option.name
        if scale.named
        else show_code(option.code)
        for place, option in enumerate(shown)
    }
    return words | {out.status: out.label.partition(":")[0] for out in scale.opt_outs}
