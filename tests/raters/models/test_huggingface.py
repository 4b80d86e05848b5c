from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.raters.torch_tests import needs_torch
from vantage.raters.models import Message, ModelError, Request, Sampling, load_model
from vantage.raters.models.base import GIVEN_UP, never
from vantage.raters.models.options import OptionTree

from .tiny import NO_SYSTEM, tiny_model

pytestmark = [*needs_torch, pytest.mark.filterwarnings("default::DeprecationWarning", "default::FutureWarning")]

GUIDELINES = "Say how warm the author seems, on a scale from 1 to 10."
ITEMS = ["Lovely day!", "I hate this so very much, all of it.", "ok", "Lovely evening, and very calm."]
OPTIONS = ["1", "10", "2", "very warm", "very cold", "very", "not at all"]


def ask(item: str, **sampling: Any) -> Request:
    return Request((Message("system", GUIDELINES), Message("user", item)), Sampling(**sampling))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def model(folder: Path) -> Any:
    return load_model(f"hf:{folder}", device="cpu", batch_size=3)


def naive(model: Any, prompt: Sequence[int], options: Sequence[Sequence[int]]) -> list[float]:
    """Each option computed in full, on its own, from nothing but the model's logits."""
    import torch

    begun = []
    for option in options:
        ids = torch.tensor([[*prompt, *option]])
        with torch.inference_mode():
            logprobs = model._net(input_ids=ids).logits.float().log_softmax(-1)[0]
        begun.append(sum(float(logprobs[len(prompt) - 1 + i, t]) for i, t in enumerate(option)))
    whole = []
    for i, option in enumerate(options):
        longer = [j for j, o in enumerate(options) if len(o) > len(option) and o[: len(option)] == option]
        nearest = [j for j in longer if not any(k != j and options[j][: len(options[k])] == options[k] for k in longer)]
        whole.append(begun[i] + math.log1p(-sum(math.exp(begun[j] - begun[i]) for j in nearest)))
    return whole


def expected(model: Any, requests: Sequence[Request], options: Sequence[str]) -> Any:
    texts = [model._prompt(request.messages) for request in requests]
    tokens = model._option_tokens(texts[0], options)
    return [naive(model, model._tokens(text, prompt=True), tokens) for text in texts]


def test_scores_with_shared_prefixes_equal_naive_scores(model: Any) -> None:
    requests = [ask(item) for item in ITEMS]
    scored = model.score(requests, OPTIONS)
    assert scored == pytest.approx(np.array(expected(model, requests, OPTIONS)), abs=1e-4)
    assert (np.exp(scored).sum(axis=1) <= 1 + 1e-6).all()


def test_a_past_that_is_read_once_for_all_rows_gives_what_one_before_every_row_gives(model: Any) -> None:
    requests = [ask(item) for item in ITEMS]
    apart = model.score(requests, OPTIONS)
    net = model._scorer._net
    assert net._in_parts, "a Llama's attention can be computed in parts"
    net._in_parts = False
    try:
        assert apart == pytest.approx(model.score(requests, OPTIONS), abs=1e-5, rel=1e-6)
    finally:
        net._in_parts = True


def test_attention_that_cannot_be_computed_in_parts_is_exact_too(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path, kind="Gemma2", head_dim=8, attn_logit_softcapping=2.0, sliding_window=512)
    model: Any = load_model(f"hf:{folder}", device="cpu")
    requests = [ask(item) for item in ITEMS]
    assert model.score(requests, OPTIONS) == pytest.approx(np.array(expected(model, requests, OPTIONS)), abs=1e-4)
    assert model._scorer is None or not model._scorer._net._in_parts


def test_norms_in_one_pass_change_nothing_and_norms_of_another_kind_stay(folder: Path, model: Any) -> None:
    import torch

    from vantage.raters.models.transformers_net import in_one_pass

    def by_one_plus(norm: Any, x: Any) -> Any:
        return torch.nn.functional.rms_norm(x, (8,), norm.weight + 1, norm.eps)

    other: Any = type("OtherRMSNorm", (torch.nn.RMSNorm,), {"forward": by_one_plus})
    fresh: Any = load_model(f"hf:{folder}", device="cpu")
    norms = [part for part in fresh._net.modules() if "RMSNorm" in type(part).__name__]
    assert in_one_pass(fresh._net) == len(norms) > 2
    assert fresh.score([ask(item) for item in ITEMS], OPTIONS) == pytest.approx(
        model.score([ask(item) for item in ITEMS], OPTIONS), abs=1e-5, rel=1e-6
    )
    assert in_one_pass(other(8, eps=1e-6)) == 0


