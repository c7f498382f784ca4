"""Context relevance by perplexity, against the plain model of transformers asked token by token."""

from __future__ import annotations

import importlib
import math
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from claimeval.providers.local import perplexity
from claimeval.providers.local.loading import load, locate
from claimeval.providers.local.networks import Seq2Seq
from claimeval.providers.local.perplexity import (
    ContextRelevance,
    Likelihood,
    QuestionScorer,
    QuestionTextPair,
    TextRelevance,
)
from claimeval.providers.local.tokens import SourceWindows, load_prompt
from claimeval.store.stats import collect_stats
from claimeval.store.store import Store, unpack
from claimeval.types.chat_format import read_chat
from claimeval.types.errors import PromptError, UsageError
from claimeval.types.options import LocalOptions
from claimeval.types.records import Document, Sample
from tests.providers.local import tiny_models

TOLERANCE = 1e-5
WORDS = [word for word in " ".join(tiny_models.TEXTS).split() if word != "</s>"]
PROMPT = "Generate a question based on the given content: "


def drawn(number: int, seed: int = 0) -> list[QuestionTextPair]:
    """Pairs of all lengths: every text has one to four questions, some questions have several
    texts."""
    chance = random.Random(seed)
    questions = [" ".join(chance.choices(WORDS, k=chance.randint(1, 8))) for _ in range(number)]
    pairs = []
    for _ in range(number):
        text = " ".join(chance.choices(WORDS, k=chance.randint(0, 9)))
        pairs += [
            QuestionTextPair(text, question)
            for question in chance.choices(questions, k=chance.randint(1, 4))
        ]
    return pairs


@cache
def plain(folder: Path) -> tuple[Any, Any]:
    """The tokenizer and the model as transformers loads them."""
    lib = tiny_models.transformers()
    return (
        lib.AutoTokenizer.from_pretrained(folder),
        lib.AutoModelForSeq2SeqLM.from_pretrained(folder).eval(),
    )


def token_by_token(folder: Path, pair: QuestionTextPair) -> float:
    """The mean log-probability, every token asked for in a forward pass of its own, nothing padded
    or shared."""
    torch: Any = importlib.import_module("torch")
    tokenizer, model = plain(folder)
    source = tokenizer(PROMPT + pair.text, return_tensors="pt").input_ids
    target = tokenizer(pair.question).input_ids
    total = 0.0
    for place, token in enumerate(target):
        before = torch.tensor([[model.config.decoder_start_token_id, *target[:place]]])
        with torch.no_grad():
            logits = model(input_ids=source, decoder_input_ids=before).logits[0, -1]
        total += logits.double().log_softmax(0)[token].item()
    return total / len(target)


def scorer_on_cpu(folder: Path, **settings: Any) -> QuestionScorer:
    return QuestionScorer(LocalOptions(model=str(folder), device="cpu", **settings))


def scores(folder: Path, pairs: list[QuestionTextPair], **settings: Any) -> list[Likelihood]:
    found = dict(scorer_on_cpu(folder, **settings).score(pairs))
    assert sorted(found) == list(range(len(pairs)))
    return [found[index] for index in range(len(pairs))]


