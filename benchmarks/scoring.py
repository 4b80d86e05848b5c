"""Option scoring of prompts that share their guidelines: ours beside lm-evaluation-harness, same weights, one run.

Run with `python -m benchmarks scoring` for the embedded model on this machine's processor; `--device cuda` takes
random weights of the shape of Llama 3.2 1B (`--size 8b`: of Llama 3.1 8B) instead. Needs torch, transformers, gguf,
accelerate and lm_eval. Ours is timed from chat messages to scores; of the harness only its engine is timed
(`_loglikelihood_tokens`, on tokens that are handed to it), with its own grouping of one-token continuations and at the
faster of two batch sizes. On a processor the harness scores a sample of the prompts, and its time is scaled up;
the ratio is told in seconds and, for machines that others use as well, in seconds of processor. `VANTAGE_PROMPTS`
(2,000) and `VANTAGE_SAMPLE` (60, the harness's on a processor) are the numbers of prompts.

`--rounding` asks instead how far rounding moves a log-probability: with the shared past read apart, with it set before
every row, and with every row alone, each held against the same weights in twice the precision.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.harness import Taken, measured
from vantage.raters.models.base import Message, Request

PROMPTS: Final = int(os.environ.get("VANTAGE_PROMPTS", "2000"))
SAMPLE: Final = int(os.environ.get("VANTAGE_SAMPLE", "60"))
"""How many prompts the harness scores on a processor."""
GPU_SAMPLE: Final = 256
SHAPES: Final[dict[str, dict[str, Any]]] = {
    "1b": {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "tie_word_embeddings": True},
    "8b": {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "tie_word_embeddings": False},
}
NEEDED: Final = ("torch", "transformers", "gguf", "accelerate", "lm_eval")


def sentences(count: int) -> list[tuple[str, str]]:
    """Invented sentences about invented people."""
    rng = np.random.default_rng(0)
    who = ["The baker", "Senator Quill", "My neighbour Ada", "The new coach", "Dr. Oyelaran", "The landlord"]
    did = ["gave back the wallet", "read the whole report", "lost the keys again", "promised to call", "left early"]
    how = ["without a word", "with every note still in it", "before anyone had asked", "and laughed about it"]
    when = ["on Monday", "last winter", "at the meeting in March", "after the long train ride home", "today"]
    drawn = [(rng.choice(who), rng.choice(did), rng.choice(how), rng.choice(when)) for _ in range(count)]
    return [(f"{a} {b} {c} {d}, case {i}.", a) for i, (a, b, c, d) in enumerate(drawn)]


def digits(count: int) -> tuple[list[Request], list[str]]:
    """Groups and the answers 1 to 5, each of one token."""
    from vantage.instruments import Instrument
    from vantage.raters.prompts import Prompter
    from vantage.raters.style import Style

    instrument = Instrument.load("stereotype-content")
    prompter = Prompter(instrument, Style.parse("scoring"))
    asked = [instrument.question("competent")]
    groups = [f"people of whom one says: {text}" for text, _ in sentences(count)]
    return [prompter.request(asked, {"group": group}) for group in groups], list("12345")


def signed(count: int) -> tuple[list[Request], list[str]]:
    """Sentences and the answers -3 to 3, some of two tokens."""
    from vantage.instruments import Instrument
    from vantage.raters.prompts import Prompter
    from vantage.raters.style import Style

    instrument = Instrument.load("warmth-competence")
    prompter = Prompter(instrument, Style.parse("scoring"))
    asked = [instrument.question("trust")]
    requests = [prompter.request(asked, {"text": text, "target": who}) for text, who in sentences(count)]
    return requests, [str(code) for code in range(-3, 4)]


def long_guidelines(count: int, options: Sequence[str]) -> tuple[list[Request], list[str]]:
    """Guidelines of some 1,250 tokens, as they are with examples, before sentences."""
    text = " ".join(f"Rule {i}: judge what the sentence says of the person, not what you know." for i in range(70))
    asked = [
        Request((Message("system", text), Message("user", f"{sentence}\n\nHow does {who} come across? " * 3)))
        for sentence, who in sentences(count)
    ]
    return asked, list(options)


CASES: Final[dict[str, Any]] = {
    "1 to 5": digits,
    "-3 to 3": signed,
    "1 to 5, long": partial(long_guidelines, options=list("12345")),
    "five phrases, long": partial(
        long_guidelines,
        options=["very cold", "rather cold", "neither warm nor cold", "rather warm", "very warm"],
    ),
}


GPU_CASES: Final = ("1 to 5, long", "five phrases, long")


def unpack(folder: Path) -> Path:
    """The embedded model's weights in full precision, as a folder that Transformers loads."""
    torch, transformers = import_module("torch"), import_module("transformers")

    from vantage.raters.models.embedded import weights

    file = weights()
    options: dict[str, Any] = {"gguf_file": file.name}
    loaded = transformers.AutoModelForCausalLM.from_pretrained(str(file.parent), dtype=torch.float32, **options)
    if hasattr(loaded.config, "quantization_config"):
        del loaded.config.quantization_config
    plain = transformers.AutoModelForCausalLM.from_config(loaded.config, dtype=torch.float32)
    plain.load_state_dict(loaded.state_dict())
    plain.save_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(file.parent), **options)
    # What Transformers makes of the file leaves out that this tokenizer takes digits one by one.
    parts = import_module("tokenizers").pre_tokenizers
    split = [parts.Digits(individual_digits=True), parts.ByteLevel(add_prefix_space=False)]
    tokenizer.backend_tokenizer.pre_tokenizer = parts.Sequence(split)
    tokenizer.save_pretrained(folder)
    return folder


