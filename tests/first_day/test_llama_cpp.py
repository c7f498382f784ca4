"""llama.cpp holds a model that knows nothing to a schema that names the claims: every claim gets a
verdict.

Needs the wheels `xllamacpp` (llama.cpp with its HTTP server) and `gguf`; no weights are fetched,
they are drawn.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.command_line import call

pytestmark = pytest.mark.slow
pytest.importorskip("xllamacpp", reason="llama.cpp (the wheel xllamacpp) is not installed")
pytest.importorskip("gguf", reason="gguf, which writes files for llama.cpp, is not installed")

BYTES = range(3, 259)
"""Tokens of single bytes, which a random model would make invalid UTF-8 of."""
QUOTE = 261
"""The token of a quotation mark: a random model hardly ever ends a text by itself."""
MODEL = """
import sys
import gguf, numpy
path, dim, feed, layers, heads = sys.argv[1], 64, 128, 2, 4
draw = numpy.random.default_rng(0).standard_normal
w = gguf.GGUFWriter(path, "llama")
w.add_context_length(16384)
w.add_embedding_length(dim)
w.add_block_count(layers)
w.add_feed_forward_length(feed)
w.add_head_count(heads)
w.add_head_count_kv(heads)
w.add_layer_norm_rms_eps(1e-5)
w.add_rope_dimension_count(dim // heads)
tokens = [b"<unk>", b"<s>", b"</s>"] + [f"<0x{i:02X}>".encode() for i in range(256)]
tokens += ["\\u2581".encode()] + [bytes([c]) for c in range(33, 127)]
w.add_vocab_size(len(tokens))
w.add_tokenizer_model("llama")
w.add_token_list(tokens)
w.add_token_scores([0.0] * len(tokens))
w.add_token_types([2, 3, 3] + [6] * 256 + [1] * 95)
w.add_bos_token_id(1)
w.add_eos_token_id(2)
w.add_unk_token_id(0)
w.add_chat_template("{% for m in messages %}{{ m.content }}\\n{% endfor %}")
random = lambda name, *shape: w.add_tensor(name, (draw(shape) * 0.5).astype(numpy.float32))
ones = lambda name: w.add_tensor(name, numpy.ones(dim, numpy.float32))
random("token_embd.weight", len(tokens), dim)
ones("output_norm.weight")
random("output.weight", len(tokens), dim)
for n in range(layers):
    ones(f"blk.{n}.attn_norm.weight")
    ones(f"blk.{n}.ffn_norm.weight")
    for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
        random(f"blk.{n}.{part}.weight", dim, dim)
    random(f"blk.{n}.ffn_gate.weight", feed, dim)
    random(f"blk.{n}.ffn_up.weight", feed, dim)
    random(f"blk.{n}.ffn_down.weight", dim, feed)
w.write_header_to_file()
w.write_kv_data_to_file()
w.write_tensors_to_file()
w.close()
"""
SERVER = """
import sys, xllamacpp
p = xllamacpp.CommonParams()
p.model.path, p.hostnames, p.port, p.n_ctx, p.n_parallel, p.verbosity, p.warmup = (
    sys.argv[1], ["127.0.0.1"], int(sys.argv[2]), 16384, 1, 0, False)
server = xllamacpp.Server(p)
sys.stdin.read()
"""


@pytest.fixture
def llama(tmp_path: Path) -> Iterator[str]:
    """The address of a llama.cpp server with a model of random weights."""
    model = tmp_path / "tiny.gguf"
    subprocess.run([sys.executable, "-c", MODEL, str(model)], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", SERVER, str(model), str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as server:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
        server.kill()


@pytest.mark.parametrize("reasons", ["all", "none"])
def test_a_server_that_enforces_the_schema_judges_every_claim(
    llama: str, tmp_path: Path, reasons: str
) -> None:
    answers = [
        "The tower is 58 metres high. It stands in the town.",
        "The tower is old. Bees live in it.",
    ]
    rows = [
        {
            "id": str(n),
            "question": "How is it?",
            "answer": a,
            "contexts": ["The tower is 58 metres high."],
        }
        for n, a in enumerate(answers)
    ]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    bias = [[token, False] for token in BYTES] + [[QUOTE, 4.0]]
    judge = tmp_path / "tiny.yaml"
    judge.write_text(
        yaml.safe_dump(
            {
                "model": f"openai:tiny@{llama}",
                "max_tokens": 2000,
                "reply_schema": "closed",
                "extra": {"logit_bias": bias},
            }
        )
    )
    done = call(
        "score",
        tmp_path / "d.jsonl",
        "-j",
        judge,
        "--extractor",
        "local:lexical",
        "-m",
        "faithfulness",
        "-o",
        tmp_path / "run",
        "--concurrency",
        1,
        "--reasons",
        reasons,
    )
    assert done.returncode == 0, done.stderr
    metric = json.loads((tmp_path / "run" / "summary.json").read_text())["metrics"]["faithfulness"]
    assert (metric["judged"], metric["total"]) == (4, 4)
