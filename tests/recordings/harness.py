"""Runs commands and Python doors as a user does, and keeps all that they print, return and leave
behind.

Everything that differs between two runs of the same code (ports, paths, times, keys of requests,
versions) is replaced by a fixed word. The rest is compared with what was recorded, after the
renames in `renames.toml`.
"""

from __future__ import annotations

import contextlib
import csv
import difflib
import gzip
import hashlib
import io
import json
import math
import os
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.loopback import Batching, Options, ThreadHandle, claim_judge, query_judge
from benchmarks.loopback.judge import Body, Reply, text_of
from claimeval.runs import directory
from claimeval.types.records import Assessment, Call, SampleResult, Verdict
from tests.command_line import call
from tests.conftest import StartServer

ROOT = Path(__file__).parents[2]
RECORDED = Path(__file__).parent / "recorded"
RAW = "score"
"""The story that holds the lines of results and replies as they are written; the others hold what
they mean."""
REWRITE = False
"""Whether recordings are written instead of compared; `record.py` sets it."""
LARGE = 30_000
"""Bytes from which on a recording is compressed."""

Json = Any
"""A parsed JSON value."""


# --- the judge ---

_CLAIM = re.compile(r'^(\w+): (".*")$', re.MULTILINE)
_MATERIAL = re.compile(r"^<(\w+)>\n(.*?)\n</\1>", re.MULTILINE | re.DOTALL)
"""What a prompt shows, whose words decide, not those of the instructions."""
_WORDS = re.compile(r"^- (\w+): ", re.MULTILINE)


def draw(*parts: object) -> float:
    """A number from 0 to 1 that hangs on the parts alone."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:6]) / 2**48


def chosen(model: str, text: str, words: list[str]) -> str:
    """What a model says of a text: seven in ten the first word, alike for all models but in one
    case of five."""
    u = draw(text) if draw(model, text) < 0.8 else draw(model, text, "own mind")
    return (
        words[0]
        if u < 0.7 or len(words) == 1
        else words[1 + int((u - 0.7) / 0.3 * (len(words) - 1))]
    )


def judge(body: Body) -> Reply:
    """Every sentence is a claim; labels, ratings and grades hang on model and text; one reply in
    120 is no JSON."""
    model = str(body.get("model"))
    text = text_of(body)
    if '"self_contained"' in text or "<document>\n" in text:
        return query_judge.answer(body)
    content = str(claim_judge.answer(body).content)
    if not content.startswith("{"):
        return Reply(content)
    said = json.loads(content)
    material = _MATERIAL.findall(text) if "verdicts" in said else text
    if "claims" not in said and draw("unreadable", model, material) < 1 / 120:
        return Reply("I would rather not say.")
    asked = text.rpartition("Reply with this JSON and nothing else:")[0]
    if "verdicts" in said:
        claims = {
            name: json.loads(line) for name, line in _CLAIM.findall(text.rpartition("<claims>")[2])
        }
        words = list(dict.fromkeys(_WORDS.findall(text)))
        unreasoned = claim_judge.EMPTY.findall(text)
        for verdict in said["verdicts"]:
            verdict["label"] = chosen(model, claims[verdict["id"]] + words[0], words)
            verdict["reason"] = (
                f"by rule: {verdict['label']}" if verdict["label"] not in unreasoned else ""
            )
    for grade in said.get("grades", ()):
        steps = sorted(map(int, re.findall(r"^- (\d): ", asked, re.MULTILINE)), reverse=True)
        grade["grade"] = int(chosen(model, grade["id"] + asked, [str(step) for step in steps]))
    if "rating" in said:
        said["rating"] = chosen(
            model, asked, ["fully", "partly", "no"] if "noncommittal" in said else ["yes", "no"]
        )
    return Reply(json.dumps(said))


# --- running ---


class Bench:
    """An empty folder with the bundled data, a judge, and the steps taken so far."""

    def __init__(self, start: StartServer, name: str) -> None:
        self._start = start
        self._name = name
        self._servers: dict[bool, ThreadHandle] = {}
        _PORTS.clear()
        self.steps: list[dict[str, Json]] = []
        data = ROOT / "examples" / "data"
        for file in ("demo.jsonl", "demo_labels.jsonl"):
            Path(file).write_bytes((data / file).read_bytes())
        lines = Path("demo.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        few = lines[::4]
        Path("few.jsonl").write_text("".join(few), encoding="utf-8")
        ids = {json.loads(line)["id"] for line in few}
        labels = Path("demo_labels.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        of_few = [line for line in labels if json.loads(line)["id"] in ids]
        Path("few_labels.jsonl").write_text("".join(of_few), encoding="utf-8")

    def openai(self, model: str, *, slow: bool = False) -> str:
        """A judge file of that name, behind OpenAI's wire; batches of a `slow` one take an hour."""
        return self._file(model, f"openai:{model}@{self._server(slow=slow).url_for('openai')}")

    def mistral(self, model: str) -> str:
        """A judge file of that name, behind Mistral's wire."""
        return self._file(model, f"mistral:{model}@{self._server().url_for('mistral')}")

    def address(self, model: str) -> str:
        """A judge as a user names it without a file."""
        return f"openai:{model}@{self._server().url_for('openai')}"

    def _file(self, model: str, spec: str) -> str:
        """A name of its own keeps addresses, and so ports, out of tables, which break them
        anywhere."""
        return self.write(f"{model}.yaml", f"model: {spec}\nname: {model}\n")

    def _server(self, *, slow: bool = False) -> ThreadHandle:
        if slow not in self._servers:
            self._servers[slow] = self._start(
                Options(batching=Batching(seconds=3600.0 * slow)), judge=judge
            )
            _PORTS.add(self._servers[slow].port)
        return self._servers[slow]

    def write(self, path: str, content: str | list[Json]) -> str:
        """Writes a file, a list as JSON Lines, and gives its path back."""
        text = (
            content
            if isinstance(content, str)
            else "".join(json.dumps(row) + "\n" for row in content)
        )
        Path(path).write_text(text, encoding="utf-8")
        return path

    def run(self, line: str, *more: object, stdin: str = "", keep: str = "") -> dict[str, Json]:
        """Runs `claimeval LINE MORE...` in this process; `keep` lists files and folders to record
        afterwards."""
        done = call(*shlex.split(line), *more, stdin=stdin, exits=None)
        step: dict[str, Json] = {
            "command": plain(shlex.join(done.args)),
            "exit": done.returncode,
            "stdout": printed(done.stdout),
            "stderr": printed(done.stderr),
        }
        if keep:
            kept = (
                found
                for place in keep.split()
                for found in files(Path(place), raw=self._name == RAW)
            )
            step["files"] = dict(kept)
        self.steps.append(step)
        return step

    def note(self, door: str, value: Json) -> None:
        """Records what a Python door gave."""
        self.steps.append(
            {"python": door, "value": steady(json.loads(json.dumps(value, default=str)))}
        )


