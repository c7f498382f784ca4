"""Two judges over the same claims. Start two OpenAI-compatible servers, or name judges that you
have keys for:

python examples/panel.py openai:gpt-5-mini mistral:mistral-large-latest
"""

import sys

import claimeval as ce
from claimeval.types.bundled import bundled

judges = sys.argv[1:] or ["local:lexical"]
run = ce.score(bundled("demo.jsonl"), judges=judges, metrics=["faithfulness"])
print(f"{' + '.join(judges)}: faithfulness {run['faithfulness'].mean:.3f}")
divided = [a for result in run.results for a in result.assessments if a.unassessed == "tie"]
print(f"{len(divided)} claims on which the judges are evenly divided")
