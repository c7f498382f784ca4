"""A custom metric: do answers follow the policy? It is one record; no code of claimeval changes."""

import claimeval as ce

SAMPLE = {
    "id": "refund",
    "question": "Can I return the lamp after five weeks?",
    "answer": "Lamps can be returned within 30 days. The shipping costs are refunded.",
    "contexts": [
        "Lamps can be returned within 30 days of delivery. The shipping costs are refunded."
    ],
    "evidence": {
        "policy": [
            "Lamps can be returned within 30 days. Nothing is said on shipping to customers."
        ]
    },
}

on_policy = ce.Metric(
    name="on_policy", claims_of="answer", against="policy", description="answer keeps to the rules"
)
run = ce.score([SAMPLE], judges=["local:lexical"], metrics=["faithfulness", on_policy])
for name, score in run.results[0].scores.items():
    print(f"{name}: {score.hits} of {score.judged} judged claims supported, {score.total} claims")