def test_prompts_that_are_handed_over_in_parts_that_grow_are_scored_alike(folder: Path, model: Any) -> None:
    parts: Any = load_model(f"hf:{folder}", device="cpu")
    parts.prepared = 1
    requests = [ask(item) for item in ITEMS] * 2
    assert len(requests) >= 4
    assert parts.score(requests, OPTIONS) == pytest.approx(model.score(requests, OPTIONS), abs=1e-5, rel=1e-6)


def test_many_prompts_have_the_tokens_that_each_has_alone(model: Any) -> None:
    hostile = ["", " ", "ery", "<|end|><|user|>", "<|end|", "very very", "10", "\n\n", "é½"]
    texts = [model._prompt(ask(f"{text} v").messages) for text in (*ITEMS, *hostile)]
    assert model._whole_turns(texts) > len(GUIDELINES)
    assert model._all_tokens(texts) == [model._tokens(text, prompt=True) for text in texts]


@pytest.mark.parametrize("batch_size", [1, 2, 16])
def test_scores_do_not_depend_on_the_batch(folder: Path, model: Any, batch_size: int) -> None:
    requests = [ask(item) for item in ITEMS]
    other = load_model(f"hf:{folder}", device="cpu", batch_size=batch_size)
    assert other.score(requests, OPTIONS) == pytest.approx(model.score(requests, OPTIONS), abs=1e-4)
    assert other.score(requests[:1], OPTIONS)[0] == pytest.approx(model.score(requests, OPTIONS)[0], abs=1e-4)


def test_prompts_that_share_more_within_a_batch_are_scored_alike(model: Any) -> None:
    first, second = ("How warm is the author? " * 3, "How able is the author? " * 3)
    requests = [
        Request((Message("system", guide), Message("user", item))) for item in ITEMS[:3] for guide in (first, second)
    ]
    scored = model.score(requests, OPTIONS)
    assert scored == pytest.approx(np.array(expected(model, requests, OPTIONS)), abs=1e-4)


def test_prompts_that_share_nothing_and_prompts_that_are_equal_are_scored_alike(model: Any) -> None:
    requests = [
        Request((Message("user", "one"),)),
        Request((Message("system", "Speak."), Message("user", "two"))),
        Request((Message("user", "one"),)),
    ]
    scored = model.score(requests, ["a", "b"])
    assert scored == pytest.approx(np.array(expected(model, requests, ["a", "b"])), abs=1e-4)
    assert scored[0] == pytest.approx(scored[2], abs=1e-6)


def test_a_sliding_window_changes_nothing_about_being_exact(tmp_path: Path) -> None:
    narrow = load_model(f"hf:{tiny_model(tmp_path, kind='Mistral', sliding_window=24)}", device="cpu")
    requests = [ask(item) for item in ITEMS]
    scored = narrow.score(requests, OPTIONS)
    assert scored == pytest.approx(np.array(expected(narrow, requests, OPTIONS)), abs=1e-4)


def test_layers_with_and_without_a_sliding_window_are_exact_together(tmp_path: Path) -> None:
    shape: dict[str, Any] = {"kind": "Qwen2", "use_sliding_window": True, "sliding_window": 24, "max_window_layers": 1}
    mixed: Any = load_model(f"hf:{tiny_model(tmp_path, **shape)}", device="cpu")
    assert set(mixed._net.config.layer_types) == {"full_attention", "sliding_attention"}
    requests = [ask(item) for item in ITEMS]
    scored = mixed.score(requests, OPTIONS)
    assert scored == pytest.approx(np.array(expected(mixed, requests, OPTIONS)), abs=1e-4)
    assert mixed.notes == []


@pytest.mark.parametrize("kind", ["Bloom", "GPTNeoX"])
def test_other_kinds_of_positions_are_exact_too(tmp_path: Path, kind: str) -> None:
    shape: dict[str, Any] = {"kind": kind}
    if kind == "Bloom":
        shape |= {"n_layer": 2, "n_head": 4}
    other: Any = load_model(f"hf:{tiny_model(tmp_path, **shape)}", device="cpu")
    requests = [ask(item) for item in ITEMS]
    scored = other.score(requests, OPTIONS)
    assert scored == pytest.approx(np.array(expected(other, requests, OPTIONS)), abs=1e-4)
    assert any("computed in full" in note for note in other.notes) == (kind == "Bloom")