def printed(text: str) -> Json:
    """Printed text: the value where it is one JSON document, else its lines."""
    if text.lstrip().startswith(("{", "[")):
        with contextlib.suppress(ValueError):
            return steady(json.loads(text))
    return [line.rstrip() for line in plain(text).splitlines() if not _PROGRESS.match(line)]


def files(place: Path, *, raw: bool) -> Iterator[tuple[str, Json]]:
    """The files at a place as path and content; None where there is nothing."""
    if not place.exists():
        yield plain(str(place)), None
        return
    for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
        if path.is_dir():
            continue
        name = plain(str(path))
        content = path.read_bytes()
        text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
        if path.suffix == ".json":
            yield name, steady(json.loads(text))
        elif path.name == directory.RESULTS and not raw:
            yield name, [steady(meant(result)) for result in directory.RunResults.of(path.parent)]
        elif path.name == directory.REPLIES and not raw:
            continue  # the calls are among what results mean
        elif path.name.endswith((".jsonl", ".jsonl.gz")):
            yield name, [steady(json.loads(line)) for line in text.splitlines()]
        elif path.suffix == ".html":
            yield name, page(text)
        elif path.suffix == ".csv":
            yield name, [steady(row) for row in csv.DictReader(io.StringIO(text))]
        else:
            yield name, plain(text).splitlines()


