"""Checkpoints: after every epoch, everything that is needed to go on; tensors as safetensors, the rest as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from vantage.corpora.writers.place import put_file
from vantage.errors import InputError
from vantage.raters.models.extras import require
from vantage.raters.trained.encoder_settings import EncoderSettings


def fingerprint(
    learned_from: Iterable[bytes], starts: Sequence[Mapping[str, Any]], settings: EncoderSettings, seed: int
) -> str:
    """What makes two trainings the same: data, encoders to start from, settings (but the device) and seed."""
    described = {key: value for key, value in asdict(settings).items() if key != "device"}
    digest = sha256(json.dumps([described, seed], sort_keys=True).encode())
    for state in starts:
        for key, value in sorted(state.items()):
            digest.update(key.encode() + value.numpy().tobytes())
    for piece in learned_from:
        digest.update(piece)
    return digest.hexdigest()[:32]


@dataclass
class State:
    """How far the training of one member has come."""

    epoch: int = 0
    best: float = float("-inf")
    best_epoch: int = 0
    history: list[float] = field(default_factory=list)
    done: bool = False

    def note(self, score: float, patience: int, epochs: int) -> bool:
        """Takes in the score of an epoch; says whether it is the best one so far."""
        self.epoch += 1
        self.history.append(score)
        better = score > self.best
        if better:
            self.best, self.best_epoch = score, self.epoch
        self.done = self.epoch >= epochs or self.epoch - self.best_epoch >= patience
        return better


class Checkpoint:
    """The files of one member in a folder; without a folder, nothing is kept."""

    def __init__(self, folder: Path | None, member: int, training: str) -> None:
        self.training = training
        self._state = None if folder is None else folder / f"member-{member}.json"
        self._tensors = None if folder is None else folder / f"member-{member}.safetensors"

    def read(self) -> tuple[State, dict[str, Any]] | None:
        """What an earlier run left; one of another training is refused."""
        if self._state is None or self._tensors is None or not self._state.exists():
            return None
        try:
            stored = json.loads(self._state.read_text("utf-8"))
            training, state = stored.pop("training"), State(**stored["state"])
        except (KeyError, TypeError, ValueError):
            raise InputError("this is no checkpoint", file=self._state, remedy="delete it to begin anew") from None
        if training != self.training:
            raise InputError(
                "the checkpoint belongs to another training (other texts, labels, settings or seed)",
                file=self._state,
                remedy="choose another folder, or delete the checkpoints to begin anew",
            )
        try:
            return state, dict(require("safetensors.torch", "local").load_file(self._tensors))
        except (OSError, require("safetensors", "local").SafetensorError) as error:
            raise InputError(
                f"the checkpoint cannot be read ({' '.join(str(error).split())[:120]})",
                file=self._tensors,
                remedy="delete it to begin anew",
            ) from None

    def write(self, state: State, tensors: Mapping[str, Any]) -> None:
        """Keeps the state; a crash leaves the last epoch's or this one's, and its tensors are written first."""
        if self._state is None or self._tensors is None:
            return
        save = require("safetensors.torch", "local").save_file
        # Once the tensors of a later epoch stand beside an older state, the state must not be believed.
        self._state.unlink(missing_ok=True)
        put_file(self._tensors, lambda path: save(dict(tensors), path), overwrite=True)
        text = json.dumps({"training": self.training, "state": asdict(state)}, indent=1)
        put_file(self._state, lambda path: _write(path, text), overwrite=True)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def optimizer_tensors(optimizer: Any) -> dict[str, Any]:
    """The moments of an optimizer as named tensors."""
    tensors: dict[str, Any] = {}
    for number, values in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{number}.{name}": value.detach().clone() for name, value in values.items()}
    return tensors


def restore_optimizer(optimizer: Any, tensors: Mapping[str, Any]) -> None:
    """Puts the moments back."""
    state_dict = optimizer.state_dict()
    state: dict[int, dict[str, Any]] = {}
    for key, value in tensors.items():
        if key.startswith("optimizer."):
            _, number, name = key.split(".", 2)
            state.setdefault(int(number), {})[name] = value
    state_dict["state"] = state
    optimizer.load_state_dict(state_dict)
