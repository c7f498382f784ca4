"""Where the fault of failed claims lies, in a small world in which each fault was planted."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from claimeval.evaluation.rebuilder import Rebuilder
from claimeval.testing import ScriptedJudge
from tests.command_line import call

FACTS = {
    "not_retrieved": "The lift holds eight people.",
    "split": "The mayor opened the tower. He did so in May 1902.",
    "spread": "The granite came from Norway. The steel came from Essen.",
    "unused": "The tower is 63 metres high.",
    "contradicted": "The tower has nine floors.",
    "not_near": "Penguins nest on the roof.",
}
"""One claim for each cause; with a second sentence, both must be in the evidence."""
CHUNKS = [
    {"id": "t1", "source": "tower", "text": "The tower is 63 metres high. It stands in the park."},
    {"id": "t2", "source": "tower", "text": "A long build. The mayor opened the tower."},
    {"id": "t3", "source": "tower", "text": "He did so in May 1902. Many people came."},
    {"id": "t4", "source": "tower", "text": "The lift holds eight people. It is slow."},
    {"id": "t5", "source": "tower", "text": "The tower has ten floors."},
    {"id": "s1", "source": "stone", "text": "The granite came from Norway."},
    {"id": "s2", "source": "stone", "text": "Its colour is grey."},
    {"id": "s3", "source": "stone", "text": "The steel came from Essen."},
]
HAD = [{"id": one["id"], "text": one["text"]} for one in CHUNKS if one["id"] in ("t1", "s2")]
_DOCUMENT = re.compile(r'^(d\d+): (".*")$', re.MULTILINE)
_CLAIM = re.compile(r'^(c\d+): (".*")$', re.MULTILINE)


def _verdict(name: str, claim: str, documents: dict[str, str]) -> dict[str, object]:
    facts = re.findall(r"[^.]+\.", claim)
    cites = []
    for fact in facts:
        cites += [name for name, text in documents.items() if fact.strip() in text][:1]
    label = "supported" if len(cites) == len(facts) else "not_found"
    tens = [name for name, text in documents.items() if "ten floors" in text]
    if "nine floors" in claim and tens:
        label, cites = "contradicted", tens
    decide = [] if label == "not_found" else sorted(set(cites))
    return {"id": name, "reason": "It says so.", "evidence": decide, "label": label}


def _reply(prompt: str) -> str:
    evidence, _, rest = prompt.partition("</evidence>")
    documents = {name: json.loads(text) for name, text in _DOCUMENT.findall(evidence)}
    claims = {name: json.loads(text) for name, text in _CLAIM.findall(rest)}
    verdicts = [_verdict(name, claim, documents) for name, claim in claims.items()]
    return json.dumps({"verdicts": verdicts})


def judge() -> ScriptedJudge:
    """A judge that finds a fact where its words stand."""
    return ScriptedJudge(reply=_reply)


def write(folder: Path, rows: list[dict[str, Any]] = CHUNKS) -> Path:
    file = folder / "chunks.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def gold_run(**fields: object) -> ce.Run:
    row = {
        "id": "q",
        "question": "What is known of the tower?",
        "answer": "I cannot say.",
        "reference_claims": list(FACTS.values()),
        "contexts": HAD,
    }
    return ce.score([{**row, **fields}], judges=judge(), metrics="coverage,context_recall")


def causes(run: ce.Run) -> dict[str, str | None]:
    """The cause of each claim, by its text."""
    found = dict[str, str | None]()
    for result in run:
        texts = {claim.id: claim.text for claim in result.claims}
        found |= {texts[one.subject]: one.cause for one in result.assessments}
    return found


def test_each_cause_is_found_with_a_call_a_claim_at_most(tmp_path: Path) -> None:
    run = ce.locate(gold_run(), corpus=write(tmp_path), judges=judge())
    assert causes(run) == {text: cause for cause, text in FACTS.items()}
    assert {name: run[name].hits for name in FACTS} == dict.fromkeys(FACTS, 1)
    assert run.cost is not None
    assert run.cost.calls == 5, "what was retrieved and not used is known from the run"
    assert run.headline == (
        "6 failed claims: 1 stands in a passage that was not retrieved, 1 is split over adjacent"
        " chunks, 1 needs passages far apart, 1 was retrieved and not used, 1 the corpus"
        " contradicts; for 1 the nearest 6 of 8 passages say nothing."
    )


def test_without_context_recall_the_judge_says_what_was_not_used(tmp_path: Path) -> None:
    """A run that has only coverage does not know which claims the contexts support."""
    run = ce.score(
        [
            {
                "question": "How high?",
                "answer": "I cannot say.",
                "reference_claims": [FACTS["unused"]],
                "contexts": HAD,
            }
        ],
        judges=judge(),
        metrics="coverage",
    )
    located = ce.locate(run, corpus=write(tmp_path), judges=judge())
    assert list(causes(located).values()) == ["unused"]


def test_a_claim_of_the_answer_in_the_corpus_is_right_by_luck(tmp_path: Path) -> None:
    row = {
        "question": "What of the tower?",
        "answer": "The lift holds eight people. Penguins nest on the roof.",
        "contexts": HAD,
    }
    extractor = ScriptedJudge(name="extractor")
    run = ce.score([row], judges=judge(), extractor=extractor, metrics="faithfulness")
    located = ce.locate(run, corpus=write(tmp_path), judges=judge())
    assert set(causes(located).values()) == {"not_retrieved", "not_near"}
    assert located.headline.startswith("2 failed claims of answers: 1 is right by luck")


def test_passages_that_the_judge_names_are_those_of_the_corpus(tmp_path: Path) -> None:
    (result,) = ce.locate(gold_run(), corpus=write(tmp_path), judges=judge())
    cites = {one.cause: one.verdicts[0].cites for one in result.assessments if one.verdicts}
    assert cites["split"] == ("t2", "t3")
    assert cites["spread"] == ("s1", "s3")
    assert cites["not_retrieved"] == ("t4",)


def test_a_copy_of_a_passage_that_the_run_had_is_no_new_one(tmp_path: Path) -> None:
    chunks = [*CHUNKS, {"id": "copy", "source": "copies", "text": CHUNKS[0]["text"]}]
    run = gold_run(reference_claims=[FACTS["not_near"]])
    (result,) = ce.locate(run, corpus=write(tmp_path, chunks), judges=judge())
    assert "copy" not in {document.id for document in result.sample.evidence["corpus"]}


def test_without_documents_of_the_chunks_neighbors_are_neither_split_nor_far_apart(
    tmp_path: Path,
) -> None:
    chunks = [{"id": one["id"], "text": one["text"]} for one in CHUNKS]
    run = ce.locate(gold_run(), corpus=write(tmp_path, chunks), judges=judge())
    assert causes(run)[FACTS["split"]] == "not_retrieved"
    assert causes(run)[FACTS["spread"]] == "spread"


def test_in_documents_out_of_order_nothing_is_called_split_or_far_apart(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As databases of vectors export chunks: the neighbor of a chunk is anywhere."""
    order = ("t3", "s1", "t1", "s3", "t5", "t2", "s2", "t4")
    by_id = {one["id"]: one for one in CHUNKS}
    elsewhere = {"id": "x", "source": "north", "text": "The steel came from Essen."}
    chunks = [*(by_id[name] for name in order), {"id": "y", "source": "north", "text": "No."}]
    caplog.set_level("INFO")
    run = ce.locate(gold_run(), corpus=write(tmp_path, chunks), judges=judge())
    assert causes(run)[FACTS["split"]] == causes(run)[FACTS["spread"]] == "not_retrieved"
    assert "the passages of 2 of 3 documents do not follow each other" in caplog.text
    # a fact in two documents is far apart in any order
    chunks = [elsewhere if one["id"] == "s3" else one for one in chunks]
    run = ce.locate(gold_run(), corpus=write(tmp_path, chunks), judges=judge())
    assert causes(run)[FACTS["spread"]] == "spread"