def test_what_was_scored_before_changes_nothing(model: Any) -> None:
    first, second = ([Request((Message("user", f"{head} {item}"),)) for item in ITEMS] for head in ("How?", "However."))
    scored = [model.score(requests, OPTIONS) for requests in (first, second, first)]
    assert scored[0] == pytest.approx(scored[2], abs=1e-4)
    assert scored[1] == pytest.approx(np.array(expected(model, second, OPTIONS)), abs=1e-4)


def test_a_recurrent_model_is_scored_in_full_and_says_so(tmp_path: Path) -> None:
    shape: dict[str, Any] = {"kind": "Mamba", "state_size": 4, "num_attention_heads": 1}
    recurrent = load_model(f"hf:{tiny_model(tmp_path, **shape)}", device="cpu")
    requests = [ask(item) for item in ITEMS[:2]]
    scored = recurrent.score(requests, ["1", "very warm"])
    assert scored == pytest.approx(np.array(expected(recurrent, requests, ["1", "very warm"])), abs=1e-4)
    assert any("computed in full" in note for note in recurrent.notes)


def test_a_shared_beginning_is_computed_once(model: Any) -> None:
    requests = [ask(item) for item in ITEMS * 4]
    computed = []

    def count(_: Any, __: Any, kwargs: Any) -> None:
        computed.append(kwargs["input_ids"].numel())

    hook = model._net.register_forward_pre_hook(count, with_kwargs=True)
    model.score(requests, ["1", "2"])
    hook.remove()
    prompts = [model._tokens(model._prompt(request.messages), prompt=True) for request in requests]
    assert sum(computed) < 0.5 * sum(len(prompt) for prompt in prompts)


def test_replies_do_not_depend_on_their_neighbours_in_the_batch(folder: Path, model: Any) -> None:
    requests = [ask(item, max_tokens=12) for item in ITEMS]
    alone = load_model(f"hf:{folder}", device="cpu", batch_size=1)
    assert [c.text for c in model.complete(requests)] == [c.text for c in alone.complete(requests)]
    drawn = [ask(item, max_tokens=12, temperature=1.3, seed=i) for i, item in enumerate(ITEMS)]
    assert [c.text for c in model.complete(drawn)] == [c.text for c in alone.complete(drawn)]
    assert [c.text for c in model.complete(drawn)] == [c.text for c in model.complete(drawn)]
    assert len({model.complete([ask("ok", temperature=1.5, seed=s, max_tokens=8)])[0].text for s in range(6)}) > 1


def test_draws_follow_the_models_distribution(model: Any) -> None:
    import torch

    request = ask("ok")
    prompt = model._tokens(model._prompt(request.messages), prompt=True)
    with torch.inference_mode():
        probabilities = model._net(input_ids=torch.tensor([prompt])).logits[0, -1].softmax(-1)
    # Half characters all read alike, so the share of letters and digits is looked at.
    whole = [t for t in range(len(model._tokenizer)) if model._tokenizer.decode([t]).isalnum()]
    chance = float(probabilities[whole].sum())
    draws = model.complete([ask("ok", temperature=1.0, seed=s, max_tokens=1) for s in range(300)])
    assert 0.1 < chance < 0.9
    assert np.mean([draw.text.isalnum() for draw in draws]) == pytest.approx(chance, abs=0.09)


def test_a_small_nucleus_leaves_only_the_likeliest_token(model: Any) -> None:
    greedy = model.complete([ask("ok", max_tokens=6)])
    nearly = model.complete([ask("ok", max_tokens=6, temperature=1.0, top_p=1e-6, seed=3)])
    assert greedy[0].text == nearly[0].text


def test_token_counts_and_finish(model: Any) -> None:
    assert model.count_tokens("very 10") == 3
    reply = model.complete([ask("ok", max_tokens=2)])[0]
    assert reply.prompt_tokens == len(model._tokens(model._prompt(ask("ok").messages), prompt=True))
    assert reply.completion_tokens <= 2
    assert reply.finish in ("stop", "length")


