"""Fields that a judge's `extra` may add to requests, by what they do."""

from __future__ import annotations

SHAPING = frozenset(
    {
        "frequency_penalty",
        "presence_penalty",
        "repetition_penalty",
        "logit_bias",
        "top_k",
        "top_a",
        "min_p",
        "typical_p",
        "stop",
        "stop_sequences",
        "verbosity",
        "reasoning",
        "thinking",
        "think",
        "enable_thinking",
        "chat_template_kwargs",
        "guided_json",
        "guided_choice",
        "guided_regex",
        "guided_grammar",
        "include_reasoning",
        "keep_alive",
        "ignore_eos",
        "skip_special_tokens",
        "prompt_cache_key",
    }
)
"""Fields of `extra` that shape the reply or how it is made. Where a server refuses a request, one
of these may be left out. All others may say who gets the texts, or may store them, and are always
sent."""
FREE = SHAPING | {
    "user",
    "metadata",
    "store",
    "safety_identifier",
    "cache_control",
    "safe_prompt",
    "safety_settings",
    "service_tier",
    "inference_geo",
    "transforms",
}
"""Fields of `extra` that cost nothing beyond the tokens of prompt and reply, which the caps
count."""