def test_the_sentence_counts_claims_to_which_no_new_passage_is_near(tmp_path: Path) -> None:
    claims = ["Zebras whistle.", FACTS["not_near"]]
    run = gold_run(reference_claims=claims, question="?")
    located = ce.locate(run, corpus=write(tmp_path), judges=judge())
    assert located.headline == (
        "2 failed claims: for 1 the nearest 6 of 8 passages say nothing, for 1 no new one of 8"
        " passages is near."
    )


def test_a_folder_of_texts_says_less(tmp_path: Path) -> None:
    """Paragraphs are not the chunks of the retriever: whether a fact was split is not known."""
    folder = tmp_path / "texts"
    folder.mkdir()
    for name in ("tower", "stone"):
        texts = [one["text"] for one in CHUNKS if one["source"] == name]
        (folder / f"{name}.txt").write_text("\n\n".join(texts))
    run = ce.locate(gold_run(), corpus=folder, judges=judge())
    found = causes(run)
    assert found[FACTS["split"]] == found[FACTS["spread"]] == "not_retrieved"
    assert found[FACTS["unused"]] == "unused"
    assert found[FACTS["not_near"]] == "not_near"


def test_contexts_that_are_not_in_the_corpus_are_refused(tmp_path: Path) -> None:
    chunks = [{**one, "text": f"Version 2. {one['text']}"} for one in CHUNKS]
    with pytest.raises(ce.UsageError, match=r"2 of 2 contexts .*; 2 have the id of a passage"):
        ce.locate(gold_run(), corpus=write(tmp_path, chunks), judges=judge())
    with pytest.raises(ce.UsageError, match="1 of 1 context of the run is not in"):
        ce.locate(gold_run(contexts=HAD[:1]), corpus=write(tmp_path, chunks), judges=judge())


