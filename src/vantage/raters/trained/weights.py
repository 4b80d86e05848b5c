"""The weights of encoders in files: safetensors in sixteen bits, with the encoder's configuration and tokenizer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vantage.errors import InputError
from vantage.raters.models.extras import require


def put(network: Any, member: Mapping[str, Any]) -> None:
    """Gives a network the parameters that a member learned."""
    torch = require("torch", "local")
    parameters = dict(network.named_parameters())
    with torch.no_grad():
        for key, value in member.items():
            parameters[key].copy_(value)


def round_shared(network: Any, member: Mapping[str, Any]) -> None:
    """Rounds what all members share as it will be stored, so that a saved rater judges as the fitted one did."""
    torch = require("torch", "local")
    with torch.no_grad():
        for key, value in network.state_dict().items():
            if key not in member and value.is_floating_point():
                value.copy_(value.half().float())


def write_weights(folder: Path, name: str, network: Any, tokenizer: Any, members: Sequence[Mapping[str, Any]]) -> None:
    """Writes files that begin with `name`; members were rounded to sixteen bits when they were trained."""
    save = require("safetensors.torch", "local").save_file
    for number, member in enumerate(members, 1):
        halves = {key: value.half().contiguous() for key, value in member.items()}
        save(halves, folder / f"{name}-member-{number}.safetensors")
    shared = {
        key: (value.half() if value.is_floating_point() else value).cpu().contiguous()
        for key, value in network.state_dict().items()
        if key not in members[0]
    }
    save(shared, folder / f"{name}-shared.safetensors")
    home = folder / f"{name}-encoder"
    network.encoder.config.save_pretrained(home)
    tokenizer.save_pretrained(home)


def read_weights(
    folder: Path, name: str, count: int, build: Callable[[Any], Any]
) -> tuple[Any, Any, list[dict[str, Any]]]:
    """Tokenizer, network (which `build` makes over an encoder) and members; weights that do not fit are refused."""
    torch = require("torch", "local")
    transformers = require("transformers", "local")
    read = require("safetensors.torch", "local").load_file
    home = folder / f"{name}-encoder"
    try:
        config = transformers.AutoConfig.from_pretrained(home, trust_remote_code=False)
        tokenizer = transformers.AutoTokenizer.from_pretrained(home, trust_remote_code=False)
        with torch.random.fork_rng(devices=[]):
            network = build(transformers.AutoModel.from_config(config))
        shared = read(folder / f"{name}-shared.safetensors")
        members = [read(folder / f"{name}-member-{n}.safetensors") for n in range(1, count + 1)]
    except (ImportError, KeyError, OSError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())[:160].rstrip(".")
        raise InputError(f"the encoder cannot be read ({reason})", file=folder, remedy="fit it again") from None
    wanted = {key: tuple(value.shape) for key, value in network.state_dict().items()}
    for member in members:
        _refuse_other({**shared, **member}, wanted, folder)
    network.load_state_dict({key: _full(value) for key, value in {**shared, **members[0]}.items()})
    return tokenizer, network, [{key: _full(value) for key, value in member.items()} for member in members]


def _refuse_other(tensors: Mapping[str, Any], wanted: Mapping[str, tuple[int, ...]], folder: Path) -> None:
    found = {key: tuple(value.shape) for key, value in tensors.items()}
    if found != dict(wanted):
        key = next(iter(sorted({k for k in {*found, *wanted} if found.get(k) != wanted.get(k)})))
        shape = json.dumps(found.get(key)), json.dumps(wanted.get(key))
        raise InputError(
            f"the weights are of another architecture: '{key}' has the shape {shape[0]}, the encoder needs {shape[1]}",
            file=folder,
            remedy="put back the files that were saved together, or fit it again",
        )


def _full(tensor: Any) -> Any:
    return tensor.float() if tensor.is_floating_point() else tensor
