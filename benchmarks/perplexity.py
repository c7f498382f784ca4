"""Speed of question perplexity compared with unitxt, on the architecture of flan-t5-small with
random weights.

    pip install '.[local]' unitxt
    python benchmarks/perplexity.py
        1,000 pairs, about twenty minutes on one core
    python benchmarks/perplexity.py --pairs 200
        a quick look
    python benchmarks/perplexity.py --device cuda --pairs 10000
        the same on a GPU, in float32 and bfloat16

Texts have 20 to 400 tokens, questions 6 to 18, all of invented words. "single": every text has one
question; "shared": five questions per text. The programs run in turn on slices of 500 pairs. With
one thread, CPU time is measured, so that other processes do not matter. If unitxt is not installed,
its method (batches of 32 in the given order, padded to the longest) is measured instead.
"deviation" is the largest difference of the mean log probability from the plain forward pass of
transformers in float32, one pair at a time, over every tenth pair.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import math
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from claimeval.providers.local.loading import choose
from claimeval.providers.local.perplexity import QuestionScorer, QuestionTextPair
from claimeval.types.errors import UsageError
from claimeval.types.options import LocalOptions

SYLLABLES = [
    first + vowel + last for first in "bcdfglmnprst" for vowel in "aeiou" for last in ("", "n", "s")
]
PROMPT = "Generate a question based on the given content: "
SLICE = 500
EVERY = 10
"""One in so many pairs is compared with the plain forward."""


def build(folder: Path) -> None:
    """A model of the size of flan-t5-small, and a tokenizer that knows 3,000 pieces of invented
    words."""
    transformers: Any = importlib.import_module("transformers")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=3000,
        special_tokens=["<pad>", "</s>", "<unk>"],
        unk_token="<unk>",
        show_progress=False,
    )
    chance = random.Random(0)
    tokenizer.train_from_iterator([PROMPT, *(words(chance, 60) for _ in range(500))], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=512,
    )
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=32128,
        d_model=512,
        d_kv=64,
        d_ff=1024,
        num_layers=8,
        num_heads=6,
        feed_forward_proj="gated-gelu",
        decoder_start_token_id=0,
    )
    transformers.T5ForConditionalGeneration(config).save_pretrained(folder)


def words(chance: random.Random, number: int) -> str:
    """So many invented words of one to three syllables."""
    return " ".join(
        "".join(chance.choices(SYLLABLES, k=chance.randint(1, 3))) for _ in range(number)
    )


def pairs(count: Callable[[str], int], number: int, questions: int) -> list[QuestionTextPair]:
    """So many pairs, `questions` of them with the same text, of the lengths in tokens that are said
    above."""
    chance = random.Random(questions)

    def text(shortest: int, longest: int) -> str:
        wanted = chance.randint(shortest, longest)
        pool = words(chance, wanted).split()
        low, high = 1, len(pool)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (
                (middle, high) if count(" ".join(pool[:middle])) <= wanted else (low, middle - 1)
            )
        return " ".join(pool[:low])

    texts = [text(20, 400) for _ in range(math.ceil(number / questions))]
    return [QuestionTextPair(own, text(6, 18)) for own in texts for _ in range(questions)][:number]


Scores = list[float]
Program = Callable[[Sequence[QuestionTextPair]], Scores]
"""Pairs to mean log-probabilities."""


def unitxt(folder: Path) -> Program:
    """The metric of unitxt on this model."""
    metrics: Any = importlib.import_module("unitxt.metrics")
    lm = metrics.Perplexity.EncoderDecoderLM(model_name=str(folder), single_token_mode=False)

    def score(chosen: Sequence[QuestionTextPair]) -> Scores:
        found = lm.compute_lm([PROMPT + p.text for p in chosen], [p.question for p in chosen], 32)
        return [math.log(value) for value in found]

    return score


class Plain:
    """The model of transformers as it is loaded, on one padded batch after the other."""

    def __init__(self, folder: Path, device: str, batch: int) -> None:
        transformers: Any = importlib.import_module("transformers")
        self.tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)
        self.model: Any = (
            transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval().to(device)
        )
        self.device = device
        self.batch = batch

    def __call__(self, chosen: Sequence[QuestionTextPair]) -> Scores:
        return [score for part in slices(chosen, self.batch) for score in self._batch(part)]

    @torch.no_grad()
    def _batch(self, part: Sequence[QuestionTextPair]) -> Scores:
        sources = self.tokenizer(
            [PROMPT + p.text for p in part], padding=True, return_tensors="pt"
        ).to(self.device)
        labels = self.tokenizer([p.question for p in part], padding=True, return_tensors="pt").to(
            self.device
        )
        said = self.model(**sources, labels=labels["input_ids"]).logits.log_softmax(-1)
        chosen = said.gather(2, labels["input_ids"][..., None])[..., 0] * labels["attention_mask"]
        means: Scores = (chosen.sum(1) / labels["attention_mask"].sum(1)).tolist()
        return means


def ours(folder: Path, device: str, dtype: str) -> Program:
    """claimeval on this model."""
    scorer = QuestionScorer(LocalOptions(model=str(folder), device=device, dtype=dtype))

    def score(chosen: Sequence[QuestionTextPair]) -> Scores:
        found = dict(scorer.score(chosen))
        return [found[index].log_probability for index in range(len(chosen))]

    return score


def slices(chosen: Sequence[QuestionTextPair], size: int) -> Iterator[Sequence[QuestionTextPair]]:
    """The pairs in runs of at most `size`."""
    return (chosen[start : start + size] for start in range(0, len(chosen), size))


class Measured(NamedTuple):
    """One program on one kind of pairs."""

    pairs_per_second: float
    deviation: float


def measure(
    programs: dict[str, Program],
    chosen: list[QuestionTextPair],
    exact: Program,
    clock: Callable[[], float],
) -> dict[str, Measured]:
    """The speed of each program, slice by slice in turns, and how far it is from the plain
    forward."""
    seconds = dict.fromkeys(programs, 0.0)
    found: dict[str, Scores] = {name: [] for name in programs}
    for program in programs.values():
        program(chosen[:8])
    for part in slices(chosen, SLICE):
        for name, program in programs.items():
            started = clock()
            found[name] += program(part)
            seconds[name] += clock() - started
    wanted = exact(chosen[::EVERY])
    return {
        name: Measured(
            len(chosen) / seconds[name],
            max(abs(a - b) for a, b in zip(found[name][::EVERY], wanted, strict=True)),
        )
        for name in programs
    }


def clock_for(device: str, threads: int) -> Callable[[], float]:
    """Processor time for one thread on the CPU, else the wall clock after everything queued is
    done."""
    if device == "cpu":
        return time.process_time if threads == 1 else time.perf_counter

    def finished() -> float:
        torch.cuda.synchronize()
        return time.perf_counter()

    return finished


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument(
        "--bfloat16", action="store_true", help="measure reduced precision too (always on a GPU)"
    )
    options = parser.parse_args()
    try:
        choose(options.device)
    except UsageError as error:
        parser.exit(2, f"nothing was measured: {error}\n")
    torch.set_num_threads(options.threads)
    clock = clock_for(options.device, options.threads)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(folder)
        for row in rows(
            folder,
            options.device,
            options.pairs,
            options.bfloat16 or options.device != "cpu",
            clock,
        ):
            print(row, flush=True)


def rows(
    folder: Path, device: str, number: int, reduced: bool, clock: Callable[[], float]
) -> Iterator[str]:
    """The lines of the table."""
    exact = Plain(folder, device, 1)
    dtypes = ("float32", "bfloat16") if reduced else ("float32",)
    peer = "unitxt" if importlib.util.find_spec("unitxt") else "method of unitxt"
    first = unitxt(folder) if peer == "unitxt" else Plain(folder, device, 32)
    programs = {peer: first} | {
        f"claimeval {dtype}": ours(folder, device, dtype) for dtype in dtypes
    }
    yield (
        f"torch {torch.__version__}, {device}, {torch.get_num_threads()} threads, Python"
        f" {sys.version.split()[0]}\n"
    )
    yield "| pairs | program | pairs/s | ratio | deviation |"
    yield "|---|---|---|---|---|"
    for kind, questions in (("single", 1), ("shared", 5)):
        chosen = pairs(
            lambda text: len(exact.tokenizer(text, verbose=False)["input_ids"]) - 1,
            number,
            questions,
        )
        measured = measure(programs, chosen, exact, clock)
        for program, (speed, deviation) in measured.items():
            ratio = speed / measured[peer].pairs_per_second
            yield f"| {kind} | {program} | {speed:.2f} | {ratio:.2f} | {deviation:.0e} |"


if __name__ == "__main__":
    main()