def test_what_cannot_be_located_is_refused(tmp_path: Path) -> None:
    corpus = write(tmp_path)
    with pytest.raises(ce.UsageError, match=r"no judge named: .* add --judge scripted"):
        ce.locate(gold_run(), corpus=corpus)
    rated = ce.measure([{"question": "?", "answer": "Yes.", "reference": "Yes."}], "token_recall")
    with pytest.raises(ce.UsageError, match="a run of measure, which has no claims"):
        ce.locate(rated, corpus=corpus, judges=judge())
    fine = gold_run(reference_claims=["The tower is 63 metres high."], answer=CHUNKS[0]["text"])
    with pytest.raises(ce.UsageError, match="no claim of the run failed"):
        ce.locate(fine, corpus=corpus, judges=judge())


def test_a_claim_without_a_verdict_has_bounds_and_no_cause(tmp_path: Path) -> None:
    silent = ScriptedJudge(reply=lambda prompt: "I would rather not.")
    run = ce.locate(
        gold_run(reference_claims=[FACTS["not_near"]]), corpus=write(tmp_path), judges=silent
    )
    (result,) = run
    assert (result["split"].value, result["split"].because) == (None, "unparsable")
    assert result["split"].bounds == (0.0, 1.0)
    assert list(causes(run).values()) == [None]


def test_a_plan_asks_nobody_and_the_index_is_made_once(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    options = ce.RunOptions(cache=cache)
    run = gold_run()
    corpus = write(tmp_path)
    ahead = ce.plan(ce.locate, run, corpus=corpus, judges="openai:gpt-5-mini", options=options)
    assert ahead.calls == (5, 5)
    (index,) = cache.glob("*/*.sqlite")
    before = index.stat().st_mtime_ns
    asyncio.run(ce.alocate(run, corpus=corpus, judges=judge(), options=options))
    assert index.stat().st_mtime_ns == before


def test_the_page_has_the_requests_of_located_claims(tmp_path: Path) -> None:
    run = ce.locate(gold_run(), corpus=write(tmp_path), judges=judge())
    rebuilder = Rebuilder(run.manifest)
    (result,) = run
    requests = [rebuilder.rebuild(result, call) for call in result.calls]
    assert len(requests) == 5
    assert None not in requests


def test_the_first_sentence_of_the_run_has_the_judged_causes(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run = gold_run()
    run.save(folder)
    before = ce.Run.load(folder).headline
    located = ce.locate(folder, corpus=write(tmp_path), judges=judge(), out=folder / "locate")
    assert ce.Run.load(folder).headline == f"{before} {located.headline}"
    assert located.headline in call("report", folder, "--format", "md").stdout


def test_two_runs_are_compared_by_the_causes_of_their_claims(tmp_path: Path) -> None:
    """Half of thirty samples have a fact that is split over two chunks, which are then joined."""
    rows = []
    for number in range(30):
        claim = FACTS["split"] if number % 2 else FACTS["not_near"]
        question = f"What is known, {number}?"
        row = {"id": str(number), "question": question, "answer": "I cannot say."}
        rows.append({**row, "reference_claims": [claim], "contexts": [HAD[0]]})
    run = ce.score(rows, judges=judge(), metrics="coverage,context_recall")
    joined = [CHUNKS[0], {**CHUNKS[1], "text": f"{CHUNKS[1]['text']} {CHUNKS[2]['text']}"}]
    before = ce.locate(run, corpus=write(tmp_path), judges=judge())
    after = ce.locate(run, corpus=write(tmp_path, joined), judges=judge())
    sentence = ce.compare(before, after).headline
    assert "15 fewer are split over adjacent chunks (15 in a, 0 in b)" in sentence
    assert sentence.endswith("and the corpus is another.")
    assert ce.compare(before, before).headline.startswith("No")


def test_the_command_adds_the_causes_to_the_run(tmp_path: Path) -> None:
    """`local:lexical` finds words, which is enough to see the whole path."""
    run = tmp_path / "run"
    rows = [{"id": "q", "question": "?", "answer": "The lift holds eight people.", "contexts": HAD}]
    ce.score(rows, judges="local:lexical", metrics="faithfulness", out=run)
    corpus = write(tmp_path)
    done = call("locate", run, "--corpus", corpus, "-j", "local:lexical", "--json")
    told = json.loads(done.stdout)
    assert told["metrics"]["not_retrieved"]["hits"] == 1
    assert "passages" in done.stderr
    assert "on this machine" in done.stderr
    assert ce.Run.load(run).attached["locate"].headline == told["headline"]
    table = call("report", run / "locate", "--format", "csv", "--rows", "claims").stdout
    assert "not_retrieved" in table
    refused = call("locate", run, "--corpus", corpus, exits=2)
    assert "--judge local:lexical" in refused.stderr
