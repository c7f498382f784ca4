"""Servers that truncate prompts are recognized by their counts, and ordinary ones never."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from claimeval.providers.windows import PromptCounts, window_of
from claimeval.types.requests import Completion, Judge, Message, Request, Usage

JUDGE = Judge(name="j", model="openai:m", endpoint="http://127.0.0.1/v1")
WORDS = "the tower of this town was built from stone and stands near its old river bridge"
HAN = "这座塔建于一八八九年位于城市的中心河边有桥和公园每年许多人来参观它的高度是三百米"


def _made(pieces: list[str], characters: int = 60_000) -> str:
    chosen = random.Random(0)
    return "".join(chosen.choice(pieces) for _ in range(characters // 5))


PROSE = _made([f"{word} " for word in WORDS.split(" ")], 250_000)
HAN_TEXT = _made(list(HAN), 250_000)
CODE = _made([f"x{n}[{n % 7}] += {{'k': {n / 97:.3f}}};\n" for n in range(97)])


def _part(text: str, characters: int, seed: int) -> str:
    start = random.Random(seed).randrange(len(text) - characters)
    return text[start : start + characters]


def prose(characters: int, seed: int) -> str:
    return _part(PROSE, characters, seed)


def han(characters: int, seed: int) -> str:
    return _part(HAN_TEXT, characters, seed)


def code(characters: int, seed: int) -> str:
    return _part(CODE, characters, seed)


def request(text: str, window: int | None = None, longest: int = 99) -> Request:
    judge = JUDGE.model_copy(update={"context_tokens": window})
    return Request(
        judge=judge, messages=(Message("user", text),), reply_format="json", max_tokens=longest
    )


def cut(
    counts: PromptCounts, text: str, tokens: int, window: int | None = None, longest: int = 99
) -> bool:
    reply = Completion(b"", "{}", usage=Usage(tokens, 10))
    return counts.cut(request(text, window, longest), reply) is not None


def numbers_of_cut(replies: Iterable[tuple[str, int]]) -> int:
    counts = PromptCounts()
    found = sum(cut(counts, text, tokens) for text, tokens in replies)
    return found + sum(
        counts.take_accepted(window) for window in (2048, 4096, 6144, 3000, 512, 300)
    )


OLLAMA = {4096: 2050, 2048: 1026, 8192: 4098}


@pytest.mark.parametrize(
    ("write", "per_token"), [(prose, 4.3), (han, 1.5), (han, 1.8), (code, 2.5), (code, 3.0)]
)
@pytest.mark.parametrize("kept", [2048, 4096, 2050, 1026, 512, 6144])
def test_prompts_of_different_lengths_with_one_count_are_cut(
    write: object, per_token: float, kept: int
) -> None:
    """Five prompts of 1.1 to 1.9 times the window, as long ones of a run."""
    assert callable(write)
    window = window_of(kept)
    lengths = [int(window * share * per_token) for share in (1.1, 1.25, 1.45, 1.6, 1.9)]
    replies = [(write(length, n), kept) for n, length in enumerate(lengths)]
    assert numbers_of_cut(replies) == 5
    assert numbers_of_cut(reversed(replies)) == 5, "in any order"


@pytest.mark.parametrize("longest", [256, 512, 1000, 1024, 1500])
@pytest.mark.parametrize("window", [2048, 4096, 8192])
def test_a_server_that_leaves_room_for_the_reply_is_found_in_any_order(
    window: int, longest: int
) -> None:
    """Of a longer prompt it keeps what the longest reply leaves of its window."""
    kept = window - longest
    lengths = [int(kept * share * 4.3) for share in (0.4, 1.02, 0.7, 1.2, 0.9, 1.5, 1.9)]
    replies = [(prose(size, n), min(int(size / 4.3), kept)) for n, size in enumerate(lengths)]
    for order in (replies, replies[::-1]):
        counts = PromptCounts()
        found = sum(cut(counts, text, tokens, longest=longest) for text, tokens in order)
        assert found > 0
        assert found + counts.take_accepted(window) == 4
        known = [cut(PromptCounts(), text, n, window, longest) for text, n in order]
        assert sum(known) == 4


def test_a_small_window_is_found_by_its_second_prompt() -> None:
    assert numbers_of_cut([(prose(95_000, 1), 300), (prose(80_000, 2), 300)]) == 2


def test_a_window_that_is_no_usual_one_is_found_by_its_third_prompt() -> None:
    replies = [(prose(n, n), 3000) for n in (15_000, 18_000, 20_500)]
    assert numbers_of_cut(replies) == 3


def test_dense_texts_show_a_window_that_is_no_usual_one_beside_those_that_fit() -> None:
    """Code of 2.5 characters a token, of which five prompts fit into 3,000 tokens."""
    sizes = [3_000, 4_000, 5_000, 6_000, 7_000, 8_000, 9_500, 11_500, 14_000]
    replies = [(code(size, size), min(int(size / 2.5), 3_000)) for size in sizes]
    assert numbers_of_cut(replies) == 4
    assert numbers_of_cut(reversed(replies)) == 4, "in any order"


def test_numbers_that_have_half_a_window_by_chance_are_not_cut() -> None:
    """Texts with 2.6 characters a token, a hundred of them with the count of a cut prompt."""
    chosen = random.Random(3)
    replies = []
    for number in range(300):
        size = chosen.randrange(400, 4_500)
        replies.append((code(size, number), int(size / 2.6 * chosen.uniform(0.95, 1.05)) + 11))
    for number in range(100):
        size = int(1_015 * 2.6 * chosen.uniform(0.95, 1.05))
        replies.append((code(size, 1_000 + number), 1_026))
    chosen.shuffle(replies)
    counts = PromptCounts()
    assert sum(cut(counts, text, tokens) for text, tokens in replies) == 0


def test_half_of_a_known_window_is_a_cut_only_of_a_long_prompt() -> None:
    counts = PromptCounts()
    assert not cut(counts, prose(8_800, 1), 2050, window=4096), (
        "4.3 characters a token: it was read whole"
    )
    assert cut(counts, prose(18_000, 2), 2050, window=4096)
    assert cut(PromptCounts(), prose(9_000, 2), 4096, window=4096)


def natural(text: str, chosen: random.Random) -> int:
    """Tokens of an ordinary prompt, by a tokenizer for which no two texts are alike."""
    dense = len(text) - len(text.encode("ascii", "ignore"))
    rate = chosen.gauss(1.0, 0.06)
    return max(1, int((dense / 1.6 + (len(text) - dense) / 4.3) * rate))


@pytest.mark.parametrize(
    ("seed", "longest"), [(0, 99), (1, 99), (2, 99), (3, 1024), (4, 4096), (5, 1000), (6, 16_384)]
)
def test_no_ordinary_request_of_two_thousand_is_called_cut(seed: int, longest: int) -> None:
    """Of them, 200 have one count, as others by chance, and 20 are repeated."""
    chosen = random.Random(seed)
    replies = []
    for number in range(1780):
        write = chosen.choice((prose, prose, prose, han, code))
        text = write(chosen.randrange(200, 24_000), number)
        rate = 2.7 if write is code else 4.3
        tokens = (
            int(len(text) / rate * chosen.gauss(1, 0.05))
            if write is code
            else natural(text, chosen)
        )
        replies.append((text, tokens))
    one = chosen.choice((2048, 2050, 1026, 777, 1500, max(4096 - longest, 3096)))
    for number in range(200):
        length = int(one * 4.3 * chosen.uniform(0.96, 1.04))
        replies.append((prose(length, 10_000 + number), one))
    replies += chosen.sample(replies, 20)
    chosen.shuffle(replies)
    counts = PromptCounts()
    assert sum(cut(counts, text, n, longest=longest) for text, n in replies) == 0


@pytest.mark.parametrize("tokens", [None, 0, 26, 900])
def test_a_count_that_a_server_gives_to_every_prompt_is_no_window(tokens: int | None) -> None:
    counts = PromptCounts()
    replies = [Completion(b"", "{}", usage=Usage(tokens, 1)) for _ in range(9)]
    prompts = [prose(400 * n, n) for n in range(1, 10)]
    assert not any(
        counts.cut(request(text), reply) for text, reply in zip(prompts, replies, strict=True)
    )
