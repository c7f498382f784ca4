"""What a server refuses of a request, by the fields that its message names.

Hosts say the same refusal in many wordings. So a refusal is recognized by its status, by the name
of a field, and by words near that name that refuse, not by whole sentences. A message that only
mentions a field, such as one that quotes the prompt, refuses nothing.
"""

from __future__ import annotations

import re

from claimeval.types.requests import LONG_REPLY, SCHEMA_BOUNDS, SYSTEM, THINKING, TOKEN_LIMITS

STREAM = "stream"

SETTINGS = (
    "temperature",
    "top_p",
    "seed",
    "random_seed",
    "reasoning_effort",
    "logprobs",
    "top_logprobs",
    "response_format",
    "prompt_cache_key",
    *TOKEN_LIMITS,
)
"""Fields of a request that come from settings: all but `model` and `messages`."""
_NAMED = (*sorted(SETTINGS, key=len, reverse=True), *SCHEMA_BOUNDS)
_NAME = re.compile(rf"(?<![A-Za-z_])(?:{'|'.join(_NAMED)})(?![A-Za-z_]|-\w)", re.IGNORECASE)
_SPELLED = {name.lower(): name for name in _NAMED}
_SCHEMA = re.compile(
    r"json[_ ]?(?:schema|object|mode|output)|structured[_ -]outputs?|output_format|"
    r"response[ _]format|"
    r"tool[_ ]choice|input_schema|guided[_ ](?:json|decoding)|grammar|"
    r"(?:specified|response[_ ]?) ?schema|response[_ ]mime[_ ]type",
    re.IGNORECASE,
)
"""Words for the JSON schema, including Anthropic's for the tool that carries it, and those of local
servers and Gemini, which make a grammar of it."""
_REFUSES = re.compile(
    r"(?:not|n't|un|no longer)[ -]?(?:be |been |currently |yet )?"
    r"(?:support|accept|permit|allow|recogni|available|enabled|implement|configurable|"
    r"adjustable|take\b)|(?:may|can)(?: ?not|n't|'t) (?:specify|set|change)|"
    r"extra_forbidden|extra inputs|unknown (?:name|param|arg|field|key)|unknown|unexpected|"
    r"deprecated|invalid schema|schema is invalid|cannot (?:both )?be|may not be|"
    r"(?:must|should|has to) be (?:omitted|unset|removed|null|strictly|greater than 0|> ?0|1\b)|"
    r"(?:may|can) only be set|only supports? temperature|"
    r"(?:is|are) incompatible|(?:is|are) disabled|only (?:the )?(?:default|accepts?|allows?)|"
    r"enabled only|endpoints? found that (?:support|can handle)|不支持|不允许|"
    r"(?:is|are) fixed|(?:cannot|can't|can not) be (?:set|changed|modified|specified)|"
    r"(?:do|must|should) not (?:be )?(?:set|used?|sent|specified|provided|included)|"
    r"not (?:a )?(?:valid|known) (?:param|arg|field|key|option)|"
    # an open interval leaves out the 0 that claimeval asks for
    r"(?:in|range|between|范围)\W{0,4}[^.;\n]{0,20}[(（]0(?:\.0+)? ?[,，]",
    re.IGNORECASE,
)
_REFUSES_FORMAT = re.compile(
    rf"{_REFUSES.pattern}|not one of|must be (?:one of:? )?['\"`]?(?:text|json)|only supports?|"
    r"(?:failed|unable|error|cannot|can't|could not)[^.]{0,20}(?:pars|compil|convert|generat)|"
    r"is not (?:a )?valid|invalid (?:value|type|response|param)|expected one of|requires? |"
    r"too (?:many (?:states|properties|optional|levels)|complex|deep|large)",
    re.IGNORECASE,
)
"""Words that refuse a format: it has no value that a user set, so any complaint is about ours."""
_NO_SUPPORT = (
    r"(?:(?:not|n't|un|no longer)[ -]?(?:be |been |currently |yet )?"
    r"(?:support|allow|accept|permit|enabled|recogni|implement|available)|"
    r"(?:must|should) not be (?:used|set|sent|provided|present)|不支持)"
)
_NO_SYSTEM = re.compile(
    r"(?:system|developer)['\"`]?[ _-]?(?:role|message|prompt|instruction|field)s?\b[^.;\n]{0,60}?"
    rf"{_NO_SUPPORT}|"
    rf"{_NO_SUPPORT}\w*[^.;\n]{{0,40}}\b(?:system|developer)[ _'\"`-]*"
    r"(?:role|message|prompt|instruction|field)s?\b|"
    rf"\broles?\b[^;\n]{{0,50}}{_NO_SUPPORT}\w*[^.;\n]{{0,20}}['\"`](?:system|developer)['\"`]|"
    r"(?:unexpected|unknown|invalid|unsupported|illegal) (?:value for )?(?:message )?"
    r"['\"`]?roles?['\"`]?[^.;\n]{0,15}\b(?:system|developer)\b|"
    r"\brole\b[^.;\n]{0,20}\b(?:system|developer)\b[^.;\n]{0,25}"
    r"(?:not|invalid|unknown|unsupported|不支持)|"
    r"\brole\b[^.;\n]{0,5}(?:unsupported|invalid|unknown)[^.;\n]{0,15}\b(?:system|developer)\b|系统(?:角色|消息|提示词?)[^.;。；\n]{0,20}不支持|"
    r"不支持[^.;。；\n]{0,20}(?:系统(?:角色|消息|提示)|system\b)|"
    r"roles? must alternate|alternat\w+ (?:between )?['\"`]?user|"
    r"only (?:the )?['\"`]?(?:user|assistant)['\"`]?(?:,|/| and| or)[^.;\n]{0,30}"
    r"['\"`]?(?:assistant|user|model)['\"`]?[^.;\n]{0,20}roles?|"
    r"\brole\w*\b[^;\n]{0,60}(?:should|must) be (?:either )?(?:one of )?[\[(]?"
    r"['\"`]?(?:user|assistant)['\"`]?|"
    r"(?:must|should) (?:start|begin) with (?:a |the )?['\"`]?user|"
    r"first message[^.;\n]{0,30}(?:must|should|to be)[^.;\n]{0,30}['\"`]?user|"
    r"(?:invalid|unsupported|unexpected|got)[^.;\n]{0,25}['\"`](?:system|developer)['\"`]|"
    r"['\"`](?:system|developer)['\"`] is not (?:a )?(?:valid|known|allowed|supported)|"
    r"first role[^.;\n]{0,20}user|roles? other than ['\"`]?user",
    re.IGNORECASE,
)
_MOST_TOKENS = re.compile(
    r"(?:max(?:imum)?[_ ]?(?:completion|new|output)?[_ ]?tokens|maxOutputTokens)(?![A-Za-z_])|"
    r"at most \d{2,7} (?:output|completion|new|generated) tokens|"
    r"\b(?:output|completion|new) tokens\b[^.;\n]{0,20}\brequested|"
    r"\brequested\b[^.;\n]{0,20}\b(?:output|completion|new) tokens",
    re.IGNORECASE,
)
_TOO_MANY = re.compile(
    r"too (?:large|high|big|long)|at most|exceed|(?:less|lower|smaller|greater|more) than|above|"
    r"maximum|range|between|bounds|\[ ?\d|<=|[>≤] ?\d|(?:must|should|can) (?:not )?be|cannot|"
    r"limit|allowed|permitted|capped|up to|非法|范围",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![A-Za-z0-9_-])(?<!\d\.)(\d{2,7})(?![A-Za-z0-9_]|\.\d)")
