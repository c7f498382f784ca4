"""One decision for a whole file: what it reads and asks, and its laws over generated tables."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from claimeval.data.field_names import answers, describes, rank_of_text, words_of
from claimeval.data.mapping import options

QUESTIONS = ("How high is the tower?", "Who built the mill?", "When does the ferry leave?")
CONTEXTS = (
    ["The tower of Bern is 58 m high.", "It is red since 1931."],
    ["Ana Souto built the mill.", "It burned down in 1840."],
    ["The ferry leaves at 7:40.", "Tickets cost 4 euros."],
)
GOLD = ("58 m", "Ana Souto", "7:40")
ANSWERS = (
    "The tower is 58 m high. It was painted red.",
    "Ana Souto built the mill in 1802.",
    "The ferry leaves at 7:40 and at noon.",
)
OTHER = (
    ["Another page says that it is old.", "Cats sleep all day."],
    ["A page on mills and their owners.", "Flour is white."],
    ["Ferries are boats that carry cars.", "Boats float."],
)
ANSWER_NAMES = (
    *("generated_answer", "model_answer", "llm_response", "output", "agent_answer", "completion"),
    *("responses", "answers", "predictions", "pred", "prediction", "assistant", "candidate"),
    *("outputs", "model_output", "llm_output", "system_answer", "rag_answer", "bot_answer"),
    *("ai_response", "final_answer", "predicted_answer", "generated_response", "generated_text"),
    *("output_text", "response_text", "reply", "hypothesis", "generation", "gpt_answer"),
    *("chatbot_response", "assistant_response", "answer_text", "actual_output", "summary"),
    *("completion_text", "generated", "prediction_text", "result", "responseText", "modelAnswer"),
    *("gpt-4o", "claude", "llama3", "chatgpt", "model", "ours", "hyp", "ans", "answer (system)"),
    *("draft", "solution", "synthesis", "hypotheses", "inference", "decoded", "actual", "Antwort"),
)
CONTEXT_NAMES = (
    *("docs", "documents", "passages", "chunks", "retrieved_docs", "retrieved_documents"),
    *("retrieved_passages", "retrieved_chunks", "search_results", "facts", "citations", "results"),
    *("article", "source_documents", "evidence", "knowledge", "snippets", "hits", "context"),
    *("retrieved_context", "retrieval_context", "retrieval_results", "supporting_documents"),
    *("source_nodes", "nodes", "paragraphs", "segments", "excerpts", "ctxs", "context_docs"),
    *("relevant_docs", "top_docs", "groundingChunks", "retrieved", "source_chunks", "matches"),
    *("references", "text_chunks", "passage", "pages", "search_hits", "kb", "reranked", "quotes"),
    *("observations", "tool_outputs", "neighbors", "attachments", "contexto", "Kontext"),
)
QUESTION_NAMES = (
    *("questions", "queries", "inputs", "user", "human", "prompt", "instruction", "user_query"),
    *("user_question", "input", "query_text", "question_text", "input_text", "request"),
    *("utterance", "search_query", "problem", "user_message", "ask", "message", "task"),
)
Rows = list[dict[str, Any]]
Read = list[tuple[str, str | None, list[str], list[str]]]


def table(columns: Mapping[str, Sequence[Any]]) -> Rows:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def read(data: Any, mapping: Any = None) -> Read:
    samples = ce.read_samples(data, mapping=mapping)
    return [
        (
            sample.question,
            sample.answer,
            [document.text for document in sample.contexts or ()],
            list(sample.reference_answers),
        )
        for sample in samples
    ]


def readings(data: Any) -> tuple[Mapping[str, Any], ...]:
    """What is asked about data; nothing if they are read."""
    try:
        list(ce.read_samples(data))
    except ce.DataError as raised:
        error = raised
    else:
        return ()
    assert all(options(reading) in str(error) for reading in error.readings), error
    return error.readings


def truth(answers: Iterable[str] = ANSWERS, gold: Iterable[str] | None = None) -> Read:
    golds = [[text] for text in gold] if gold else [[] for _ in QUESTIONS]
    return list(zip(QUESTIONS, answers, CONTEXTS, golds, strict=True))


@pytest.mark.parametrize("name", ANSWER_NAMES)
def test_the_system_s_answer_beside_a_gold_answer_is_asked_for_and_read_by_the_first_reading(
    name: str,
) -> None:
    rows = table({"question": QUESTIONS, "contexts": CONTEXTS, "answer": GOLD, name: ANSWERS})
    asked = readings(rows)
    assert asked[0] == {"answer": name, "reference_answers": "answer"}
    assert asked[-1] == {"answer": "answer"}
    assert read(rows, asked[0]) == truth(gold=GOLD)
    assert read(rows, asked[-1]) == truth(GOLD)


def test_the_refusal_says_why_a_column_looks_like_gold_answers() -> None:
    row = {
        "question": "How high?",
        "contexts": ["The tower is 58 m."],
        "answer": "58 m",
        "prediction": "It is 58 m high. It was painted red.",
    }
    with pytest.raises(ce.DataError) as raised:
        ce.score([row], judges="local:lexical", metrics="faithfulness")
    assert str(raised.value) == (
        "data: answer may be in 'prediction' or 'answer' ('answer' looks like gold answers: short"
        " texts that stand word for word in the contexts): add --field answer=prediction --field"
        " reference_answers=answer, or --field answer=answer"
    )


@pytest.mark.parametrize("name", ANSWER_NAMES)
def test_an_answer_that_looks_like_no_gold_answer_is_asked_for_and_offered_first(name: str) -> None:
    other = [f"{text} Yes." for text in ANSWERS]
    rows = table({"question": QUESTIONS, "contexts": CONTEXTS, "answer": ANSWERS, name: other})
    asked = readings(rows)
    assert asked[0] == {"answer": "answer"}
    assert {"answer": name} in asked


@pytest.mark.parametrize("name", CONTEXT_NAMES)
def test_a_second_column_of_documents_is_asked_for(name: str) -> None:
    known = {"question": QUESTIONS, "contexts": CONTEXTS, "answer": ANSWERS}
    for values in (OTHER, [[{"text": text, "score": 0.5} for text in each] for each in OTHER]):
        asked = readings(table({**known, name: values}))
        assert asked == ({"contexts": "contexts"}, {"contexts": name})


def test_retrieved_contexts_are_offered_before_a_gold_passage_that_a_preset_reads() -> None:
    rows = table(
        {
            "question": QUESTIONS,
            "answer": ANSWERS,
            "context": [texts[1] + " It is so." for texts in CONTEXTS],
            "retrieved_contexts": CONTEXTS,
        }
    )
    asked = readings(rows)
    assert asked == ({"contexts": "retrieved_contexts"}, {"contexts": "context"})
    assert read(rows, asked[0]) == truth()


GOLD_CONTEXT_NAMES = (
    *("gold_documents", "gold_passages", "reference_documents", "ground_truth_context"),
    *("gold_context", "golden_chunks", "expected_passages"),
)


@pytest.mark.parametrize(
    "name", [*GOLD_CONTEXT_NAMES, "sentences", "supporting_sentences", "inputs"]
)
def test_a_second_list_of_other_passages_is_asked_for_whatever_its_name(name: str) -> None:
    known = {"question": QUESTIONS, "contexts": CONTEXTS, "answer": ANSWERS}
    gold = {"reference_contexts": name} if name in GOLD_CONTEXT_NAMES else {}
    asked = readings(table({**known, name: OTHER}))
    assert asked == ({"contexts": "contexts", **gold}, {"contexts": name})


@pytest.mark.parametrize("name", GOLD_CONTEXT_NAMES)
def test_gold_passages_among_those_that_were_retrieved_ask_nothing(name: str) -> None:
    known = {"question": QUESTIONS, "contexts": CONTEXTS, "answer": ANSWERS}
    found = [CONTEXTS[0][:1], *OTHER[1:]]  # retrieval missed those of the others
    assert readings(table({**known, name: found})) == ()


IN_ONE_TEXT = tuple(name for name in CONTEXT_NAMES if name != "references")
CONTENT_NAMES = ("text", "content", "contents", "body", "section", "information", "memory", "cited")


@pytest.mark.parametrize("name", [*IN_ONE_TEXT, *CONTENT_NAMES, *GOLD_CONTEXT_NAMES])
def test_a_second_column_with_one_passage_is_asked_for_and_one_with_titles_is_not(
    name: str,
) -> None:
    known = {"question": QUESTIONS, "contexts": CONTEXTS, "answer": ANSWERS}
    asked = readings(table({**known, name: [" ".join(texts) for texts in OTHER]}))
    assert asked[0]["contexts"] == "contexts"
    assert {"contexts": name} in asked
    if name in ("retrieved_context", "source_nodes"):
        return  # names of contexts of other tools, whatever they have
    titles = ("The towers of Bern and their history", "Mills, volume 3, with a map", "Ferries")
    assert readings(table({**known, name: titles})) == ()


@pytest.mark.parametrize("name", ["foo", "report", "Spalte 7"])
def test_a_text_that_holds_a_passage_of_the_contexts_may_be_contexts_whatever_its_name(
    name: str,
) -> None:
    known = {"question": QUESTIONS, "contexts": CONTEXTS, "answer": ANSWERS}
    whole = [" ".join([*texts, *more]) for texts, more in zip(CONTEXTS, OTHER, strict=True)]
    asked = readings(table({**known, name: whole}))
    assert asked[0]["contexts"] == "contexts"
    assert any(reading.get("contexts") == name for reading in asked)


WRONG = (
    "The tower is 63 m high, which one sees from afar.",
    "The mill was built by Peter Meier in 1850.",
    "The ferry leaves at nine each morning.",
)


@pytest.mark.parametrize("name", ["foo", "bar", "x1", "value", "v2", "yours", "Unnamed: 4", "zeta"])
@pytest.mark.parametrize("other", [WRONG, [f"{text} Yes." for text in ANSWERS]], ids=["a", "b"])
@pytest.mark.parametrize("gold", [GOLD, None])
def test_a_second_column_of_long_answers_is_asked_for_whatever_its_name(
    name: str, other: Sequence[str], gold: Sequence[str] | None
) -> None:
    columns = {"question": QUESTIONS, "contexts": CONTEXTS, "answer": ANSWERS, name: other}
    columns |= {"reference_answers": gold} if gold else {}
    asked = readings(table(columns))
    assert asked[0] == {"answer": "answer"}
    assert {"answer": name} in asked


ORDINARY = [
    json.loads(line)
    for line in Path(__file__).with_name("ordinary.jsonl").read_text("utf-8").splitlines()
]
"""Files as people have them: names of the README beside notes, prompts, tickets, rubrics, scores,
and other texts about a sample."""


def test_the_ordinary_files_are_many() -> None:
    assert len({file["name"] for file in ORDINARY}) >= 50


@pytest.mark.parametrize("file", ORDINARY, ids=lambda file: str(file["name"]))
@pytest.mark.parametrize("without", ["", "reference_answers"])
def test_an_ordinary_file_asks_nothing_and_is_read_as_the_readme_says(
    file: Mapping[str, Any], without: str
) -> None:
    rows = [{name: row[name] for name in row if name != without} for row in file["rows"]]
    assert read(rows) == [
        (row["question"], row["answer"], row["contexts"], row.get("reference_answers", []))
        for row in rows
    ]


@pytest.mark.parametrize(
    ("columns", "path"),
    [
        ([{"tool_outputs": [text]} for text in ANSWERS], "tool_outputs"),
        (
            [{"tools_called": [{"name": "s", "output": text}]} for text in ANSWERS],
            "tools_called[*].output",
        ),
    ],
    ids=["texts", "objects"],
)
def test_an_answer_may_be_the_first_words_of_what_a_tool_returned(
    columns: Sequence[Mapping[str, Any]], path: str
) -> None:
    rows = [
        {"question": question, "answer": f"{answer} So it is.", **more}
        for question, answer, more in zip(QUESTIONS, ANSWERS, columns, strict=True)
    ]
    assert readings(rows)[0] == {"contexts": path}


ALONE = tuple(name for name in ANSWER_NAMES if name != "model")
"""Names that are those of answers also without other answers."""


@pytest.mark.parametrize(
    ("field", "name"),
    [
        *(("answer", name) for name in ALONE),
        *(("contexts", name) for name in CONTEXT_NAMES),
        *(("question", name) for name in QUESTION_NAMES),
    ],
)
def test_the_name_of_the_only_column_of_a_field_is_offered(field: str, name: str) -> None:
    columns: dict[str, Sequence[Any]] = {
        "question": QUESTIONS,
        "contexts": CONTEXTS,
        "answer": ANSWERS,
    }
    values = columns.pop(field)
    rows = table({**columns, name: values})
    if asked := readings(rows):
        assert read(rows, asked[0]) == truth()
    else:
        assert read(rows) == truth()  # a known name


@pytest.mark.parametrize("name", ["yours", "v2", "Spalte 3", "system_1"])
def test_sentences_about_the_question_are_asked_for_beside_an_answer_like_a_gold_one(
    name: str,
) -> None:
    rows = table({"question": QUESTIONS, "contexts": CONTEXTS, "answer": GOLD, name: ANSWERS})
    assert readings(rows)[0] == {"answer": name, "reference_answers": "answer"}


@pytest.mark.parametrize("name", ["vectors", "nearest", "top_k", "units"])
def test_a_list_of_passages_is_asked_for_whatever_its_name(name: str) -> None:
    known = {"question": QUESTIONS, "contexts": CONTEXTS, "answer": ANSWERS}
    assert readings(table({**known, name: OTHER}))[0] == {"contexts": "contexts"}


ASIDE: dict[str, Sequence[Any]] = {
    "notes": ("checked by Anna in spring", "hard to find the mill", "the ferry needs a look"),
    "description": ("A question on the height of towers", "On mills and builders", "On a ferry"),
    "explanation": ("The tower is 58 m by document 1", "Ana Souto is named", "7:40 is named"),
    "chain_of_thought": ("The tower is 58 m so it is 58 m", "Ana built it", "It leaves at 7:40"),
    "prompt": tuple(f"{' '.join(c)} {q}" for c, q in zip(CONTEXTS, QUESTIONS, strict=True)),
    "instructions": ("Answer the question on the tower",) * 3,
    "search_terms": ("tower height in metres today", "mill built by whom", "ferry leaves at"),
    "rubric": ("Must say that the tower has 58 m", "Must name Ana Souto", "Must say 7:40 or so"),
    "model": ("gpt-4o mini of August 2024", "llama3 8b instruct q4", "x"),
    "claims": (["The tower is 58 m high.", "It is red all over."],) * 3,
    "options": (["It is 57 m high.", "It is 58 m high."],) * 3,
    "follow_up_questions": (["Who built the tower of Bern?"],) * 3,
    "citations": (
        [{"start": 0, "end": 9, "text": "The tower"}],
        [{"text": "Ana"}],
        [{"text": "at"}],
    ),
}
"""Columns of texts about a sample that are no field of one."""


@pytest.mark.parametrize("name", ASIDE)
@pytest.mark.parametrize("answer", [ANSWERS, GOLD], ids=["answers", "short answers"])
def test_texts_about_a_sample_ask_nothing(name: str, answer: Sequence[str]) -> None:
    known = {"question": QUESTIONS, "contexts": CONTEXTS, "answer": answer}
    assert read(table({**known, name: ASIDE[name]})) == truth(answer)


DESCRIBING: dict[str, Sequence[Any]] = {
    **dict.fromkeys(("model", "answer_model", "lang", "category"), ("a", "b", "a")),
    **dict.fromkeys(("score", "answer_start", "tokens", "response_time"), (1, 2.5, 3)),
    **dict.fromkeys(("source", "file", "url"), ("a.md", "https://example.org/b", "c.pdf")),
    **dict.fromkeys(("title", "notes", "comment"), ("Towers of Bern", "Mills", "Ferries")),
    **dict.fromkeys(("prediction", "output", "context", "docs"), (None, None, None)),
    **dict.fromkeys(("response", "retrieved_contexts", "generated"), ("", "", "")),
    **dict.fromkeys(("passages", "chunks", "completion"), (1, 2, 3)),
    **dict.fromkeys(("system_prompt", "prompt_template"), ("Answer it.", "Answer it.", "Do.")),
    **dict.fromkeys(("retrieved_at", "created_at"), ("2026-05-01T10:00", "2026-05-02", "now")),
    "metadata": ({"page": 1}, {"page": 2}, {}),
    "context_length": (100, 200, 300),
}
"""Columns of ordinary files that describe a sample, or hold nothing."""


def test_ordinary_columns_ask_nothing_and_change_nothing() -> None:
    chance = random.Random(1)
    for _ in range(200):
        extra = {name: DESCRIBING[name] for name in chance.sample(sorted(DESCRIBING), 3)}
        columns = {"question": QUESTIONS, "contexts": CONTEXTS, "answer": ANSWERS, **extra}
        columns["reference_answers"] = GOLD
        names = chance.sample(sorted(columns), len(columns))
        assert read(table({name: columns[name] for name in names})) == truth(gold=GOLD), extra


def _columns(chance: random.Random) -> dict[str, Sequence[Any]]:
    """Columns beside those of the README: names of every kind, with values of every kind."""
    answers = [ANSWERS, GOLD, [f"{text} Yes." for text in ANSWERS], ("a", "b", "c"), (1, 2, 3)]
    documents = [OTHER, CONTEXTS, [" ".join(texts) for texts in OTHER], ([], [], [])]
    nothing: Sequence[Any] = (None, None, None)
    extra: dict[str, Sequence[Any]] = {}
    for _ in range(chance.randint(1, 3)):
        kind = chance.randrange(4)
        if kind == 0:
            names = [*ANSWER_NAMES, "foo", "v2", "yours"]
            extra[chance.choice(names)] = chance.choice([*answers, WRONG, nothing])
        elif kind == 1:
            names = [*CONTEXT_NAMES, *GOLD_CONTEXT_NAMES, *CONTENT_NAMES, "sentences", "foo"]
            extra[chance.choice(names)] = chance.choice([*documents, nothing])
        elif kind == 2:
            name = chance.choice(sorted(DESCRIBING))
            extra[name] = DESCRIBING[name]
        else:
            extra[chance.choice(QUESTION_NAMES)] = chance.choice([QUESTIONS, ANSWERS, nothing])
    return extra


@pytest.mark.parametrize(
    "seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 68))]
)
def test_names_of_the_readme_are_read_as_it_says_or_asked_for_first(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(60):
        columns = {
            "question": QUESTIONS,
            "contexts": CONTEXTS,
            "answer": ANSWERS,
            "reference_answers": GOLD,
            **_columns(chance),
        }
        names = chance.sample(sorted(columns), len(columns))
        rows = table({name: columns[name] for name in names})
        asked = readings(rows)
        assert read(rows, asked[0] if asked else None) == truth(gold=GOLD), columns
        _obeys_the_laws(asked)
        ordered = table({name: columns[name] for name in sorted(columns)})
        assert readings(ordered) == asked, "the order of columns does not matter"


def _obeys_the_laws(asked: Sequence[Mapping[str, Any]]) -> None:
    for reading in asked:
        paths = list(map(str, reading.values()))
        assert len(set(paths)) == len(paths), "no path serves two fields"


def _nested(chance: random.Random, names: Mapping[str, str]) -> Rows:
    """Rows with the three fields under names and nestings that vary, and nothing else that is like
    them."""
    rows: Rows = []
    shape = [chance.randrange(3) for _ in range(3)]
    parts = list(names.items())
    chance.shuffle(parts)
    for question, answer, contexts in zip(QUESTIONS, ANSWERS, CONTEXTS, strict=True):
        values = {"question": question, "answer": answer, "contexts": contexts}
        row: dict[str, Any] = {"id": f"s{len(rows)}", "created": "2026-05-01"}
        for (field, name), nesting in zip(parts, shape, strict=True):
            value: Any = values[field]
            if field == "contexts" and nesting == 1:
                value = [{"text": text, "score": 0.5} for text in value]
            if nesting == 2:
                row["trace"] = {**row.get("trace", {"took": 3}), name: value}
            else:
                row[name] = value
        rows.append(row)
    return rows


@pytest.mark.parametrize(
    "seed", [*range(10), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(10, 40))]
)
def test_every_first_reading_of_generated_tables_is_the_right_one_in_one_refusal(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(50):
        names = {
            "question": chance.choice(QUESTION_NAMES[:6]),
            "answer": chance.choice(ALONE),
            "contexts": chance.choice(CONTEXT_NAMES[:6]),
        }
        rows = _nested(chance, names)
        asked = readings(rows)
        _obeys_the_laws(asked)
        if asked:
            assert read(rows, asked[0]) == truth(), (rows[0], asked)
        else:
            assert read(rows) == truth(), rows[0]


def test_the_whole_answer_goes_before_a_part_of_it() -> None:
    rows = [
        {
            "input": {"text": question},
            "output": {"text": answer},
            "steps": [{"citations": [{"answer_part": {"text": answer[:20]}}]}],
            "retrieved": contexts,
        }
        for question, answer, contexts in zip(QUESTIONS, ANSWERS, CONTEXTS, strict=True)
    ]
    asked = readings(rows)
    assert all("citations" not in str(reading) for reading in asked)
    assert read(rows, asked[0]) == truth()


def test_the_messages_of_a_conversation_are_never_its_evidence() -> None:
    rows = [
        {
            "talk": {
                "history": [question, answer],
                "messages": [
                    {"role": "user", "content": question},
                    {"role": "assistant", "content": answer},
                ],
            },
            "found": {"passages": contexts},
        }
        for question, answer, contexts in zip(QUESTIONS, ANSWERS, CONTEXTS, strict=True)
    ]
    asked = readings(rows)
    assert asked[0] == {"messages": "talk.messages", "contexts": "found.passages"}
    assert read(rows, asked[0]) == truth()


def test_lists_of_gold_answers_are_never_offered_as_the_answer() -> None:
    golds = [[text] for text in GOLD]
    rows = table(
        {"question": QUESTIONS, "contexts": CONTEXTS, "answer": golds, "prediction": ANSWERS}
    )
    assert readings(rows) == ({"answer": "prediction", "reference_answers": "answer"},)
    assert read(rows, readings(rows)[0]) == truth(gold=GOLD)


def test_what_is_wrong_with_all_rows_is_no_reason_to_ask_for_their_columns() -> None:
    documents = [[{"id": "d", "text": text} for text in texts] for texts in CONTEXTS]
    rows = table({"question": QUESTIONS, "answer": ANSWERS, "contexts": documents})
    rows = [{**row, "out": {"prompt": row["question"]}} for row in rows]
    with pytest.raises(ce.DataError, match="duplicate document id"):
        read(rows)


@pytest.mark.parametrize(
    ("around", "path"),
    [
        (lambda page: {"metadata": page}, "contexts[*].metadata.text"),
        (lambda page: {"node": page}, "contexts[*].node.text"),
        (lambda page: page, "contexts[*].text"),
    ],
    ids=["metadata", "node", "plain"],
)
def test_the_printed_option_numbers_documents_with_one_id(around: Any, path: str) -> None:
    pages = [{"id": "d", **around({"text": text})} for text in CONTEXTS[0]]
    row = {"question": QUESTIONS[0], "answer": ANSWERS[0], "contexts": pages}
    with pytest.raises(ce.DataError, match="duplicate document id") as raised:
        read([row])
    assert f"--field contexts='{path}'" in str(raised.value)
    assert read([row], {"contexts": path}) == truth()[:1]


def test_what_is_named_is_taken_as_named() -> None:
    rows = table({"question": QUESTIONS, "contexts": CONTEXTS, "answer": GOLD, "output": ANSWERS})
    both = read(rows, {"answer": "output", "contexts": "output"})
    assert [texts for _, _, texts, _ in both] == [[text] for text in ANSWERS]


def test_two_known_names_with_the_same_values_ask_nothing() -> None:
    rows = table(
        {"question": QUESTIONS, "query": QUESTIONS, "answer": ANSWERS, "contexts": CONTEXTS}
    )
    assert read(rows) == truth()
    rows[1]["query"] = "Who?"
    assert readings(rows) == ({"question": "question"}, {"question": "query"})


def test_several_passages_in_one_cell_are_read_by_a_step() -> None:
    rows = table(
        {
            "Question": QUESTIONS,
            "Answer": ANSWERS,
            "Contexts": ["\n".join(texts) for texts in CONTEXTS],
        }
    )
    asked = readings(rows)
    assert asked[0]["contexts"] == "Contexts[lines]"
    assert read(rows, asked[0]) == truth()
    numbered = [
        {
            "question": question,
            "answer": answer,
            "contexts": " ".join(f"[{n}] {text}" for n, text in enumerate(texts, 1)),
        }
        for question, answer, texts in zip(QUESTIONS, ANSWERS, CONTEXTS, strict=True)
    ]
    assert readings(numbered) == ({"contexts": "contexts[numbered]"}, {"contexts": "contexts"})
    assert read(numbered, {"contexts": "contexts[numbered]"}) == truth()


def test_a_document_of_several_lines_is_noticed_and_read() -> None:
    rows = table(
        {
            "question": QUESTIONS,
            "answer": ANSWERS,
            "contexts": ["\n".join(texts) for texts in CONTEXTS],
        }
    )
    remarks = " ".join(ce.doctor(rows).remarks)
    assert "contexts has several lines in one text" in remarks
    assert "--field contexts='contexts[lines]'" in remarks


def test_a_column_evidence_of_a_data_set_is_no_evidence_by_name_unless_it_is_named() -> None:
    row = {"question": "Q?", "answer": "A.", "contexts": ["It is so."], "evidence": ["d1", "d2"]}
    (sample,) = ce.read_samples([row])
    assert sample.metadata["evidence"] == ["d1", "d2"]
    with pytest.raises(ce.DataError, match="evidence: a list; give an object of named document"):
        list(ce.read_samples([row], mapping={"evidence": "evidence"}))


def test_tags_of_html_are_noticed() -> None:
    row = {"question": "How?", "answer": "<p>It is so.</p>", "contexts": ["It is so."]}
    assert "answer has HTML tags in 1 of the first 1 row" in " ".join(ce.doctor([row]).remarks)


def test_a_name_is_read_by_its_last_word() -> None:
    assert words_of("userQueries_2") == ("user", "query")
    assert all(map(answers, ("answer", "model_answer", "answer_text", "answer_b", "LLM Output")))
    assert not any(map(answers, ("answer_model", "answer_start", "question", "reference_answer")))
    assert not any(map(answers, ("output_tokens", "response_time", "answer_quality")))
    assert rank_of_text("question", [words_of("assistant_message")]) is None
    assert rank_of_text("question", [words_of("user_message")]) is not None
    assert rank_of_text("question", [words_of("model_input")]) is not None
    assert describes(words_of("system_prompt"))
    assert not describes(words_of("system_answer"))


@pytest.mark.parametrize("question", ["inputs", *QUESTION_NAMES])
@pytest.mark.parametrize("contexts", [None, "contexts", "context"])
def test_inputs_and_outputs_of_plain_texts_are_no_examples_without_answers(
    question: str, contexts: str | None
) -> None:
    found = {question: QUESTIONS, "outputs": ANSWERS, **({contexts: CONTEXTS} if contexts else {})}
    (asked, *_) = readings(table(found))
    assert (asked["question"], asked["answer"]) == (question, "outputs")
    assert [row[:2] for row in read(table(found), asked)] == [row[:2] for row in truth()]


@pytest.mark.parametrize(
    ("inputs", "beside"),
    [({"chat_history": []}, {}), ({}, {"line_number": 0}), ({}, {}), ({}, {"id": "e"})],
    ids=str,
)
def test_inputs_and_outputs_that_are_no_examples_of_a_data_set_have_answers(
    inputs: Mapping[str, Any], beside: Mapping[str, Any]
) -> None:
    rows = [
        {"inputs": {"question": question, **inputs}, "outputs": {"answer": answer}, **beside}
        for question, answer in zip(QUESTIONS, ANSWERS, strict=True)
    ]
    (asked, *_) = readings(rows)
    assert asked == {"question": "inputs.question", "answer": "outputs.answer"}
    assert [row[:2] for row in read(rows, asked)] == [row[:2] for row in truth()]


def test_scores_find_their_way_back_into_a_frame() -> None:
    import pandas

    texts = ["It is 63 m high.", "It is green.", "It is 63 m high."]
    frame = pandas.DataFrame(
        {"question": list("abc"), "answer": texts, "contexts": [["It is 63 m high."]] * 3}
    )
    frame = frame[frame.question != "a"]
    scores = ce.score(frame, judges="local:lexical", metrics="faithfulness").to_pandas()
    frame["faithfulness"] = scores.set_index("index")["faithfulness"]
    assert frame["faithfulness"].tolist() == [0.0, 1.0]


def test_a_path_with_the_home_directory_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "qa.jsonl").write_text('{"question": "Q?", "answer": "A.", "contexts": ["A."]}')
    assert len(read("~/qa.jsonl")) == 1
    ce.score("~/qa.jsonl", judges="local:lexical", metrics="faithfulness", out="~/run")
    assert ce.Run.load("~/run").path == tmp_path / "run"


def test_what_stands_beside_an_answer_within_its_json_is_offered_with_it() -> None:
    rows = [
        {
            "prompt": question,
            "response": json.dumps({"text": answer, "sources": [{"text": text} for text in texts]}),
        }
        for question, answer, texts in zip(QUESTIONS, ANSWERS, CONTEXTS, strict=True)
    ]
    asked = readings(rows)
    assert read(rows, asked[0]) == truth()
    assert {"question": "prompt", "answer": "response", "contexts": "response.sources"} in asked


def test_reasoning_in_answers_is_asked_about_in_the_same_refusal() -> None:
    answers = [f"<think>Hm.</think>{text}" for text in ANSWERS]
    rows = table({"question": QUESTIONS, "answer": answers, "passages": CONTEXTS})
    asked = readings(rows)
    assert asked[0] == {"answer_reasoning": "drop", "contexts": "passages"}
    assert read(rows, asked[0]) == truth()


def test_a_table_with_one_row_a_document_is_asked_about_in_the_same_refusal() -> None:
    rows: Rows = []
    for number, (question, answer) in enumerate(zip(QUESTIONS, ANSWERS, strict=True)):
        for place, text in enumerate(CONTEXTS[number]):
            shown = answer if place == 0 else None
            rows.append({"qid": f"q{number}", "query": question, "passage": text, "reply": shown})
    asked = readings(rows)
    assert asked[0] == {"answer": "reply", "contexts": "passage", "group": "qid"}
    assert read(rows, asked[0]) == truth()


@pytest.mark.parametrize(
    "columns",
    [
        # files of names and not of passages ask nothing
        {"source_docs": [["2022 Q3 AAPL", "2023 Q1 AAPL"]] * 3},
        {"documents": [["a.pdf", "a page.docx"]] * 3},
        {"instruction": QUESTIONS, "input": ["Some notes on towers."] * 3},
        {"facts": [{"people": [{"text": "She wrote it."}]}] * 3},
    ],
    ids=str,
)
def test_columns_that_only_look_like_fields_ask_nothing(
    columns: Mapping[str, Sequence[Any]],
) -> None:
    known = {"question": QUESTIONS, "contexts": CONTEXTS, "answer": ANSWERS}
    assert readings(table({**known, **columns})) == ()


def test_rows_by_their_ids_and_columns_by_their_names_are_told_apart() -> None:
    rows = table({"question": QUESTIONS, "contexts": CONTEXTS, "answer": ANSWERS})
    by_id = {f"query_{number}": row for number, row in enumerate(rows)}
    assert read(by_id) == truth()
    assert [sample.id for sample in ce.read_samples(by_id)] == list(by_id)
    columns = {name: {f"r{at}": row[name] for at, row in enumerate(rows)} for name in rows[0]}
    assert read(columns) == truth()


@pytest.mark.parametrize(
    "contexts",
    [
        [["The tower", "The tower of Bern is 58 m high."], ["Red", "It is red since 1931."]],
        {"d1": "The tower of Bern is 58 m high.", "d2": "It is red since 1931."},
        '{"The tower of Bern is 58 m high.","It is red since 1931."}',
        "[Document(metadata={'page': 1}, page_content='The tower of Bern is 58 m high.'),"
        " Document(metadata={}, page_content='It is red since 1931.')]",
    ],
    ids=["pairs", "by id", "PostgreSQL", "printed"],
)
def test_documents_in_other_shapes_are_read(contexts: Any) -> None:
    row = {"question": QUESTIONS[0], "answer": ANSWERS[0], "contexts": contexts}
    assert read([row]) == truth()[:1]


def test_a_path_into_a_message_leaves_the_conversation_as_it_is() -> None:
    rows = [
        {
            "messages": [
                {"role": "user", "content": question},
                {"role": "assistant", "content": answer, "found": texts},
            ]
        }
        for question, answer, texts in zip(QUESTIONS, ANSWERS, CONTEXTS, strict=True)
    ]
    path = {"contexts": "messages[-1].found"}
    assert read(rows, path) == truth()
    assert read(rows, {**path, "messages": "messages"}) == truth()
    named = {"question": "messages[1].content", "answer": "messages[0].content"}
    assert read(rows, named) == [(a, q, [], []) for q, a in zip(QUESTIONS, ANSWERS, strict=True)]


def chats(answers: Sequence[str]) -> list[list[dict[str, str]]]:
    return [
        [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
        for question, answer in zip(QUESTIONS, answers, strict=True)
    ]


@pytest.mark.parametrize("name", ["prediction", "model_output", "gpt-4o"])
def test_an_answer_beside_a_conversation_that_has_one_is_asked_for(name: str) -> None:
    rows = table({"messages": chats(GOLD), "contexts": CONTEXTS, name: ANSWERS})
    asked = readings(rows)
    assert asked == ({"answer": name}, {"answer": ""})
    assert read(rows, asked[0]) == truth()
    assert read(rows, asked[1]) == truth(GOLD)


def test_a_gold_answer_beside_a_conversation_is_asked_for() -> None:
    rows = table({"messages": chats(ANSWERS), "contexts": CONTEXTS, "answer": GOLD})
    asked = readings(rows)
    assert asked[0] == {"answer": "", "reference_answers": "answer"}
    assert read(rows, asked[0]) == truth(gold=GOLD)
    same = table({"messages": chats(ANSWERS), "contexts": CONTEXTS, "answer": ANSWERS})
    assert read(same) == truth()


def test_rows_that_are_single_messages_are_refused() -> None:
    rows = [{"chat": at, **message} for at, chat in enumerate(chats(ANSWERS)) for message in chat]
    with pytest.raises(ce.DataError, match="each row is one message") as raised:
        read(rows)
    assert not raised.value.readings


def test_answers_in_two_objects_are_both_offered_the_gold_one_last() -> None:
    rows = [
        {"data": {"question": q, "answer": gold}, "result": {"answer": answer, "contexts": texts}}
        for q, gold, answer, texts in zip(QUESTIONS, GOLD, ANSWERS, CONTEXTS, strict=True)
    ]
    asked = readings(rows)
    assert [reading["answer"] for reading in asked] == ["result.answer", "data.answer"]
    assert [sample[:3] for sample in read(rows, asked[0])] == [sample[:3] for sample in truth()]
    assert [references for *_, references in read(rows, asked[0])] == [[gold] for gold in GOLD]


def test_numbered_columns_beside_others_of_their_name_are_offered_one_by_one() -> None:
    rows = table(
        {
            "question": QUESTIONS,
            "answer": ANSWERS,
            **{f"context{n}": [texts[n] for texts in CONTEXTS] for n in (0, 1)},
            "context0_score": (0.5, 0.4, 0.3),
        }
    )
    (asked,) = readings(rows)
    assert asked == {"contexts": ("context0", "context1")}
    assert read(rows, asked) == truth()


UNKNOWN_NAMES = ("kestrel7b", "zephyr", "v2", "theirs", "nightly", "Column1", "系统输出", "utgang")
"""Names that no list of names has."""


@pytest.mark.parametrize("name", UNKNOWN_NAMES)
def test_sentences_that_hold_the_answer_are_a_passage_or_the_system_s_answer(name: str) -> None:
    rows = table({"question": QUESTIONS, "answer": GOLD, name: ANSWERS})
    gold = {"answer": name, "reference_answers": "answer"}
    assert readings(rows) == (gold, {"answer": "answer", "contexts": name}, {"answer": "answer"})
    answered = [(each.question, each.answer) for each in ce.read_samples(rows, mapping=gold)]
    assert answered == list(zip(QUESTIONS, ANSWERS, strict=True))


@pytest.mark.parametrize("name", UNKNOWN_NAMES)
def test_a_list_of_gold_answers_is_no_answer_beside_longer_sentences(name: str) -> None:
    golds = [[text] for text in GOLD]
    rows = table({"question": QUESTIONS, "contexts": CONTEXTS, "answers": golds, name: ANSWERS})
    assert readings(rows)[0] == {"answer": name, "reference_answers": "answers"}
    assert read(rows, readings(rows)[0]) == truth(gold=GOLD)


def test_without_contexts_a_short_answer_within_another_looks_like_gold() -> None:
    rows = table({"question": QUESTIONS, "answer": GOLD, "completion": ANSWERS})
    assert readings(rows)[0] == {"answer": "completion", "reference_answers": "answer"}


def test_addresses_are_no_texts_of_a_sample() -> None:
    links = ["https://example.org/tower"] * 3
    rows = table({"Prompt": QUESTIONS, "Response": ANSWERS, "wiki_link_1": links, "Query": links})
    assert readings(rows) == ({"question": "Prompt", "answer": "Response"},)


def test_a_prompt_with_contexts_and_question_is_no_other_evidence() -> None:
    prompts = [f"{' '.join(texts)} {q}" for texts, q in zip(CONTEXTS, QUESTIONS, strict=True)]
    known = {"question": QUESTIONS, "contexts": CONTEXTS, "answer": ANSWERS}
    assert read(table({**known, "country": prompts})) == truth()


def test_parts_of_an_answer_with_their_places_are_no_evidence() -> None:
    rows = [
        {
            "question": question,
            "answer": answer,
            "grounding": [{"segment": {"startIndex": 0, "endIndex": 9, "text": answer[:9]}}],
        }
        for question, answer in zip(QUESTIONS, ANSWERS, strict=True)
    ]
    assert [contexts for _, _, contexts, _ in read(rows)] == [[], [], []]


def test_parts_of_one_document_have_their_own_ids() -> None:
    parts = [
        [{"document_id": "d", "segment_id": f"s{n}", "content": text} for n, text in enumerate(all)]
        for all in CONTEXTS
    ]
    rows = table({"question": QUESTIONS, "answer": ANSWERS, "contexts": parts})
    assert read(rows) == truth()
    (first, *_) = ce.read_samples(rows)
    assert [document.id for document in first.contexts or ()] == ["s0", "s1"]


def test_documents_with_one_id_that_are_not_read_are_offered_by_their_texts() -> None:
    parts = [{"found": [{"document_id": "d", "content": t} for t in all]} for all in CONTEXTS]
    out = [{"response": answer, **part} for answer, part in zip(ANSWERS, parts, strict=True)]
    rows = table({"question": QUESTIONS, "out": out})
    asked = readings(rows)
    assert asked[0] == {"answer": "out.response", "contexts": "out.found[*].content"}
    assert read(rows, asked[0]) == truth()


def test_documents_without_texts_are_said_in_the_refusal_of_other_fields() -> None:
    hits = [{"title": "A page", "url": "https://example.org"}]
    said = [[{"role": "assistant", "content": answer}] for answer in ANSWERS]
    rows = table({"question": QUESTIONS, "choices": said, "search_results": [hits] * 3})
    asked = readings(rows)
    assert asked[0] == {"messages": "choices", "contexts": ""}
    assert read(rows, asked[0]) == [(q, a, [], []) for q, a, _, _ in truth()]


def test_outputs_of_agents_with_the_answer_among_them_are_no_evidence() -> None:
    rows = [
        {
            "inputs": {"question": question},
            "raw": answer,
            "tasks": [
                {"description": f"Look for: {question}", "raw": " ".join(texts)},
                {"description": "Write it down for the user.", "raw": answer},
            ],
        }
        for question, answer, texts in zip(QUESTIONS, ANSWERS, CONTEXTS, strict=True)
    ]
    assert readings(rows) == ({"question": "inputs.question", "answer": "raw"},)


def test_two_conversations_in_a_row_are_both_offered() -> None:
    talks = [
        [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
        for question, answer in zip(QUESTIONS, ANSWERS, strict=True)
    ]
    rows = table({"conversation_a": talks, "conversation_b": talks[::-1]})
    assert readings(rows) == ({"messages": "conversation_a"}, {"messages": "conversation_b"})


@pytest.mark.parametrize(
    ("join", "reading"),
    [
        (" ||| ".join, {"split": "|||"}),
        (
            lambda texts: "\n\n".join(f"Document {n}:\n{t}" for n, t in enumerate(texts, 1)),
            {"contexts": "contexts[numbered]"},
        ),
    ],
    ids=["bars", "labels"],
)
def test_marked_passages_in_one_cell_are_asked_about(join: Any, reading: Any) -> None:
    cells = [join(texts) for texts in CONTEXTS]
    rows = table({"question": QUESTIONS, "answer": ANSWERS, "contexts": cells})
    assert readings(rows)[0] == reading
    assert read(rows, reading) == truth()


@pytest.mark.parametrize(
    "separator",
    [
        *("\n---\n", "\n\n***\n\n", "\n* * *\n", "\n=====\n", "\n~~~~\n", "\n=== NEXT ===\n"),
        *(" [SEP] ", "</s>", "\n<|end|>\n", " <SEP> "),
    ],
)
@pytest.mark.parametrize("listed", [False, True], ids=["text", "list"])
def test_separators_between_passages_in_one_cell_are_noticed(separator: str, listed: bool) -> None:
    cells = [separator.join(texts) for texts in CONTEXTS]
    columns = {"question": QUESTIONS, "answer": ANSWERS}
    rows = table({**columns, "contexts": [[cell] for cell in cells] if listed else cells})
    split = {"contexts": f"contexts[split: {separator.strip()}]"}
    assert any(options(split) in remark for remark in ce.doctor(rows).remarks)
    assert read(rows, split) == truth()
    if not listed:
        asked = readings(table({**columns, "Context": cells}))
        assert asked[0] == {"contexts": f"Context[split: {separator.strip()}]"}
        assert {"contexts": "Context"} in asked


@pytest.mark.parametrize(
    ("tag", "element"),
    [
        ("doc", '<doc id="{}">{}</doc>'),
        ("passage", "<passage>\n{1}\n</passage>"),
        ("content", "<document index='{}'><source>a.pdf</source><content>{}</content></document>"),
    ],
)
@pytest.mark.parametrize("around", ["{}", "<documents>\n{}\n</documents>"])
def test_elements_with_passages_in_one_cell_are_asked_about(
    tag: str, element: str, around: str
) -> None:
    cells = []
    for texts in CONTEXTS:
        elements = [element.format(number, text) for number, text in enumerate(texts, 1)]
        cells.append(around.format("\n".join(elements)))
    rows = table({"question": QUESTIONS, "answer": ANSWERS, "contexts": cells})
    split = {"contexts": f"contexts[split: <{tag}>]"}
    assert readings(rows) == (split, {"contexts": "contexts"})
    assert read(rows, split) == truth()


@pytest.mark.parametrize(
    "cell",
    [
        "<p>{}</p><p>{}</p>",
        "| name of it | what of it |\n|---|---|\n| {} | {} |",
        "---\ntitle: A page\n---\n{} {}",
        "{} - {}",
    ],
)
def test_html_tables_and_front_matter_are_parts_of_one_document(cell: str) -> None:
    cells = [cell.format(*texts) for texts in CONTEXTS]
    rows = table({"question": QUESTIONS, "answer": ANSWERS, "contexts": cells})
    assert [contexts for _, _, contexts, _ in read(rows)] == [[cell] for cell in cells]
    assert not any("split:" in remark for remark in ce.doctor(rows).remarks)


@pytest.mark.parametrize("mark", ["{}. ", "Step {}: ", "({}) "])
def test_a_numbered_list_may_be_one_document(mark: str) -> None:
    cells = ["\n".join(mark.format(n) + t for n, t in enumerate(all, 1)) for all in CONTEXTS]
    rows = table({"question": QUESTIONS, "answer": ANSWERS, "contexts": cells})
    assert [contexts for _, _, contexts, _ in read(rows)] == [[cell] for cell in cells]
    split = {"contexts": "contexts[numbered]"}
    assert any(options(split) in remark for remark in ce.doctor(rows).remarks)
    assert read(rows, split) == truth()


def test_a_column_named_content_is_the_answer_to_a_question_that_is_offered_too() -> None:
    sources = [[{"textSegment": {"text": text}} for text in texts] for texts in CONTEXTS]
    rows = table({"userMessage": QUESTIONS, "content": ANSWERS, "sources": sources})
    asked = readings(rows)
    assert set(asked[0]) == {"question", "answer", "contexts"}
    assert read(rows, asked[0]) == truth()


@pytest.mark.parametrize(
    ("columns", "gold"),
    [
        ({"Prompt": QUESTIONS, "Answer": GOLD}, "Answer"),
        (
            {
                "Question": QUESTIONS,
                "Answer": [{"Value": text, "Aliases": [text, text.upper()]} for text in GOLD],
                "Passages": CONTEXTS,
            },
            "Answer.Value",
        ),
        (
            {
                "inputs": [{"query": question} for question in QUESTIONS],
                "outputs": [{"answer": gold} for gold in GOLD],
            },
            "outputs.answer",
        ),
    ],
    ids=["flat", "named", "nested"],
)
def test_short_texts_alone_are_offered_as_gold_answers_first(
    columns: Mapping[str, Sequence[Any]], gold: str
) -> None:
    first, *others = readings(table(columns))
    assert (first["answer"], first["reference_answers"]) == ("", gold)
    assert [other["answer"] for other in others] == [gold]
    with pytest.raises(ce.DataError, match="no answers of a system: add them as a column answer"):
        read(table(columns))


def test_a_short_answer_beside_references_is_not_called_gold() -> None:
    by_system = [
        {"fid": {"answer": gold}, "gpt": {"answer": answer}}
        for gold, answer in zip(GOLD, ANSWERS, strict=True)
    ]
    rows = table({"question": QUESTIONS, "golden_answer": GOLD, "answers": by_system})
    assert all(reading["reference_answers"] == "golden_answer" for reading in readings(rows))
    with pytest.raises(ce.DataError) as raised:
        read(rows)
    assert "looks like gold" not in str(raised.value)


def test_an_unread_gold_answer_is_offered_beside_the_answer_and_last_as_the_answer() -> None:
    rows = table({"Prompt": QUESTIONS, "Answer": GOLD, "Response": ANSWERS})
    first, *others = readings(rows)
    assert (first["answer"], first["reference_answers"]) == ("Response", "Answer")
    assert others[-1]["answer"] == "Answer"
    with pytest.raises(ce.DataError, match="'Answer' looks like gold answers"):
        read(rows)


@pytest.mark.parametrize("name", ["prediction", "model_output", "Bot reply"])
def test_short_answers_under_the_name_of_a_system_s_are_answers(name: str) -> None:
    rows = table({"input": QUESTIONS, name: GOLD, "passages": CONTEXTS})
    assert [reading["answer"] for reading in readings(rows)] == [name]


def test_answers_under_keys_that_differ_from_row_to_row_are_read_by_a_step_to_any() -> None:
    answers_by_system = [
        {system: {"text": answer, "attribution": contexts}}
        for system, answer, contexts in zip(("gpt4", "bing", "rr"), ANSWERS, CONTEXTS, strict=True)
    ]
    rows = table({"question": QUESTIONS, "answers": answers_by_system})
    asked = readings(rows)
    assert asked == ({"answer": "answers.*.text", "contexts": "answers.*.attribution"},)
    assert read(rows, asked[0]) == truth()


LISTED = ("candidates_set", "candidates", "long_term", "past_terms", "memory_level", "pool_index")


@pytest.mark.parametrize("name", LISTED)
@pytest.mark.parametrize("as_objects", [False, True], ids=["texts", "objects"])
def test_a_list_of_passages_is_asked_for_under_the_name_of_a_property_or_of_candidates(
    name: str, as_objects: bool
) -> None:
    known = {"question": QUESTIONS, "contexts": CONTEXTS, "answer": ANSWERS}
    found: Sequence[Any] = OTHER
    if as_objects:
        found = [[{"text": text, "score": 0.5} for text in texts] for texts in OTHER]
    asked = readings(table({**known, name: found}))
    assert asked == ({"contexts": "contexts"}, {"contexts": name})


@pytest.mark.parametrize("name", ["rewritten", "paraphrase", "rewrite"])
def test_a_rewritten_text_is_asked_for_if_it_is_an_answer(name: str) -> None:
    known = {"question": QUESTIONS, "contexts": CONTEXTS, "answer": ANSWERS}
    assert {"answer": name} in readings(table({**known, name: WRONG}))
    questions = [f"Please tell me: {question}" for question in QUESTIONS]
    assert readings(table({**known, name: questions})) == ()
    searched = [question.rstrip("?").lower() for question in QUESTIONS]
    assert readings(table({**known, name: searched})) == ()


JUDGED = [
    f"The answer says that {answer.split('.')[0]}, as the context does." for answer in ANSWERS
]
HARMLESS: dict[str, Sequence[Any]] = {
    "category": ("history", "history", "travel"),
    "page_title": ("The tower of Bern and its builders", "The mill of Ana Souto", "Ferries"),
    "model_name": ("gpt-5-mini",) * 3,
    "source_file": ("tower.pdf", "mill.pdf", "ferry.pdf"),
    "reviewer_comment": JUDGED,
    "judge_output": JUDGED,
    "grader_response": JUDGED,
    "evaluation": JUDGED,
    "rubric": [f"It must name {gold}. Anything else is wrong." for gold in GOLD],
    "thoughts": [f"I look for it. I find {gold} in the text." for gold in GOLD],
    "suggestions": (["Ask for the year too.", "Ask who paid for the tower."],) * 3,
    "sub_questions": [[question, "And when?"] for question in QUESTIONS],
    "tools": ("The archive can be searched. Nothing else can.",) * 3,
    "source": ("A dump of the encyclopedia. Licence CC BY.",) * 3,
    "transcript": [
        f"Use the context. {' '.join(texts)} Question: {question} Answer it."
        for question, texts in zip(QUESTIONS, CONTEXTS, strict=True)
    ],
    "response_prompt_text": [
        f"{' '.join(texts)} {question}" for question, texts in zip(QUESTIONS, CONTEXTS, strict=True)
    ],
    "topics": (["towers and their towns"],) * 3,
    "long_term": (["history", "towers"],) * 3,
    "notes": ("Seen twice. Fine on the second day.", "She was not sure. Open.", "By chance. Ok."),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_said_about_a_row_asks_nothing_beside_complete_names(name: str) -> None:
    known = {"question": QUESTIONS, "contexts": CONTEXTS, "answer": ANSWERS}
    rows = table({**known, name: HARMLESS[name]})
    assert readings(rows) == ()
    assert read(rows) == truth()


def test_harmless_columns_together_and_in_any_order_ask_nothing() -> None:
    draw = random.Random(52)
    known = {"question": QUESTIONS, "contexts": CONTEXTS, "answer": ANSWERS}
    for _ in range(60):
        names = [*known, *draw.sample(list(HARMLESS), 4)]
        draw.shuffle(names)
        rows = table({name: (known | HARMLESS)[name] for name in names})
        assert read(rows) == truth(), names


def test_a_question_goes_before_the_prompt_that_holds_it() -> None:
    prompts = [
        f"Answer with the document only.\n{' '.join(texts)}\n{question}"
        for question, texts in zip(QUESTIONS, CONTEXTS, strict=True)
    ]
    columns = {"full_prompt": prompts, "user_request": QUESTIONS, "response": ANSWERS}
    asked = readings(table({**columns, "passages": CONTEXTS}))
    assert asked[0] == {"question": "user_request", "contexts": "passages"}


def test_replies_of_an_api_with_the_prompt_beside_them_are_read_with_it() -> None:
    rows = [
        {
            "prompt": question,
            "choices": [
                {
                    "message": {"role": "assistant", "content": answer},
                    "sources": [{"text": text, "score": 0.5} for text in texts],
                }
            ],
        }
        for question, answer, texts in zip(QUESTIONS, ANSWERS, CONTEXTS, strict=True)
    ]
    assert read(rows, readings(rows)[0]) == truth()


def test_the_messages_of_a_system_are_its_answers_if_they_differ() -> None:
    sources = [[{"snippet": text, "title": "A"} for text in texts] for texts in CONTEXTS]
    columns = {"userMessage": QUESTIONS, "systemMessage": ANSWERS, "sourceAttributions": sources}
    rows = table(columns)
    assert read(rows, readings(rows)[0]) == truth()
    same = table({**columns, "systemMessage": ("Answer from the sources.",) * 3})
    assert all("answer" not in reading for reading in readings(same))


def test_a_verdict_goes_after_the_expected_answer() -> None:
    rows = table(
        {
            "Question": QUESTIONS,
            "Correct?": ("yes", "no", "yes"),
            "Chatbot answer": ANSWERS,
            "Expected answer": GOLD,
            "chunk": CONTEXTS,
        }
    )
    assert readings(rows)[0]["reference_answers"] == "Expected answer"


def test_the_sentences_beside_the_text_of_a_document_are_parts_of_it() -> None:
    passages = [[{"title": "A", "text": " ".join(all), "sentences": all}] for all in CONTEXTS]
    rows = table({"question": QUESTIONS, "answer": ANSWERS, "contexts": passages})
    assert [contexts for _, _, contexts, _ in read(rows)] == [[" ".join(all)] for all in CONTEXTS]


def test_references_with_lists_of_texts_are_offered_as_contexts() -> None:
    found = [[{"file_path": "a.md", "content": [text]} for text in texts] for texts in CONTEXTS]
    rows = table({"query": QUESTIONS, "response": ANSWERS, "references": found})
    assert read(rows, readings(rows)[0]) == truth()


def test_lists_about_the_row_are_offered_where_the_file_is_refused() -> None:
    columns = {"query": QUESTIONS, "answer": [[gold] for gold in GOLD], "prediction": ANSWERS}
    rows = table({**columns, "positive": CONTEXTS, "negative": OTHER})
    assert readings(rows)[0]["contexts"] == "positive"
    judged = [[f"{answer} Good."] for answer in ANSWERS]
    rows = table({**columns, "critique": judged})
    assert all("contexts" not in reading for reading in readings(rows))


def test_literature_of_a_row_is_no_context_of_it() -> None:
    cited = ("Meyer et al. 2019, Acta Nova", "Lund 2020, Proc. XII", "Olsen 2021, Notes 4")
    rows = table({"question": QUESTIONS, "model_answer": ANSWERS, "source_literature": cited})
    assert readings(rows) == ({"answer": "model_answer"},)


def test_a_shorter_answer_that_does_not_stand_in_the_other_is_not_called_gold() -> None:
    short = ("It is 63 m, they say.", "Peter Meier did it.", "Nobody knows it at all.")
    rows = table({"question": QUESTIONS, "rag_answer": ANSWERS, "no_context_answer": short})
    asked = readings(rows)
    assert [reading["answer"] for reading in asked] == ["rag_answer", "no_context_answer"]
    assert all("reference_answers" not in reading for reading in asked)


@pytest.mark.parametrize(
    ("question", "answer", "contexts"),
    [
        ("Câu hỏi", "Câu trả lời", "Ngữ cảnh"),
        ("Pertanyaan", "Jawaban", "Konteks"),
        ("Soru", "Cevap", "Bağlam"),
        ("Питання", "Відповідь", "Контекст"),
    ],
)
def test_columns_in_other_languages_are_offered(question: str, answer: str, contexts: str) -> None:
    rows = table({question: QUESTIONS, answer: ANSWERS, contexts: CONTEXTS})
    assert readings(rows)[0] == {"question": question, "answer": answer, "contexts": contexts}


def test_an_expected_answer_in_another_language_is_the_reference() -> None:
    rows = table({"Question": QUESTIONS, "Réponse attendue": GOLD, "Réponse": ANSWERS})
    asked = readings(rows)[0]
    assert (asked["answer"], asked["reference_answers"]) == ("Réponse", "Réponse attendue")


@pytest.mark.parametrize("value", [{"vital": 3, "okay": 1}, [{"count": 2}], 3])
def test_nuggets_without_texts_are_metadata(value: Any) -> None:
    known = {"question": QUESTIONS, "contexts": CONTEXTS, "answer": ANSWERS}
    rows = table({**known, "nuggets": [value] * 3})
    assert read(rows) == truth()
    assert all(sample.metadata["nuggets"] == value for sample in ce.read_samples(rows))
    texts = table({**known, "nuggets": [["It is so."]] * 3})
    assert all(len(sample.reference_claims) == 1 for sample in ce.read_samples(texts))


@pytest.mark.parametrize("name", ["history", "chat_history"])
@pytest.mark.parametrize(
    "turns",
    [
        lambda question, answer: [["Hello?", "Hello."], [question, answer]],
        lambda question, answer: [
            {"is_user": True, "text": question},
            {"is_user": False, "text": answer},
        ],
    ],
    ids=["pairs", "flags"],
)
def test_a_history_that_ends_with_an_answer_is_offered_as_the_conversation(
    name: str, turns: Any
) -> None:
    talks = [turns(question, answer) for question, answer in zip(QUESTIONS, ANSWERS, strict=True)]
    rows = table({name: talks})
    assert readings(rows) == ({"messages": name},)
    assert [sample[:2] for sample in read(rows, {"messages": name})] == [
        sample[:2] for sample in truth()
    ]
    rows = table({name: talks, "question": ("And then?",) * 3, "answer": ANSWERS})
    assert readings(rows) == ()


def within(path: str, value: Any) -> dict[str, Any]:
    """An object, or a list of one, with a value at a path such as `choices[].text`."""
    for key in reversed(path.split(".")):
        name = key.removesuffix("[]")
        value = {name: [value] if key != name else value}
    return dict(value)


@pytest.mark.parametrize(
    "path",
    [
        *("output.text", "outputs.baseline", "generations[].text", "run.final", "rag.response"),
        *("choices[].message.content", "systems.ours.answer", "predictions.gpt-4o", "data.reply"),
        *("metadata.prediction", "response.text", "candidates[].text", "steps[].result.answer"),
    ],
)
def test_an_answer_within_an_object_is_asked_for_beside_a_gold_answer(path: str) -> None:
    columns = {"question": QUESTIONS, "contexts": CONTEXTS, "answer": GOLD}
    rows = [row | within(path, answer) for row, answer in zip(table(columns), ANSWERS, strict=True)]

    assert read(rows, readings(rows)[0]) == truth(gold=GOLD)


@pytest.mark.parametrize(
    "path",
    [
        *("outputs.contexts", "retrieval.docs", "rag.retrieved", "trace.steps[].docs"),
        *("response.sources", "search.hits[].chunks"),
    ],
)
def test_documents_within_an_object_are_asked_for_beside_others(path: str) -> None:
    columns = {"question": QUESTIONS, "answer": ANSWERS, "contexts": OTHER}
    rows = [row | within(path, texts) for row, texts in zip(table(columns), CONTEXTS, strict=True)]

    assert truth() in [read(rows, reading) for reading in readings(rows)]


@pytest.mark.parametrize(
    "path",
    [
        *("scores.faithfulness.reason", "judge.output", "feedback.text", "claims[].text"),
        *("details.statement", "critique.text", "suggestions[].text", "evidence.policy"),
        *("metadata.summary", "config.system_prompt", "user.bio", "annotations[].text"),
        *("guardrails.output", "moderation.response", "eval.output", "metadata.answer"),
    ],
)
def test_sentences_about_a_sample_within_an_object_ask_nothing(path: str) -> None:
    columns = {"question": QUESTIONS, "answer": ANSWERS, "contexts": CONTEXTS}
    texts = [f"It is said that {answer}" for answer in ANSWERS]
    rows = [row | within(path, text) for row, text in zip(table(columns), texts, strict=True)]

    assert read(rows) == truth()


def test_copies_of_what_is_read_within_the_reply_of_an_api_ask_nothing() -> None:
    columns = {"question": QUESTIONS, "answer": ANSWERS, "contexts": CONTEXTS}
    rows = [
        {**row, "raw": within("choices[].message.content", row["answer"]), "found": {"docs": docs}}
        for row, docs in zip(table(columns), CONTEXTS, strict=True)
    ]

    assert read(rows) == truth()


def test_a_column_of_objects_with_a_known_name_hides_no_column_of_texts() -> None:
    columns = {"question": QUESTIONS, "contexts": CONTEXTS, "response": ANSWERS}
    trivia = [{"value": text, "aliases": [text]} for text in GOLD]
    rows = table({**columns, "answer": trivia})

    (reading,) = readings(rows)

    assert read(rows, reading) == truth()


def test_a_column_of_texts_is_the_question_beside_one_of_objects() -> None:
    columns = {"question": QUESTIONS, "answer": ANSWERS, "contexts": CONTEXTS}
    rows = table({**columns, "query": [{"text": text, "top_k": 3} for text in QUESTIONS]})

    (reading,) = readings(rows)

    assert reading == {"question": "question"}
    assert read(rows, reading) == truth()


@pytest.mark.parametrize("path", ["responses", "generations.text"])
def test_the_first_of_several_answers_is_offered_beside_a_gold_answer(path: str) -> None:
    column, _, key = path.partition(".")
    rows = table({"question": QUESTIONS, "contexts": CONTEXTS, "answer": GOLD})
    for row, answer in zip(rows, ANSWERS, strict=True):
        texts = [answer, f"{answer} Really."]
        row[column] = [{key: text} for text in texts] if key else texts

    assert read(rows, readings(rows)[0]) == truth(gold=GOLD)


@pytest.mark.parametrize("name", ["chat", "log", "session", "run"])
def test_a_conversation_of_the_question_is_asked_for_beside_a_gold_answer(name: str) -> None:
    rows = table({"question": QUESTIONS, "contexts": CONTEXTS, "answer": GOLD})
    for row, answer in zip(rows, ANSWERS, strict=True):
        asked = {"role": "user", "content": row["question"]}
        row[name] = [asked, {"role": "assistant", "content": answer}]

    assert read(rows, readings(rows)[0]) == truth(gold=GOLD)


def test_a_conversation_before_the_question_asks_nothing_beside_a_gold_answer() -> None:
    rows = table({"question": QUESTIONS, "contexts": CONTEXTS, "answer": GOLD})
    for row in rows:
        said = {"role": "assistant", "content": "Hello, what can I do for you today?"}
        row["chat"] = [{"role": "user", "content": "Good morning to you."}, said]

    assert read(rows) == truth(answers=GOLD)


def test_an_answer_within_an_object_is_offered_before_a_list_of_gold_answers() -> None:
    rows = table({"question": QUESTIONS, "contexts": CONTEXTS, "answers": [[x] for x in GOLD]})
    for row, answer in zip(rows, ANSWERS, strict=True):
        row["rag"] = {"text": answer}

    assert read(rows, readings(rows)[0]) == truth(gold=GOLD)


def test_a_printed_path_leads_to_the_item_that_has_the_answer() -> None:
    rows = table({"question": QUESTIONS, "contexts": CONTEXTS, "answer": GOLD})
    for row, answer in zip(rows, ANSWERS, strict=True):
        row["trace"] = {"steps": [{"name": "search", "took": 3}, {"output": answer}]}

    reading = readings(rows)[0]

    assert reading["answer"] == "trace.steps[-1].output"
    assert read(rows, reading) == truth(gold=GOLD)


def test_what_a_system_generated_goes_before_gold_answers_wherever_it_stands() -> None:
    rows = table({"questions": QUESTIONS, "answers": GOLD})
    for row, answer in zip(rows, ANSWERS, strict=True):
        row["output"] = {"generated_text": answer}

    (reading, *_) = readings(rows)

    assert reading["answer"] == "output.generated_text"
    assert reading["reference_answers"] == "answers"


def test_an_address_is_not_offered_as_the_text_of_an_object() -> None:
    rows = [
        {"question": {"url": f"https://example.org/{number}"}, "answer": answer}
        for number, answer in enumerate(ANSWERS)
    ]

    with pytest.raises(ce.DataError) as error:
        read(rows)

    assert "question.url" not in str(error.value)


@pytest.mark.parametrize("name", ["doc_{}_text", "Passage {} content", "chunk{}_body"])
def test_columns_with_a_number_within_their_names_are_offered_as_a_pattern(name: str) -> None:
    first, second = zip(*CONTEXTS, strict=True)
    columns = {"question": QUESTIONS, "answer": ANSWERS}
    rows = table({**columns, name.format(1): first, name.format(2): second})

    (reading, *_) = readings(rows)

    assert reading == {"contexts": name.format("*")}
    assert read(rows, reading) == truth()


@pytest.mark.parametrize("names", [("gpt4_docs", "gpt5_docs"), ("docs_v1", "docs_v2")])
def test_documents_of_two_systems_with_numbers_in_their_names_stay_apart(
    names: tuple[str, str],
) -> None:
    columns = {"question": QUESTIONS, "answer": ANSWERS}
    rows = table({**columns, names[0]: CONTEXTS, names[1]: OTHER})

    assert truth() in [read(rows, reading) for reading in readings(rows)]