def random_weights(folder: Path, size: str, tokenizer: str) -> Path:
    """A model of the shape of a Llama 3 with random weights, in half precision."""
    torch, transformers = import_module("torch"), import_module("transformers")

    heads = {"num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256}
    config = transformers.LlamaConfig(**SHAPES[size], **heads, max_position_embeddings=8192, rope_theta=500000.0)
    with torch.device("cuda"):
        torch.manual_seed(0)
        net = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    net.save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(tokenizer).save_pretrained(folder)
    return folder


def loaded(folder: Path, device: str) -> Any:
    from vantage.raters.models import load_model

    model = load_model(f"hf:{folder}", device=device)
    model.score(*CASES["1 to 5, long"](8))
    return model


def ours(model: Any, case: str, count: int) -> Any:
    """Scores, and the seconds of processor that they took."""
    start = time.process_time()
    scores = model.score(*CASES[case](count))
    return scores, time.process_time() - start


def embedded() -> Any:
    from vantage.raters.models import load_model

    model = load_model("embedded")
    model.score([Request((Message("user", "Lovely day!"),))], ["1", "2"])
    return model


def harness(folder: Path, device: str, batch: int, writer: Any = None) -> Any:
    """The harness's own model, and ours for nothing but its template and tokenizer."""
    from vantage.raters.models import load_model

    dtype = "float32" if device == "cpu" else "bfloat16"
    peer = import_module("lm_eval.models.huggingface").HFLM(
        pretrained=str(folder), device=device, dtype=dtype, batch_size=batch
    )
    return peer, writer or load_model(f"hf:{folder}", device=device)


def theirs(both: Any, case: str, count: int) -> Any:
    """Log-likelihoods of every option behind every prompt, and the seconds of the engine alone, also of processor."""
    peer, writer = both
    requests, options = CASES[case](count)
    texts = [writer._prompt(request.messages) for request in requests]
    behind = writer._option_tokens(texts[0], options)
    asked = [(("", ""), prompt, option) for prompt in writer._all_tokens(texts) for option in behind]
    start, processor = time.perf_counter(), time.process_time()
    pairs = peer._loglikelihood_tokens(asked, disable_tqdm=True)
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    return np.array([logprob for logprob, _ in pairs]).reshape(count, len(options)), seconds, processor


def tokens(model: Any, case: str, count: int) -> tuple[float, int]:
    """Tokens of a prompt on average, and how many all of them share."""
    from vantage.raters.models.prefix_scorer import stems

    prompts = model._all_tokens([model._prompt(request.messages) for request in CASES[case](count)[0]])
    return float(np.mean([len(prompt) for prompt in prompts])), stems(prompts, 10**9).stop


def row(name: str, case: str, taken: Taken, peer: float, peer_processor: float, gap: float) -> None:
    rate, processor = PROMPTS / taken.seconds, peer_processor / taken.result[1]
    print(
        f"{name:22} {case:10} {peer:9.1f} {taken.seconds:9.1f} {peer / taken.seconds:6.1f}x "
        f"{processor:9.1f}x {rate:8.1f} {taken.megabytes:8.0f} {gap:9.1e}"
    )


def on_processor(folder: Path) -> None:
    """Both sides on the embedded model's weights."""
    from vantage.raters.models import load_model

    print(f"{PROMPTS:,} prompts; of lm-eval {SAMPLE}, scaled; processor: the ratio in seconds of processor")
    head = f"{'engine':22} {'options':10} {'peer s':>9} {'ours s':>9} {'ratio':>7} {'processor':>10}"
    print(f"{head} {'per s':>8} {'MB':>8} {'apart':>9}")
    for case in ("1 to 5", "-3 to 3"):
        sides = [
            measured(partial(theirs, case=case, count=SAMPLE), partial(harness, folder, "cpu", batch))
            for batch in (1, 8)
        ]
        known, seconds, processor = min((side.result for side in sides), key=lambda result: result[1])
        scale = PROMPTS / SAMPLE
        memory = min(side.megabytes for side in sides)
        mean, shared = tokens(load_model(f"hf:{folder}", device="cpu"), case, SAMPLE)
        print(f"lm-eval: {SAMPLE} prompts in {seconds:.1f} s, {memory:.0f} MB; {mean:.0f} tokens each, {shared} shared")
        for name, load in (("transformers, float32", partial(loaded, folder, "cpu")), ("embedded (NumPy)", embedded)):
            taken = measured(partial(ours, case=case, count=PROMPTS), load)
            gap = float(np.abs(taken.result[0][:SAMPLE] - known).max())
            row(name, case, taken, seconds * scale, processor * scale, gap)


def on_gpu(folder: Path) -> None:
    """Both sides on a GPU, and what share of the processor's and the memory's peak ours reached."""
    torch, transformers = import_module("torch"), import_module("transformers")

    rate, copied = peak_flops(torch), peak_bytes(torch)
    print(f"{torch.cuda.get_device_name()}: {rate / 1e12:.0f} TFLOP/s in bfloat16, {copied / 1e12:.1f} TB/s measured")
    model = loaded(folder, "cuda")
    config = transformers.AutoConfig.from_pretrained(folder)
    weights = sum(
        p.numel() for name, p in model._net.named_parameters() if "embed" not in name and "lm_head" not in name
    )
    for case in GPU_CASES:
        requests, options = CASES[case](PROMPTS)
        torch.cuda.reset_peak_memory_stats()
        times = []
        for _ in range(3):
            start = time.perf_counter()
            scores = model.score(requests, options)
            torch.cuda.synchronize()
            times.append(time.perf_counter() - start)
        seconds, memory = sorted(times)[1], torch.cuda.max_memory_allocated() / 2**20
        mean, shared = tokens(model, case, 200)
        start = time.perf_counter()
        texts = [model._prompt(request.messages) for request in requests]
        model._all_tokens(texts)
        written = time.perf_counter() - start
        work = PROMPTS * (mean - shared) * (2 * weights + 4 * config.hidden_size * mean * config.num_hidden_layers)
        print(f"{case}: {mean:.0f} tokens a prompt, {shared} shared")
        print(f"  ours {seconds:7.2f} s {PROMPTS / seconds:7.0f} a second, {memory:6.0f} MB on the GPU", end="")
        print(f"; templates and tokens {written:.2f} s of it; {work / seconds / rate:.0%} of peak FLOPs", end="")
        print(f" ({work / (seconds - written) / rate:.0%} while the GPU works)")
        for batch in (32, 128):
            try:
                compare(harness(folder, "cuda", batch, model), case, batch, scores, seconds)
            except torch.OutOfMemoryError:
                print(f"  lm-eval, batch {batch:3}: out of memory")


def rounding(folder: Path, device: str, count: int) -> None:
    """How far log-probabilities are from those in twice the precision, by how the shared past is read."""
    from vantage.raters.models import load_model

    torch = import_module("torch")
    for dtype, finer in ((torch.float32, torch.float64), (torch.bfloat16, torch.float32)):
        scores: dict[str, Any] = {}
        for name in ("twice the precision", "apart", "joined", "joined, rows alone"):
            exact = name == "twice the precision"
            model: Any = load_model(f"hf:{folder}", device=device)
            model._net = model._net.to(finer if exact else dtype)
            model.score(*CASES["1 to 5, long"](8))
            if name != "apart":
                model._scorer._net._in_parts = False
            if exact or name.endswith("alone"):
                model._scorer._budget = replace(model._scorer._budget, rows=1)
            scores[name] = np.concatenate([model.score(*CASES[case](count)) for case in GPU_CASES], axis=1)
        truth = scores.pop("twice the precision")
        kind = str(dtype).removeprefix("torch.")
        print(f"{kind}: {truth.size} log-probabilities from {truth.min():.1f} to {truth.max():.1f}")
        for name, given in scores.items():
            gap, other = np.abs(given - truth), np.abs(given - scores["joined"])
            print(f"  {name:20} from twice the precision {np.median(gap):.1e}, {gap.max():.1e} at most;", end=" ")
            print(f"from joined {np.median(other):.1e}, {other.max():.1e} at most")


def compare(both: Any, case: str, batch: int, scores: Any, ours_seconds: float) -> None:
    """The harness at one batch size on the GPU."""
    torch = import_module("torch")

    theirs(both, case, batch)
    torch.cuda.reset_peak_memory_stats()
    peers, seconds, _ = theirs(both, case, GPU_SAMPLE)
    memory = torch.cuda.max_memory_allocated() / 2**20
    scaled = seconds * PROMPTS / GPU_SAMPLE
    gap = np.abs(peers - scores[:GPU_SAMPLE])
    print(f"  lm-eval, batch {batch:3}: {scaled:7.2f} s ({GPU_SAMPLE} prompts timed, scaled), {memory:6.0f} MB", end="")
    print(f"; ratio {scaled / ours_seconds:.1f}x; apart by {np.median(gap):.3f} in the median, {gap.max():.3f} at most")


def peak_flops(torch: Any, size: int = 8192) -> float:
    """A large matrix product in half precision, per second."""
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    return 2 * size**3 / _timed(torch, lambda: a @ b)


def peak_bytes(torch: Any) -> float:
    """Bytes that a large copy reads and writes per second."""
    source = torch.empty(2**31, device="cuda", dtype=torch.int8)
    target = torch.empty_like(source)
    return 2 * int(source.numel()) / _timed(torch, lambda: target.copy_(source))


def _timed(torch: Any, work: Any) -> float:
    for _ in range(3):
        work()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(10):
        work()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) / 10 / 1000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--size", default="1b", choices=tuple(SHAPES))
    parser.add_argument("--tokenizer", default="", help="a folder with a tokenizer, for random weights")
    parser.add_argument("--folder", type=Path, help="where the unpacked weights are kept, and found the next time")
    parser.add_argument("--rounding", action="store_true", help="how far rounding moves a log-probability")
    given, _ = parser.parse_known_args()
    unused = {"gguf"} if given.device == "cuda" else set()
    unused |= {"lm_eval"} if given.rounding else set()
    missing = [name for name in NEEDED if find_spec(name) is None and name not in unused]
    if missing:
        print(f"not run: {', '.join(missing)} not installed")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = given.folder or Path(name)
        if given.device == "cuda":
            random_weights(folder, given.size, given.tokenizer)
        elif not (folder / "model.safetensors").exists():
            unpack(folder)
        if given.rounding:
            rounding(folder, given.device, PROMPTS)
        elif given.device == "cuda":
            on_gpu(folder)
        else:
            on_processor(folder)


if __name__ == "__main__":
    main()