_GROUPED = re.compile(r"(?<![\w\[(,.-])\d{1,3}(?:,\d{3})+(?![\w,])")
"""A number with marks between its thousands, and no interval such as `[1,4095]`."""
_EXCLUSIVE = re.compile(r"(\d{2,7}) ?\(?exclusive")
_STREAMS_ONLY = re.compile(
    r"(?:only|must|requires?|needs?|has to)\b[^.;\n]{0,40}\bstream(?:ing|=true|ed)?\b|"
    r"\bstream(?:ing)?\b[^.;\n]{0,25}(?:required|must be (?:set to )?true|only)|"
    r"expected ['\"`]?stream['\"`]? to be true|set ['\"`]?stream['\"`]? ?(?:=|to) ?['\"`]?true|"
    r"non-?stream\w*[^.;\n]{0,40}(?:not|un)[ -]?(?:support|allow)",
    re.IGNORECASE,
)
_LOCATION = re.compile(
    r"(?:body[. >-]+)?(?P<name>\w+)(?:\.\w+)*: "
    r"(?:input|value|ensure|this (?:model|value)|expected|must)",
    re.IGNORECASE,
)
"""The place of a field before what is wrong with it, as pydantic and FastAPI write it."""
_THINKS = re.compile(r"enable[_ ]thinking|thinking mode", re.IGNORECASE)
_NOT_THINKING = re.compile(r"not|n't|false|only|disable|stream|unsupported|不支持", re.IGNORECASE)
_QUOTED = re.compile(
    r"(?P<said>(?:message|msg|details?|error|raw|reason|description)\\?['\"]: ?\\?)?"
    r"(?<!\w)(?P<mark>['\"`])(?P<text>(?:(?!(?P=mark)).){60,}?)(?P=mark)(?!\w)",
    re.DOTALL,
)
"""A quotation of a text, in which names stand for themselves. Names of fields are shorter."""
_CLAUSE = re.compile(r"(?<=[.;!?])\s+|\n")