def meant(result: SampleResult) -> Json:
    """What the lines of a result mean, whatever their layout: all texts, one list of assessments,
    no default."""

    def verdict(given: Verdict) -> Json:
        fields = given.model_dump(mode="json", exclude={"prompt"}, exclude_defaults=True)
        prompt = result.prompt_of(given)
        return fields | {"call": given.call} | ({"prompt": prompt} if prompt else {})

    def assessment(one: Assessment) -> Json:
        exclude = {"against", "document", "order", "verdicts"}
        fields = one.model_dump(mode="json", exclude=exclude, exclude_defaults=True)
        return fields | {
            "evidence": str(one.evidence),
            "verdicts": list(map(verdict, one.verdicts)),
        }

    def call(one: Call) -> Json:
        fields = one.model_dump(mode="json", exclude={"evidence"}, exclude_defaults=True)
        return fields | {"evidence": one.evidence and str(one.evidence)}

    return {
        "sample": result.sample.model_dump(mode="json", exclude_defaults=True),
        "claims": [
            claim.model_dump(mode="json", exclude_defaults=True) | {"sentences": claim.sentences}
            for claim in result.claims
        ],
        "unextracted": result.unextracted,
        "assessments": [assessment(one) for one in result.assessments],
        "scores": {name: score.model_dump(mode="json") for name, score in result.scores.items()},
        "calls": list(map(call, result.calls)),
        "details": result.details,
    }


def page(html: str) -> list[str]:
    """The text of a page and its data, without styles and programs."""
    bare = re.sub(
        r"<style.*?</style>|<script(?![^>]*json).*?</script>|<svg.*?</svg>",
        "",
        html,
        flags=re.DOTALL,
    )
    return [line for line in (plain(part).strip() for part in re.split(r"<[^>]+>", bare)) if line][
        :400
    ]


# --- what differs between two runs of the same code ---

_HERE = re.compile(re.escape(str(ROOT)))
_NUMBER = re.compile(r"-?\b\d+\.\d+(?:e[+-]?\d+)?")
_PORTS: set[int] = set()
"""Ports of the servers of this story."""
_STEADY = (
    (re.compile(r"\b[0-9a-f]{32,64}\b"), "DIGEST"),
    (re.compile(r"[\d.]+ kB\b"), "N kB"),
    (re.compile(r"; bfloat16 is faster here, and less exact"), ""),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?"), "TIME"),
)
_BATCH = re.compile(r"^ ?[0-9a-f]{8}(?= )", re.MULTILINE)
"""The name of a batch at the beginning of a row."""
_AGE = re.compile(r"(?<= )\d:\d\d(?=  \w+$)", re.MULTILINE)
"""Its age near the end."""
_JUDGE = re.compile(r"[0-9a-f]{8}")
"""The id of a judge, which hangs on its port."""
_PROGRESS = re.compile(r"\[[#.]+\] |\d+/\d+ texts ")
"""Lines that commands draw when they take long."""
_DROPPED = {"latency", "median_latency", "at", "key", "changed", "seconds", "settings"}
"""Fields of records that say when or how fast, or name a request or settings, which hang on the
judge's port."""


def plain(text: str) -> str:
    """The text with a fixed word for each thing that differs between two runs."""
    text = _HERE.sub("$REPO", text.replace(os.getcwd(), "$HERE"))
    for port in _PORTS:
        text = text.replace(f":{port}", ":00000")
    for pattern, word in _STEADY:
        text = pattern.sub(word, text)
    text = text.replace(datetime.now(UTC).date().isoformat(), "TODAY-DATE")
    return _AGE.sub("0:00", _BATCH.sub(" BATCH-ID", text))


