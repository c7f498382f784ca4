"""A server that truncates prompts gives one score, whatever the order of the rows."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from tests.first_day.servers import Answer, Body, judged, serve

WINDOW = 2048
CHARACTERS = 4.2
WORDS = "old stone near that quiet river with its long bridge and a small garden"


def truncating(body: Body) -> Answer:
    """A judge that reads the last 2,048 tokens of a prompt, and does not find what stood before."""
    prompt = "\n".join(message["content"] for message in body["messages"])
    tokens = int(len(prompt) / CHARACTERS)
    answer = judged(body)
    if tokens > WINDOW:
        tokens = WINDOW
        message = answer.body["choices"][0]["message"]
        message["content"] = message["content"].replace('"supported"', '"not_found"')
    answer.body["usage"] = {"prompt_tokens": tokens, "completion_tokens": 20}
    return answer


def rows() -> list[dict[str, Any]]:
    """Five samples whose evidence makes prompts of 2,050 to 3,100 tokens."""
    chosen = random.Random(5)
    made = []
    for number, characters in enumerate((8_400, 9_200, 10_000, 10_800, 12_600)):
        fact = f"The tower number {number} is {60 + number} m high."
        words = [
            "old",
            "stone",
            "near",
            "that",
            "quiet",
            "river",
            "with",
            "its",
            "long",
            "bridge",
            "and",
            "a",
            "small",
            "garden",
        ]
        filling = " ".join(chosen.choice(words) for _ in range(characters // 6))
        sample = {"id": str(number), "question": "How high?", "answer": fact}
        made.append({**sample, "contexts": [f"{fact} {filling}."]})
    return made


@pytest.mark.parametrize("turned", [False, True])
def test_the_order_of_rows_changes_nothing(tmp_path: Path, turned: bool) -> None:
    samples = rows()[::-1] if turned else rows()
    with serve(truncating) as server:
        options = ce.RunOptions(cache=tmp_path / "cache", concurrency=1)
        judge = f"openai:judge@{server.url}"
        run = ce.score(samples, judges=judge, metrics="faithfulness", options=options)
        sent = len(server.asked)
        again = ce.score(samples, judges=judge, metrics="faithfulness", options=options)
    assert [result.scores["faithfulness"].value for result in run.results] == [1.0] * 5
    assert again["faithfulness"].mean == 1.0
    assert len(server.asked) == sent, "all is in the cache"
    assert len({result.sample.id for result in run.results}) == 5


def _in_shards(
    samples: list[dict[str, Any]], judge: str, folder: Path, caches: list[Path]
) -> ce.Run:
    """Score two shards, each with its cache, and merge them; run again what merge asks for."""

    def shard(number: int) -> None:
        """Score one shard."""
        options = ce.RunOptions(cache=caches[number - 1], concurrency=1, shard=f"{number}/2")
        ce.score(samples, judges=judge, metrics="faithfulness", out=folder, options=options)

    shard(1)
    shard(2)
    with pytest.raises(ce.UsageError, match="truncated prompts of shards 1, as another shard"):
        ce.Run.merge(folder)
    shard(1)
    return ce.Run.merge(folder)


@pytest.mark.parametrize("shared", [True, False])
def test_shards_leave_out_replies_to_cut_prompts_as_one_process_does(
    tmp_path: Path, shared: bool
) -> None:
    """The first of two shards has one cut prompt, which shows nothing; the second has three."""
    cut = rows()
    short = {"id": "short", "question": "How high?", "answer": "It is 9 m.", "contexts": ["9 m."]}
    other = {**short, "id": "other", "answer": "It is 8 m."}
    samples = [cut[0], short, other, *cut[1:4]]
    with serve(truncating) as server:
        judge = f"openai:judge@{server.url}"
        options = ce.RunOptions(cache=tmp_path / "whole-cache", concurrency=1)
        whole = ce.score(
            samples, judges=judge, metrics="faithfulness", out=tmp_path / "whole", options=options
        )
        caches = [tmp_path / "cache", tmp_path / ("cache" if shared else "cache-of-2")]
        merged = _in_shards(samples, judge, tmp_path / "shards", caches)
    assert merged["faithfulness"].mean == whole["faithfulness"].mean == 1.0
    for name in ("results.jsonl", "summary.json"):
        in_shards, in_one = [
            re.sub(r'"seconds": [\d.]+', "", (tmp_path / folder / name).read_text())
            for folder in ("shards", "whole")
        ]
        assert in_shards == in_one, name