def unquoted(words: str) -> str:
    """Return a message without the texts that it quotes, such as the prompt, and with what another
    server said, whose record it may hold."""
    return _QUOTED.sub(
        lambda quoted: f"{quoted['said']} {unquoted(quoted['text'])}" if quoted["said"] else "...",
        words,
    )


def without_grouping(words: str) -> str:
    """Return a message in which 16,384 is 16384."""
    return _GROUPED.sub(lambda number: number[0].replace(",", ""), words)


def refused_parameters(words: str, parameter: str = "", *, strict: bool = False) -> tuple[str, ...]:
    """Return what a server refuses, by the names in the request; empty for any other error.

    Args:
        words: The server's message.
        parameter: The parameter that its error record names.
        strict: Whether only roles and parameters that are "not supported" count, as with status
            500, whose messages may be about anything.
    """
    # A server may quote the prompt, which may itself say that a temperature is not supported.
    words = unquoted(words)
    place = _LOCATION.match(words)
    if place and not parameter and not strict:
        parameter = place["name"]
    last = parameter.rpartition(".")[2]
    of_role = re.fullmatch(r"(?:.*\.)?role|messages\W.*role", parameter)
    names_system = of_role and re.search("system|developer|user", words, re.I)
    if names_system or _NO_SYSTEM.search(words):
        return (SYSTEM,)
    if not strict and (value := _refused_value(words, last)):
        return (value,)
    named = {last}.intersection(_NAMED)
    return tuple(sorted(named | _refused_by_name(words, strict, format_too=bool(named))))


def _refused_value(words: str, parameter: str) -> str:
    """Return the parameter whose value is refused, while the server knows the parameter: the
    length of a reply, thinking, a reply in one piece. Empty: none of them."""
    clauses = _CLAUSE.split(words)
    # Within one clause: "max_tokens is set. The prompt exceeds the window" refuses no length.
    too_long = any(_MOST_TOKENS.search(c) and _TOO_MANY.search(c) for c in clauses)
    if too_long and (limit := _long_reply(words)):
        return limit
    if _THINKS.search(words) and _NOT_THINKING.search(words):
        return THINKING
    return STREAM if parameter == STREAM or any(map(_STREAMS_ONLY.search, clauses)) else ""


def _refused_by_name(words: str, strict: bool, *, format_too: bool) -> set[str]:
    """Return the parameters that a message refuses by their names.

    Args:
        words: The message.
        strict: Whether only "not supported" refuses.
        format_too: Whether another parameter is refused already, so that a message that also
            names a schema refuses that too.
    """
    names = set[str]()
    refuses = re.compile(_NO_SUPPORT, re.I) if strict else _REFUSES
    refuses_format = refuses if strict else _REFUSES_FORMAT
    clauses = _CLAUSE.split(words)
    for clause in clauses:
        # a list of names may stand in the clause after the one that refuses
        if refuses.search(clause):
            # A long message is a page of help, in which other clauses name parameters that are
            # fine.
            mentioned = _NAME.findall(words if len(clauses) < 4 else clause)
            names.update(_SPELLED[name.lower()] for name in mentioned)
        if _SCHEMA.search(clause) and refuses_format.search(clause):
            names.add("response_format")
    if (names or format_too) and _SCHEMA.search(words) and _REFUSES.search(words):
        names.add("response_format")
    return names


def _long_reply(words: str) -> str | None:
    """Return the name of a refused length with the numbers that may be the limit; None if there is
    none."""
    # "between 1 and 8193 (exclusive)" allows 8,192.
    words = without_grouping(words)
    exclusive = {number: str(int(number) - 1) for number in _EXCLUSIVE.findall(words)}
    numbers = [exclusive.get(number, number) for number in _NUMBER.findall(words)]
    distinct = sorted({int(number) for number in numbers})
    return f"{LONG_REPLY}{','.join(map(str, distinct))}" if distinct else None
