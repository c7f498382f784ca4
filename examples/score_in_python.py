"""Score two samples in Python and print the verdicts.

Needs no key; for numbers to rely on, name an LLM judge.
"""

import claimeval as ce

SAMPLES = [
    {
        "id": "tower",
        "question": "How high is the town hall tower of Moewenburg?",
        "answer": "The tower is 58 metres high. It was designed by Ana Souto.",
        "contexts": [
            "The tower of the old town hall is 58 metres high.",
            "It can be climbed from April to October.",
        ],
        "reference_answers": ["It is 58 metres high."],
    },
    {
        "id": "unknown",
        "question": "Who wound the clock in 1890?",
        "answer": "I could not find that in the documents.",
        "contexts": ["The clock of the tower has been wound by hand since 1871."],
        "reference_answers": ["The documents do not say."],
    },
]

run = ce.score(SAMPLES, judges="local:lexical", metrics=["faithfulness", "correctness"])

faithfulness = run["faithfulness"]
print(
    f"faithfulness {faithfulness.mean}, n {faithfulness.n}, without a score {faithfulness.missing}"
)
for result in run:
    claims = {claim.id: claim for claim in result.claims}
    for assessment in result.assessments:
        if assessment.evidence.part == "contexts":
            label = assessment.unassessed or assessment.label
            print(f"{result.sample.id:8} {label:12} {claims[assessment.subject].text}")
