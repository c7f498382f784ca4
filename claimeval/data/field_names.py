"""What the name of a column or key says: which field of a sample it may be, or that it only
describes something.

A name is a guess and never decides between two columns that may be one field; that is asked
(`decision.py`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import chain

Words = tuple[str, ...]


@lru_cache(maxsize=4096)
def words_of(name: str) -> Words:
    """Return the words in a name, in lower case and singular: `userQueries_2` has user and
    query."""
    spaced = re.sub("(?<=[a-z])(?=[A-Z])", " ", name)
    return tuple(singular(word) for word in _LETTERS.findall(_without_accents(spaced)))


def _without_accents(name: str) -> str:
    decomposed = unicodedata.normalize("NFD", name.lower())
    return unicodedata.normalize("NFC", _MARKS.sub("", decomposed))


_MARKS = re.compile(r"[\u0300-\u036f]")
"""Accents: `réponse` is written `reponse` as often."""
_LETTERS = re.compile(r"[^\W\d_]+")


def singular(word: str) -> str:
    """Return the singular of an English noun with a regular plural."""
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2]
    if word.endswith(("theses", "hypotheses")):
        return f"{word[:-2]}is"
    if word.endswith("s") and not word.endswith(("ss", "us", "sis")) and len(word) > 3:
        return word[:-1]
    return word


def _list(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_GOLD = frozenset(
    _list(
        "reference truth gold golden expected ideal target correct gt right annotated annotation"
        " referenz referencia musterantwort attendu attendue esperado esperada atteso attesa"
        " erwartet erwartete verwacht oczekiwana oczekiwany ожидаемый эталонный эталон"
        " 参考答案 标准答案 模範解答"
    )
)
_RIGHT = frozenset(_list("correct right annotated annotation"))
"""Words of these that verdicts have too."""
_DOCUMENT = frozenset(
    _list(
        "context chunk passage document doc source retrieved evidence snippet hit retrieval"
        " paragraph node knowledge ctx article excerpt segment grounding search"
        " retriever material background premise kb corpus wiki wikipedia reranked rerank reranker"
        " observation neighbor neighbour attachment quote quotation transcript story tool"
        " kontext kontexte kontekst contexto contexte contesto dokument dokumente documento"
        " fundstelle fundstellen textstelle textstellen quelle quellen fuente fonte"
        " canh konteks baglam konteksti контекст документ سياق"
        " 上下文 文脈 コンテキスト 段落 文档 컨텍스트 문맥"
    )
)
"""Words that say that something is a document."""
_DOCUMENT_IN_A_LIST = frozenset(
    _list(
        "reference result match record page support text content fact citation attribution"
        " highlight"
    )
)
"""Words that say so of lists of documents or of passages."""
_CONTENT = frozenset(
    _list("text content body section information info memory extract highlight supporting cited")
)
"""Words that say so of whole sentences, where other columns are read as questions and answers."""
_ANSWER = _list(
    "answer response output prediction completion generated generation reply hypothesis candidate"
    " pred predicted resp ans assistant bot apimessage hyp antwort antworten respuesta resposta"
    " risposta reponse antwoord svar odpoved odpowiedz loi jawaban cevap"
    " yanit vastaus valasz raspuns ответ відповідь απαντηση جواب"
    " 答案 回答 回复 답변"
    " result summary claim text"
)
_QUESTION = _list(
    "question query prompt input message ask instruction utterance request user human problem task"
    " frage fragen anfrage pregunta consulta pergunta domanda vraag fraga otazka pytanie hoi"
    " pertanyaan soru kysymys kerdes intrebare вопрос питання ερωτηση سؤال"
    " запрос 问题 問題 质询 質問 질문"
)
_WORDS = {"question": _QUESTION, "answer": _ANSWER}
"""Words for the texts of a sample, most reliable first."""
_GENERIC = frozenset(_list("text content value data body message string raw final"))
"""Names of texts that say nothing of their own; what they are stands in the name above."""
_PLAIN_ANSWER = frozenset(_ANSWER) - {"result", "summary", "claim", "text"}
"""Words that say that a text is an answer, whatever its length."""
_SYSTEM = frozenset(
    _list(
        "prediction pred predicted generated generation completion hypothesis candidate output"
        " response resp reply assistant bot model llm ai gpt agent system rag hallucinated student"
    )
)
"""Words that say that a system wrote an answer."""
_NO_TEXT = frozenset(
    singular(word)
    for word in _list(
        "id ids uid uuid time timestamp token tokens score latency model type date cost status"
        " count length url uri file path version language hash role reason ms seconds category"
        " format name title by author start end tag tags level topic index reasoning lang locale"
        " rating grade quality feedback comment explanation correctness relevance relevancy"
        " faithfulness similarity confidence probability logprob label rank position offset span"
        " template schema style tone sentiment intent keyword term difficulty split domain method"
    )
)
"""Words at the end of the names of columns that describe something."""
_IDS = frozenset(
    _list("id ids idx docid pid uid uuid key docno number name title file path url uri uris source")
)
"""Words at the end of the names of lists of ids."""
_OF_DEVELOPERS = frozenset({"error", "log", "judge", "grader", "evaluator"})
_NO_SENTENCE = frozenset(
    _list(
        "term position level index rank offset label style domain split count length score topic"
        " rating grade tag time date type"
    )
)
"""Words of properties that are no sentences: a list of sentences under such a name is another
thing, as `long_term` is a memory."""
_OF_A_SYSTEM = frozenset(_list("prompt message instruction text content"))
"""What a name with `system` ends with that means the instructions of a model, as `system` alone
does: a `system_answer` is an answer."""
_SPOKEN = frozenset({"answer", "question", "query"})
_REPLYING = frozenset(
    _list(
        "gpt chatgpt claude llama mistral mixtral gemini gemma qwen deepseek phi command grok llm"
        " ai model rag sys system our ours baseline run draft final hyp decoded inference inferred"
        " solution conclusion synthesis actual returned out res yhat text content message"
    )
)
"""Words of columns that may hold what a model wrote, if they are sentences about the question."""
_UTTERED = frozenset(_list("message utterance"))
"""Words of questions that are those of answers as well, by who says them."""
_NAMED_AFTER = frozenset(_list("model system"))
"""Words of columns that have the name or the instructions of a system, or what it wrote."""
_ABOUT = frozenset(
    _list(
        "thought cot rationale justification critique note plan analysis scratchpad rubric"
        " criterion criteria guideline persona scenario description followup follow distractor"
        " decomposition step keyword entity option choice claim"
        " statement sentence nugget review question query instruction history example turn event"
        " hint synonym alias aspect issue error warning log call skill goal"
        " summary abstract incorrect wrong negative conversation dialogue dialog session thread"
        " meeting remark memo detail overview introduction intro bio profile caption opinion"
        " assessment evaluation verdict judgment judgement disclaimer tip purpose motivation"
        " objective headline recommendation suggestion advice"
    )
)
"""Words of columns of texts that are about a sample, whatever the texts look like."""

_PARTS = frozenset(_list("choice step turn call"))
"""Words of these that also name the parts of a log, in which answers and documents are."""
_CHECKS = frozenset(_list("eval guardrail moderation safety"))
"""Words of objects with what other tools say of an answer."""

_REWORDED = frozenset(_list("paraphrase rewritten rewrite"))
"""Words of lists of questions or answers in other words; one text may be an answer."""


def describes(words: Sequence[str]) -> bool:
    """Return whether the words of a name are those of a property or of a text for developers."""
    if not words or words[-1] in _NO_TEXT or not _OF_DEVELOPERS.isdisjoint(words):
        return True
    return "system" in words and (len(words) == 1 or words[-1] in _OF_A_SYSTEM)


def is_apart_from_remarks(keys: Sequence[str]) -> bool:
    """Return whether no key of a path says that what it leads to is about a sample, as what is
    within `scores`, `feedback` or `claims` is."""
    *outer, last = map(words_of, keys)
    # `systems` has what each of them wrote, while what is under `system` alone is said to it.
    about = any(describes(words) for words in outer if words != ("system",)) or describes(last)
    aside = (_ABOUT - _PARTS) | _CHECKS
    return not about and aside.isdisjoint(chain(last, *outer))


def is_of_a_system(words: Words) -> bool:
    """Return whether a name is that of what a system says: its instructions, or its answers."""
    return len(words) == 2 and words[0] == "system" and words[1] in _OF_A_SYSTEM - {"prompt"}


def is_generic(words: Words) -> bool:
    """Return whether a name says nothing of its own, such as `text`."""
    return not set(words) - _GENERIC


def names_ids(words: Sequence[str]) -> bool:
    """Return whether the words of a name are those of ids, of files or of addresses."""
    return bool(words) and words[-1] in _IDS


def is_gold(words: Collection[str]) -> bool:
    """Return whether words of a name say that something is a reference, written by people."""
    gold = _GOLD.intersection(words)
    if "citation" in words:
        gold -= {"reference"}  # what a citation refers to
    return bool(gold) and "retrieved" not in words


def names_a_gold_text(words: Collection[str]) -> bool:
    """Return whether words of a name say that it has reference texts, and not only that something
    is right, as `Correct?` does."""
    return not _PLAIN_ANSWER.isdisjoint(words) or not (_GOLD - _RIGHT).isdisjoint(words)


def speaks_of_documents(words: Collection[str], *, listed: bool = False) -> bool:
    """Return whether one of these words says that something is a document.

    Args:
        words: The words of a name.
        listed: Whether the name is that of a list, of which more words are meant so.
    """
    if not listed or not _DOCUMENT.isdisjoint(words):
        return not _DOCUMENT.isdisjoint(words)
    telling = set(words) - _GENERIC or set(words)
    return not _DOCUMENT_IN_A_LIST.isdisjoint(telling)


def names_documents(name: str, *, in_sentences: bool) -> bool:
    """Return whether the last key of a path says that it leads to documents.

    Args:
        name: The key.
        in_sentences: Whether it leads to one text of several words, of which more names are meant
            so. A `result` is more likely an answer, and `results` are what was found.
    """
    words = words_of(name)
    if not words or words[-1] in _SPOKEN or words[-1] in _QUESTION:
        return False
    if not _DOCUMENT.isdisjoint(words):
        return True
    weak = _DOCUMENT_IN_A_LIST - _GENERIC
    if is_singular(name):
        weak -= {"result"}
    return in_sentences and not weak.isdisjoint(words)


def may_have_passages(name: str) -> bool:
    """Return whether a column of whole sentences may be that of passages by its name, as `body` is,
    and as `ticket_body` and `answer_text` are not."""
    words = words_of(name)
    if not words or describes(words) or is_gold(words):
        return False
    return set(words) <= _CONTENT or names_documents(name, in_sentences=True)


def names_gold_documents(name: str) -> bool:
    """Return whether a name says that documents are those that people chose, as `gold_passages`
    are."""
    words = words_of(name)
    return is_gold(words) and speaks_of_documents(words) and not describes(words)


def is_singular(name: str) -> bool:
    """Return whether the last word of a name is singular."""
    return _without_accents(name).endswith(words_of(name)[-1:] or ("",))


def by_a_system(name: str) -> bool:
    """Return whether a name says that a system wrote the text."""
    return not _SYSTEM.isdisjoint(words_of(name))


def names_a_field(name: str) -> bool:
    """Return whether a name says that it has questions, answers, references or documents."""
    words = set(words_of(name))
    return not words.isdisjoint(_PLAIN_ANSWER | _GOLD | _DOCUMENT | {*_QUESTION})


def answers(name: str) -> bool:
    """Return whether the name of a column says that it has answers, whatever they look like.

    The last word says what a column is: `answer_quality` is a quality, and `answer_text` and
    `answer_a` are answers.
    """
    words = words_of(name)
    if is_gold(words) or describes(words) or "tool" in words:
        return False
    head = words[-1] in _PLAIN_ANSWER or words[-1] in _GENERIC or len(words[-1]) == 1
    return head and not _PLAIN_ANSWER.isdisjoint(words)


def may_answer(name: str) -> bool:
    """Return whether the name of a column of whole sentences may be that of answers."""
    words = words_of(name)
    if is_gold(words) or describes(words) or speaks_of_documents(words):
        return False
    return not _PLAIN_ANSWER.isdisjoint(words)


def may_sum_up(name: str) -> bool:
    """Return whether a column of sentences that speak of the answer may be that of answers: a
    `summary` may also be that of a talk."""
    words = words_of(name)
    aside = _ABOUT - {"summary"}
    if is_gold(words) or describes(words) or speaks_of_documents(words):
        return False
    if not aside.isdisjoint(words):
        return False
    return not {"result", "summary"}.isdisjoint(words)


def may_reply(name: str) -> bool:
    """Return whether a column of sentences about the question may be that of answers, as `gpt-4o`
    and `ours` are, and as `model` is not if it has names."""
    words = words_of(name)
    others = _ABOUT | _GOLD | _DOCUMENT | ({*_QUESTION} - _GENERIC)
    aside = not others.isdisjoint(words)
    if not words or aside or (describes(words) and words[-1] not in _NAMED_AFTER):
        return False
    return not _REPLYING.isdisjoint(words)


def says_nothing_of_its_kind(name: str) -> bool:
    """Return whether a name does not say what texts are: no field of a sample, and nothing about
    one."""
    words = words_of(name)
    fields = _PLAIN_ANSWER | _DOCUMENT | {*_QUESTION}
    known = describes(words) or is_gold(words) or not fields.isdisjoint(words)
    return not known and _ABOUT.isdisjoint(words)


def says_nothing_of_a_list(name: str, *, in_sentences: bool = False) -> bool:
    """Return whether a name does not say what a list of texts is: `sentences` may be those of a
    document, `inputs` what a model was given, and `candidates` what was found.

    Args:
        name: The name.
        in_sentences: Whether the texts are whole sentences.
    """
    words = words_of(name)
    if words == ("input",):
        return True
    if not _REWORDED.isdisjoint(words):
        return False
    aside = _ABOUT - {"sentence"}
    telling = set(words) - {"sentence", "candidate"}
    if in_sentences and words[-1:] and words[-1] in _NO_SENTENCE:
        telling -= _NO_SENTENCE
    elif words[-1:] != ("sentence",) and "candidate" not in words:
        return says_nothing_of_its_kind(name)
    if not aside.isdisjoint(words):
        return False
    return not telling or says_nothing_of_its_kind(" ".join(telling))


def rank_of_text(field: str, keys: Sequence[Words]) -> tuple[int, ...] | None:
    """Return how well the keys of a path name the question or the answer, lower is better; None if
    they do not.

    What a document says of itself goes before: the `text` of a `document` is no answer, but the
    `answer` that has `documents` is one.
    """
    words = _WORDS[field]
    last = keys[-1]
    if describes(last) or is_gold(set(chain.from_iterable(keys))):
        return None
    if field == "question" and _is_said_by_a_system(last):
        return None
    matches = _matches(field, keys)
    spoken = max((at for at, each in enumerate(keys) if _SPOKEN & {*each}), default=-1)
    retrieved = max((at for at, each in enumerate(keys) if speaks_of_documents(each)), default=-1)
    if not matches or retrieved > spoken:
        return None
    # a query within the output is the model's, and an answer within the input an example
    other = _WORDS["answer" if field == "question" else "question"]
    crossing = any(_speaks_of(each, other) and not _speaks_of(each, words) for each in keys[:-1])
    return (crossing, min(matches), len(keys), len(last))


def _is_said_by_a_system(words: Words) -> bool:
    """Return whether a message or utterance is that of an assistant, by its name."""
    asking = set(words) & set(_QUESTION)
    return bool(asking) and asking <= _UTTERED and not _SYSTEM.isdisjoint(words)


def _matches(field: str, keys: Sequence[Words]) -> list[int]:
    """Return the places, among the words of a field, of those in the last key, or in the keys above
    if the last one says nothing."""
    words = _WORDS[field]
    last = keys[-1]
    matches = [words.index(word) for word in last if word in words]
    if is_generic(last) and len(keys) > 1:
        matches = []  # what a `text` is stands in the key above
    if not matches and last[-1] in _GENERIC | _SPOKEN:
        matches = _named_above(words, keys)
    if not matches and last == ("message",) and field == "question":
        matches = [words.index("message")]
    return matches


def _speaks_of(words: Words, of: Collection[str]) -> bool:
    return not set(of).isdisjoint(words)


def _named_above(words: Sequence[str], keys: Sequence[Words]) -> list[int]:
    above: list[int] = []
    for each in keys[:-1]:
        above += [words.index(word) for word in each if word in words and word not in _GENERIC]
    return above