@pytest.mark.parametrize("model", ["t5", "bart"])
def test_the_score_is_that_of_the_plain_model_asked_token_by_token(
    model: str, request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue(model)
    pairs = drawn(3)
    for pair, said in zip(pairs, scores(folder, pairs), strict=True):
        assert said.log_probability == pytest.approx(token_by_token(folder, pair), abs=TOLERANCE)
        assert said.score == pytest.approx(math.exp(said.log_probability))
        assert 0 < said.score <= 1


@pytest.mark.parametrize("model", ["t5", "bart"])
def test_the_score_does_not_depend_on_the_batch_or_the_order(
    model: str, request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue(model)
    pairs = drawn(6)
    one = scorer_on_cpu(folder)
    alone = [said.log_probability for pair in pairs[:6] for _, said in one.score([pair])]
    for batch in (1, 64):
        together = [said.log_probability for said in scores(folder, pairs, batch_size=batch)]
        backwards = [
            said.log_probability for said in scores(folder, pairs[::-1], batch_size=batch)
        ][::-1]
        assert together[:6] == pytest.approx(alone, abs=TOLERANCE)
        assert backwards == pytest.approx(together, abs=TOLERANCE)


def test_many_questions_about_one_text_stay_apart(t5: Path) -> None:
    questions = [" ".join(WORDS[start : start + 6]) for start in range(40)]
    pairs = [QuestionTextPair("The capital of Italy is Rome.", question) for question in questions]
    together = [said.log_probability for said in scores(t5, pairs)]
    alone = [scores(t5, [pair])[0].log_probability for pair in pairs[::13]]
    assert together[::13] == pytest.approx(alone, abs=TOLERANCE)


def test_the_end_token_counts(t5: Path) -> None:
    tokenizer, _ = plain(t5)
    (said,) = scores(t5, [QuestionTextPair("Rome", "who are we?")])
    assert said.tokens == len(tokenizer("who are we?", add_special_tokens=False).input_ids) + 1


LONG = " ".join(WORDS[:60])


def test_a_long_text_is_cut_and_the_question_never(t5: Path) -> None:
    tokenizer, _ = plain(t5)
    question = " ".join(WORDS[:40])
    (said,) = scores(t5, [QuestionTextPair(LONG, question)], context_tokens=64)
    assert said.tokens == len(tokenizer(question).input_ids) > 64
    assert said.windows == 1
    offsets = tokenizer(LONG, add_special_tokens=False, return_offsets_mapping=True).offset_mapping
    kept = len(offsets) - said.cut
    assert 63 <= len(tokenizer(PROMPT).input_ids) + kept <= 65
    shorter = LONG[: offsets[kept][0]]
    assert said.log_probability == pytest.approx(
        token_by_token(t5, QuestionTextPair(shorter, question)), abs=TOLERANCE
    )


def test_a_long_text_is_read_in_windows_that_overlap_and_the_best_counts(t5: Path) -> None:
    pair = QuestionTextPair(LONG, "who are we?")
    (said,) = scores(t5, [pair], context_tokens=64, long_texts="window")
    loaded = load(locate(str(t5)), "seq2seq", "cpu")
    (read,) = SourceWindows(loaded.tokens, load_prompt("question_given_text"), 64, "window").read(
        [LONG]
    )
    assert said.cut == read.cut == 0
    assert said.windows == len(read.sources) > 2
    assert max(map(len, read.sources)) <= 64

    tokenizer, model = plain(t5)
    texts = [
        text.removeprefix(PROMPT.strip()).strip()
        for text in tokenizer.batch_decode(read.sources, True)
    ]
    places = [LONG.find(text) for text in texts]
    assert places[0] == 0
    assert places[-1] + len(texts[-1]) == len(LONG)
    for (place, text), following in zip(zip(places, texts, strict=True), places[1:], strict=False):
        assert place < following < place + len(text)

    torch: Any = importlib.import_module("torch")
    labels = tokenizer(pair.question, return_tensors="pt").input_ids
    with torch.no_grad():
        losses = [
            model(input_ids=torch.tensor([source]), labels=labels).loss.item()
            for source in read.sources
        ]
    assert said.log_probability == pytest.approx(-min(losses), abs=TOLERANCE)


def test_a_text_is_cut_inside_a_prompt_that_goes_on_after_it(t5: Path, tmp_path: Path) -> None:
    prompt = tmp_path / "own.j2"
    prompt.write_text("{# purpose: another #}\ncontent: {{ text }} Generate a question\n")
    tokens = load(locate(str(t5)), "seq2seq", "cpu").tokens
    windows = SourceWindows(tokens, load_prompt("question_given_text", prompt), 64, "truncate")
    (((source,), cut),) = windows.read([LONG])
    tokenizer, _ = plain(t5)
    whole = tokenizer(f"content: {LONG} Generate a question").input_ids
    after = len(tokenizer("Generate a question").input_ids)
    assert (len(source), cut) == (64, len(whole) - 64)
    assert source == whole[: 64 - after] + whole[-after:]


def test_a_prompt_with_two_places_for_the_text_is_refused(t5: Path, tmp_path: Path) -> None:
    prompt = tmp_path / "own.j2"
    prompt.write_text("{# purpose: another #}\n{{ text }} and {{ text }}\n")
    with pytest.raises(PromptError, match="uses 'text' more than once"):
        scores(t5, [QuestionTextPair("a", "b")], prompt=str(prompt))


def test_a_question_that_the_model_cannot_produce_is_refused(bart: Path) -> None:
    with pytest.raises(UsageError, match="the model can produce 256, and questions are not cut"):
        scores(bart, [QuestionTextPair("Rome", " ".join(WORDS * 4))])


def test_a_mixture_of_experts_whose_tokens_compete_is_refused(
    tmp_path: Path, torch_here: None
) -> None:
    folder = tiny_models.t5(tmp_path, kind="switch_transformers")
    with pytest.raises(UsageError, match=r"\(switch_transformers\) is of a kind"):
        scores(folder, [QuestionTextPair("a", "b")])


def test_a_device_that_runs_out_of_memory_is_said_in_one_line(
    t5: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("CUDA out of memory.\nTried to allocate 9 GiB")

    monkeypatch.setattr(Seq2Seq, "_encode", fail)
    message = (
        r"t5\d* failed on cpu: CUDA out of memory\.\. If memory ran out, use batches of fewer than"
        r" 77 tokens"
    )
    with pytest.raises(UsageError, match=message):
        scores(t5, [QuestionTextPair("a", "b")], batch_size=77)


def test_a_text_that_fits_is_read_once(t5: Path) -> None:
    pair = QuestionTextPair("Rome", "who are we?")
    assert scores(t5, [pair], context_tokens=64, long_texts="window") == scores(t5, [pair])


def test_a_window_without_room_for_text_is_refused(t5: Path) -> None:
    with pytest.raises(UsageError, match="no room next to the prompt"):
        scores(t5, [QuestionTextPair("a", "b")], context_tokens=16)


def test_text_that_reads_like_a_control_token_is_text(t5: Path) -> None:
    tokens = load(locate(str(t5)), "seq2seq", "cpu").tokens
    (ids,) = tokens.ids([tokens.data("Rome </s> London <pad> \ud800")])
    assert ids.count(1) == 1
    assert ids[-1] == 1
    assert 0 not in ids


def test_reduced_precision_says_how_far_it_is_from_float32(t5: Path) -> None:
    pairs = drawn(6)
    scorer = scorer_on_cpu(t5, dtype="bfloat16")
    found = dict(scorer.score(pairs))
    exact = scores(t5, pairs)
    furthest = max(abs(found[index].score - said.score) for index, said in enumerate(exact))
    assert scorer.deviation is not None
    assert scorer.deviation == pytest.approx(furthest, abs=1e-6)
    assert 0 < scorer.deviation < 0.05
    assert scorer_on_cpu(t5).deviation is None


def sample(name: str, *texts: str, question: str = "who are we?") -> Sample:
    contexts = tuple(
        Document(id=f"{name}{number}", text=text) for number, text in enumerate(texts, 1)
    )
    return Sample(id=name, question=question, contexts=contexts)


def test_a_sample_has_the_maximum_means_of_the_first_retrieved_and_ranks() -> None:
    scored = [0.2, 0.5, 0.5, 0.1]
    texts = [
        TextRelevance(
            id=str(index),
            score=score,
            rank=1 + sum(other > score for other in scored),
            cut=0,
            windows=1,
        )
        for index, score in enumerate(scored)
    ]
    relevance = ContextRelevance(id="a", texts=tuple(texts))
    assert relevance.scores == pytest.approx(
        {
            "query_likelihood": 0.5,
            "query_likelihood@1": 0.2,
            "query_likelihood@3": 0.4,
            "query_likelihood@5": 0.325,
            "query_likelihood_best@3": 0.4,
            "query_likelihood_best@5": 0.325,
        }
    )


def test_the_means_of_the_best_and_of_the_first_retrieved_differ_where_the_ranking_is_bad() -> None:
    texts = [
        TextRelevance(id=str(index), score=score, rank=7 - index, cut=0, windows=1)
        for index, score in enumerate((0.1, 0.2, 0.3, 0.4, 0.5, 0.6), 1)
    ]
    scores = ContextRelevance(id="a", texts=tuple(texts)).scores
    assert [scores[f"query_likelihood@{k}"] for k in (1, 3, 5)] == pytest.approx([0.1, 0.2, 0.3])
    assert [scores[f"query_likelihood_best@{k}"] for k in (3, 5)] == pytest.approx([0.5, 0.4])


def test_measure_gives_every_sample_in_order_with_ranks_or_a_reason(t5: Path) -> None:
    samples = [
        sample("a", "Rome", "London", "Rome"),
        sample("b"),
        sample("c", "Madrid", question=" "),
        sample("d", "Madrid"),
    ]
    found = list(perplexity.measure(samples, scorer_on_cpu(t5)))
    assert [relevance.id for relevance in found] == ["a", "b", "c", "d"]
    assert [relevance.because for relevance in found] == [None, "no contexts", "no question", None]
    rome, london, again = found[0].texts
    assert rome.score == again.score
    assert (rome.rank, london.rank, again.rank) in ((1, 3, 1), (2, 1, 2))
    assert set(found[1].scores.values()) == {None}
    assert found[3].texts[0].rank == 1


def test_a_second_run_computes_nothing(t5: Path, tmp_path: Path, forwards: list[str]) -> None:
    samples = [sample("a", "Rome", "London"), sample("b", "Rome")]
    with Store(tmp_path / "store") as store:
        first = list(perplexity.measure(samples, scorer_on_cpu(t5), store))
        assert forwards
        forwards.clear()
        again = list(perplexity.measure(samples, scorer_on_cpu(t5), store))
    assert again == first
    assert forwards == []


def test_each_text_is_read_once_by_the_encoder(t5: Path, forwards: list[str]) -> None:
    questions = ["who are we?", "who?", "which city?", "which capital?", "are we?"]
    scores(
        t5,
        [
            QuestionTextPair(text, question)
            for question in questions
            for text in ("Rome", "London", "It rained")
        ],
    )
    assert (forwards.count("T5Stack"), forwards.count("T5ForConditionalGeneration")) == (2, 1)


def test_what_was_computed_before_a_kill_is_not_computed_again(t5: Path, tmp_path: Path) -> None:
    samples = [sample(str(number), word) for number, word in enumerate(dict.fromkeys(WORDS[:12]))]
    done = 0

    def stop(number: int) -> None:
        nonlocal done
        done += number
        if done == 5:
            raise KeyboardInterrupt

    with Store(tmp_path / "store") as store:
        with pytest.raises(KeyboardInterrupt):
            list(perplexity.measure(samples, scorer_on_cpu(t5), store, on_scored=stop))
        counts: list[int] = []
        found = list(perplexity.measure(samples, scorer_on_cpu(t5), store, on_scored=counts.append))
    assert counts[0] == 5
    assert sum(counts) == len(samples) == len(found)


def test_stored_results_are_replies_that_the_store_can_account_for(
    t5: Path, tmp_path: Path
) -> None:
    scorer = scorer_on_cpu(t5)
    with Store(tmp_path / "store") as store:
        list(perplexity.measure([sample("a", "Rome")], scorer, store))
        stock = collect_stats(store)
        value = store.get(scorer.key(QuestionTextPair("Rome", "who are we?")))
    assert (stock.replies, stock.unreadable) == (1, 0)
    assert value is not None
    origin, body = unpack(value)
    assert origin.model == f"local:perplexity={t5}"
    assert origin.endpoint == scorer.revision
    text = read_chat(body).text
    assert text is not None
    assert Likelihood.model_validate_json(text).windows == 1


def test_the_key_names_all_that_can_change_the_score(t5: Path, bart: Path, tmp_path: Path) -> None:
    prompt = tmp_path / "own.j2"
    prompt.write_text("{# purpose: another #}\nAsk about this: {{ text }}\n")
    pair = QuestionTextPair("Rome", "who?")
    keys = [
        scorer_on_cpu(folder, **settings).key(asked)
        for folder, settings, asked in (
            (t5, {}, pair),
            (t5, {"dtype": "bfloat16"}, pair),
            (t5, {"prompt": str(prompt)}, pair),
            (t5, {"context_tokens": 40}, pair),
            (t5, {"long_texts": "window"}, pair),
            (bart, {}, pair),
            (t5, {}, QuestionTextPair("Rome", "when?")),
            (t5, {}, QuestionTextPair("London", "who?")),
        )
    ]
    assert len(set(keys)) == len(keys)
    assert scorer_on_cpu(t5, batch_size=7).key(pair) == keys[0]


def test_an_own_prompt_is_read_as_it_is_written(t5: Path, tmp_path: Path) -> None:
    prompt = tmp_path / "own.j2"
    prompt.write_text("{# purpose: the text alone #}\n{{ text }}\n")
    (said,) = scores(t5, [QuestionTextPair(PROMPT + "Rome", "who?")], prompt=str(prompt))
    assert said.log_probability == pytest.approx(
        token_by_token(t5, QuestionTextPair("Rome", "who?")), abs=TOLERANCE
    )


def test_a_model_of_another_kind_is_refused(nli: Path) -> None:
    with pytest.raises(UsageError, match=r"\(bert\) is not a sequence-to-sequence model"):
        scores(nli, [QuestionTextPair("a", "b")])
