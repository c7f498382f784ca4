"""Score one answer through each SDK against a server on this machine, and print the mean and the
number of requests."""

from __future__ import annotations

import os

import claimeval as ce
from claimeval.testing import claims_reply, provider, verdicts_reply

SAMPLE = {
    "id": "tower",
    "question": "How high is the tower?",
    "answer": "The tower is 58 metres high. It was designed by Ana Souto.",
    "contexts": ["The tower of the old town hall is 58 metres high."],
}


def reply(text: str) -> str:
    """Return two claims, or one supported and one that is not in the contexts."""
    if '"verdicts"' in text:
        return verdicts_reply(["supported", "not_found"])
    return claims_reply("The tower is 58 metres high.", "It was designed by Ana Souto.")


def main() -> None:
    """Score, and print."""
    os.environ["CLAIMEVAL_ENDPOINT_KEY"] = "for-this-machine"
    for sdk in ("openai", "mistral"):
        with provider(reply) as server:
            run = ce.score([SAMPLE], judges=f"{sdk}:model@{server.url}", metrics="faithfulness")
            print(sdk, run["faithfulness"].mean, len(server.requests))


if __name__ == "__main__":
    main()