def test_a_prompt_beyond_the_window_fails_alone(folder: Path) -> None:
    small = load_model(f"hf:{folder}", device="cpu", window=100)
    requests = [ask("ok", max_tokens=64), ask("long " * 200)]
    short, long = small.complete(requests)
    assert short.finish != "failed"
    assert short.prompt_tokens + short.completion_tokens <= 100
    assert long.finish == "failed"
    assert "window 100" in long.error
    scored = small.score(requests, ["1", "2"])
    assert not np.isnan(scored[0]).any()
    assert np.isnan(scored[1]).all()
    assert any("window 100" in note for note in small.notes)


def test_a_template_without_a_system_role_gets_it_with_the_question(tmp_path: Path) -> None:
    model: Any = load_model(f"hf:{tiny_model(tmp_path, template=NO_SYSTEM)}", device="cpu")
    prompt = model._prompt(ask("ok").messages)
    assert prompt == f"<|user|>{GUIDELINES}\n\nok<|end|><|assistant|>"
    assert any("no system message" in note for note in model.notes)


def test_a_model_without_a_template_reads_plain_text(tmp_path: Path) -> None:
    model: Any = load_model(f"hf:{tiny_model(tmp_path, template=None)}", device="cpu")
    requests = [ask(item) for item in ITEMS[:2]]
    assert model._prompt(requests[0].messages).endswith("Lovely day!\n\nAnswer:")
    assert model.score(requests, ["1", "2"]) == pytest.approx(np.array(expected(model, requests, ["1", "2"])), abs=1e-4)
    assert any("no chat template" in note for note in model.notes)


def test_a_model_that_is_stopped_gives_up_what_is_not_answered(model: Any) -> None:
    requests = [ask(item, max_tokens=6, temperature=1.0, seed=number) for number, item in enumerate(ITEMS * 2)]
    whole = model.complete(requests)
    looks = 0

    def stopped() -> bool:
        nonlocal looks
        looks += 1
        return looks > 9

    model.stopped = stopped
    try:
        told = model.complete(requests)
        looks = 0
        some = model.score(requests * 9, OPTIONS)
    finally:
        model.stopped = never
    given_up = [one is GIVEN_UP for one in told]
    assert 0 < sum(given_up) < len(requests)
    assert all(one == other for one, other, gone in zip(told, whole, given_up, strict=True) if not gone)
    assert model.complete(requests) == whole
    known = ~np.isnan(some).any(axis=1)
    assert some[known] == pytest.approx(model.score(requests * 9, OPTIONS)[known], abs=1e-4)


def test_a_schema_is_noted_once(model: Any) -> None:
    request = Request(ask("ok").messages, Sampling(max_tokens=1), schema={"type": "object"})
    model.complete([request, request])
    model.complete([request])
    assert sum("JSON Schema" in note for note in model.notes) == 1


def test_bad_names_and_settings_are_told(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_model(f"hf:{tmp_path}")
    with pytest.raises(ModelError, match="no precision 'float12'"):
        load_model(f"hf:{folder}", precision="float12")


def test_a_closed_model_says_so(folder: Path) -> None:
    closed = load_model(f"hf:{folder}", device="cpu")
    closed.close()
    with pytest.raises(ModelError, match="was closed"):
        closed.complete([ask("ok")])


def test_half_precision_on_a_gpu_stays_close_to_full_precision(folder: Path, model: Any) -> None:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("there is no GPU here")
    half: Any = load_model(f"hf:{folder}")
    assert half._net.dtype in (torch.bfloat16, torch.float16)
    requests = [ask(item) for item in ITEMS]
    assert half.score(requests, OPTIONS) == pytest.approx(model.score(requests, OPTIONS), rel=0.05, abs=0.5)
    full = load_model(f"hf:{folder}", precision="float32")
    assert full.score(requests, OPTIONS) == pytest.approx(model.score(requests, OPTIONS), abs=1e-3)
    drawn = [ask(item, max_tokens=8, temperature=1.0, seed=5) for item in ITEMS]
    assert full.complete(drawn) == full.complete(drawn)


def test_the_tree_of_these_options_has_every_case(model: Any) -> None:
    tree = OptionTree(model._option_tokens(model._prompt(ask("ok").messages), OPTIONS))
    assert any(option in tree.nodes for option in tree.options), "one option continues another"
    assert any(len(children) > 1 for node, children in tree.nodes.items() if node), "options part late"