def steady(value: Json, field: str = "") -> Json:
    """The same for a parsed value; floats to nine digits, versions of packages by name alone,
    prompts by digest."""
    if field in _DROPPED and isinstance(value, (int, float, str)):
        return field.upper()
    if field == "versions" and isinstance(value, dict):
        return sorted(value)
    if field == "id" and isinstance(value, str) and _JUDGE.fullmatch(value):
        return "JUDGE"
    if isinstance(value, dict):
        named = value.keys() >= {"digest", "source"}
        content = {name: item for name, item in value.items() if not (named and name == "source")}
        if field == "source":
            content["digest"] = "DIGEST"  # of results with the addresses of judges in them
        return {plain(name): steady(item, name) for name, item in sorted(content.items())}
    if isinstance(value, list):
        return [steady(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, str) and field != "digest":
        return plain(value)
    return value


# --- comparing ---


class Renames(NamedTuple):
    """What is called otherwise now than when it was recorded."""

    words: Mapping[str, str]
    """Whole words of printed text, commands, options and values."""
    fields: Mapping[str, str]
    """Keys of records."""
    files: Mapping[str, str]
    """Parts of paths."""

    @classmethod
    def read(cls) -> Renames:
        content = tomllib.loads(
            (Path(__file__).parent / "renames.toml").read_text(encoding="utf-8")
        )
        words = {**content["commands"], **content["options"], **content["words"]}
        return cls(words, content["fields"], content["files"])

    def __bool__(self) -> bool:
        return bool(self.words or self.fields or self.files)

    def text(self, text: str) -> str:
        for old, new in self.words.items():
            text = re.sub(rf"(?<![\w-]){re.escape(old)}(?![\w-])", new, text)
        for old, new in self.files.items():
            text = text.replace(old, new)
        return text

    def of(self, value: Json) -> Json:
        """A recorded value as it would be recorded under the new names."""
        if isinstance(value, dict):
            return {
                self.fields.get(name, self.text(name)): self.of(item)
                for name, item in value.items()
            }
        if isinstance(value, list):
            return [self.of(item) for item in value]
        return self.text(value) if isinstance(value, str) else value


def lines(steps: list[dict[str, Json]], *, folded: bool) -> list[str]:
    """Steps as lines to compare. `folded` takes any run of blanks in printed text for one, line
    ends included: a name of another length moves columns and breaks."""
    found: list[str] = []
    for step in steps:
        command = (f"$ {step['command']}" if "command" in step else f">>> {step['python']}")[:60]
        for part, value in sorted(step.items()):
            if (
                part in ("stdout", "stderr")
                and isinstance(value, list)
                and all(isinstance(v, str) for v in value)
            ):
                text = " ".join(" ".join(value).split()) if folded else ""
                shown = re.split(r"(?<=[.;:]) ", text) if folded else value
            elif part == "files":
                shown = [
                    f"{path}: {line}"
                    for path, content in sorted(value.items())
                    for line in _indented(content)
                ]
            else:
                shown = _indented(value)
            found += [f"{command} | {part} | {line}" for line in shown]
    return found


def _indented(value: Json) -> list[str]:
    if isinstance(value, list) and all(not isinstance(item, (dict, list)) for item in value):
        return [json.dumps(item, ensure_ascii=False) for item in value]
    return json.dumps(value, indent=0, ensure_ascii=False, sort_keys=True).splitlines()


def difference(
    recorded: list[dict[str, Json]], now: list[dict[str, Json]], renames: Renames
) -> list[str]:
    """The lines that differ, with a little of what stands around them; empty where nothing does."""
    before = lines(renames.of(recorded) if renames else recorded, folded=bool(renames))
    after = lines(now, folded=bool(renames))
    if len(before) == len(after):
        after = [old if _alike(old, new) else new for old, new in zip(before, after, strict=True)]
    return (
        list(difflib.unified_diff(before, after, "recorded", "now", lineterm="", n=1))
        if before != after
        else []
    )


def _alike(old: str, new: str) -> bool:
    """Whether lines differ at most in the last digits of numbers: processors add up single floats
    in their order."""
    (words, values), (other_words, other_values) = (
        (_NUMBER.split(s), _NUMBER.findall(s)) for s in (old, new)
    )
    return words == other_words and all(
        math.isclose(float(a), float(b), rel_tol=1e-5)
        for a, b in zip(values, other_values, strict=True)
    )


def load(name: str) -> list[dict[str, Json]]:
    """The recording of a story; an empty one where there is none."""
    plain_file = RECORDED / f"{name}.json"
    packed = RECORDED / f"{name}.json.gz"
    if packed.exists():
        content: list[dict[str, Json]] = json.loads(gzip.decompress(packed.read_bytes()))
        return content
    return json.loads(plain_file.read_text(encoding="utf-8")) if plain_file.exists() else []


def save(name: str, steps: list[dict[str, Json]]) -> None:
    """Writes a recording, compressed where it is large, the same bytes for the same steps."""
    for old in RECORDED.glob(f"{name}.json*"):
        old.unlink()
    text = json.dumps(steps, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    if len(text.encode()) < LARGE:
        (RECORDED / f"{name}.json").write_text(text, encoding="utf-8")
    else:
        compact = json.dumps(steps, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        (RECORDED / f"{name}.json.gz").write_bytes(gzip.compress(compact.encode(), 9, mtime=0))


Story = Callable[[Bench], None]
