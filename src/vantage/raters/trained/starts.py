"""What members of an ensemble begin with: the encoder as it is, or encoders that have learned other judgments first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from vantage.errors import InputError
from vantage.raters.trained.encoder_settings import EncoderSettings
from vantage.raters.trained.network import learns, pretrained
from vantage.raters.trained.weights import encoder_states, refuse_other, rounded

_FAR: Final = 0.01
"""By how much the word vectors of a saved rater may differ from those that it began with (they are stored rounded)."""


def beginnings(settings: EncoderSettings, encoder: Any) -> list[dict[str, Any]]:
    """The states of the encoder that members begin with in turn, rounded as they would be stored.

    What members share, the word vectors above all, is that of the encoder itself.
    """
    own = rounded(encoder.state_dict())
    if not settings.starts:
        return [own]
    states_of = [_states(settings, name) for name in settings.starts]
    for name, states in zip(settings.starts, states_of, strict=True):
        for state in states:
            _refuse_stranger(name, state, own, settings)
    turns = [states[turn % len(states)] for turn in range(max(map(len, states_of))) for states in states_of]
    return [{key: state[key] if learns(f"encoder.{key}", settings) else own[key] for key in own} for state in turns]


def _states(settings: EncoderSettings, name: str) -> list[dict[str, Any]]:
    """A saved rater has as many as it has members, any other encoder one."""
    if saved := encoder_states(Path(name)):
        return saved
    return [rounded(pretrained(replace(settings, model=name, starts=()))[1].state_dict())]


def _refuse_stranger(name: str, state: Mapping[str, Any], own: Mapping[str, Any], settings: EncoderSettings) -> None:
    refuse_other(state, {key: tuple(value.shape) for key, value in own.items()}, Path(name))
    shared = {key: value for key, value in own.items() if not key.startswith("pooler")}
    for key, value in shared.items():
        if not learns(f"encoder.{key}", settings) and float((state[key] - value).abs().max()) > _FAR:
            raise InputError(
                f"it was made from another encoder than '{settings.model}': '{key}' differs",
                file=Path(name),
                remedy="name the encoder it was made from as the model, or let the word vectors learn "
                "(train_embeddings)",
            )
