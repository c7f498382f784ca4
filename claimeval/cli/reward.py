"""`claimeval reward`: what a model of people's preferences thinks of the answers."""

from __future__ import annotations

from claimeval.cli import local_options as lo
from claimeval.cli import options as o


def reward(
    data: o.DataOrRun,
    model: lo.Model = "OpenAssistant/reward-model-deberta-v3-large-v2",
    revision: lo.Revision = None,
    window: lo.Window = None,
    device: lo.Device = "auto",
    dtype: lo.Dtype = "float32",
    batch_size: lo.BatchSize = "auto",
    out: o.Out = None,
    cache: o.Cache = None,
    field: o.Field = None,
    cluster: o.Cluster = None,
    limit: o.Limit = None,
    json: o.Json = False,
) -> None:
    """Rate answers with a reward model: from 0 to 1, the sigmoid of its logit for question and answer. Free, no judge.

    Such models are trained to compare answers to one question: compare systems over the same questions, and read
    nothing into a mean alone. With a run directory the scores are added to that run. Needs `pip install
    'claimeval[local]'`.

    Example: `claimeval reward runs/a --device cuda`
    """
    from claimeval.cli import local_scores
    from claimeval.providers.local.reward import RewardScorer
    from claimeval.types.options import LocalOptions

    scorer = RewardScorer(
        LocalOptions(
            model=model,
            revision=revision,
            context_tokens=window,
            device=device,
            dtype=dtype,
            batch_size=local_scores.batch(batch_size) or "auto",
        )
    )
    local_scores.reward_and_tell(
        scorer, data, out=out, cache=cache, fields=tuple(field or ()), limit=limit, cluster=cluster, as_json=json
    )
