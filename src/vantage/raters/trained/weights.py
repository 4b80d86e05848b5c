"""The weights of encoders in files: safetensors in sixteen bits, with the encoder's configuration and tokenizer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vantage.errors import InputError
from vantage.raters.models.base import require


def put(network: Any, member: Mapping[str, Any]) -> None:
    """Gives a network the parameters that a member learned."""
    torch = require("torch", "local")
    parameters = dict(network.named_parameters())
    with torch.no_grad():
        for key, value in member.items():
            parameters[key].copy_(value)


def rounded(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Copies rounded as they will be stored, so that a saved rater judges as the fitted one did."""
    return {key: _full(_half(value.detach().cpu())).clone() for key, value in tensors.items()}


def write_weights(folder: Path, name: str, network: Any, tokenizer: Any, members: Sequence[Mapping[str, Any]]) -> None:
    """Writes files that begin with `name`; members were rounded to sixteen bits when they were trained."""
    for number, member in enumerate(members, 1):
        write_tensors(folder / f"{name}-member-{number}.safetensors", member)
    shared = {key: value for key, value in network.state_dict().items() if key not in members[0]}
    write_tensors(folder / f"{name}-shared.safetensors", shared)
    home = folder / f"{name}-encoder"
    network.encoder.config.save_pretrained(home)
    tokenizer.save_pretrained(home)


def write_tensors(file: Path, tensors: Mapping[str, Any]) -> None:
    """Writes tensors in sixteen bits."""
    halves = {key: _half(value).cpu().contiguous() for key, value in tensors.items()}
    require("safetensors.torch", "local").save_file(halves, file)


def read_tensors(file: Path) -> dict[str, Any]:
    """Reads tensors in full precision; a file that is missing or broken is named."""
    try:
        return {k: _full(v) for k, v in require("safetensors.torch", "local").load_file(file).items()}
    except (OSError, require("safetensors", "local").SafetensorError) as error:
        reason = " ".join(str(error).split())[:160].rstrip(".")
        raise InputError(f"the weights cannot be read ({reason})", file=file, remedy="fit it again") from None


def read_weights(
    folder: Path, name: str, count: int, build: Callable[[Any], Any]
) -> tuple[Any, Any, list[dict[str, Any]]]:
    """Tokenizer, network (which `build` makes over an encoder) and members; weights that do not fit are refused."""
    torch = require("torch", "local")
    transformers = require("transformers", "local")
    home = folder / f"{name}-encoder"
    try:
        config = transformers.AutoConfig.from_pretrained(home, trust_remote_code=False)
        tokenizer = transformers.AutoTokenizer.from_pretrained(home, trust_remote_code=False)
        with torch.random.fork_rng(devices=[]):
            network = build(transformers.AutoModel.from_config(config))
    except (ImportError, KeyError, OSError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())[:160].rstrip(".")
        raise InputError(f"the encoder cannot be read ({reason})", file=folder, remedy="fit it again") from None
    shared = read_tensors(folder / f"{name}-shared.safetensors")
    members = [read_tensors(folder / f"{name}-member-{n}.safetensors") for n in range(1, count + 1)]
    wanted = {key: tuple(value.shape) for key, value in network.state_dict().items()}
    for member in members:
        refuse_other({**shared, **member}, wanted, folder)
    network.load_state_dict({**shared, **members[0]})
    return tokenizer, network, members


def refuse_other(tensors: Mapping[str, Any], wanted: Mapping[str, tuple[int, ...]], folder: Path) -> None:
    """Refuses tensors whose names or shapes are not the wanted ones."""
    shapes = {key: tuple(value.shape) for key, value in tensors.items()}
    if shapes != dict(wanted):
        key = next(iter(sorted({k for k in {*shapes, *wanted} if shapes.get(k) != wanted.get(k)})))
        shape = json.dumps(shapes.get(key)), json.dumps(wanted.get(key))
        raise InputError(
            f"the weights are of another architecture: '{key}' has the shape {shape[0]}, the encoder needs {shape[1]}",
            file=folder,
            remedy="put back the files that were saved together, or fit it again",
        )


def _full(tensor: Any) -> Any:
    return tensor.float() if tensor.is_floating_point() else tensor


def _half(tensor: Any) -> Any:
    return tensor.half() if tensor.is_floating_point() else tensor
