"""A Ray cluster on this machine in a process of its own: a head without processors and two nodes
with one each.

Called with `alone`, it is a head with one processor and nothing else.

It reads orders, a line each, and answers with a line: `kill node`, `kill asker`, `kill head`.

What shards do not need is not started: the autoscaler's monitor, the dashboard, and agents, of
which every node has two. They would cost ten times as much processor time as the rest of the
cluster.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from typing import Any, cast

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

import ray
from ray._private import node, services
from ray.cluster_utils import Cluster

PORTS = ("metrics_agent_port", "metrics_export_port", "runtime_env_agent_port")
LEAN: dict[str, Any] = {
    "object_store_memory": 100 * 2**20,
    **{port: 1024 + n for n, port in enumerate(PORTS)},
}
"""Little memory, and ports at which nobody listens: a node waits for agents to say which port they
took."""

_start: Any = services.start_ray_process


def start_without_agents(command: list[str], *arguments: Any, **options: Any) -> Any:
    """Start a process of Ray; `cat` is in place of agents, since it also ends when its node
    ends."""
    lean = [re.sub("^(--.*_agent_command=).*", r"\1cat", argument) for argument in command]
    if lean != command:
        lean.append("--dashboard_agent_listen_port=1027")
    return _start(lean, *arguments, **options)


def main() -> None:
    """Serve orders until standard input ends."""
    services.start_ray_process = start_without_agents
    cast(Any, node.Node).start_api_server = lambda *_, **__: None
    alone = "alone" in sys.argv
    head = {"num_cpus": int(alone), "no_monitor": True, "include_log_monitor": False, **LEAN}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    nodes = [cluster.add_node(num_cpus=1, **LEAN) for _ in range(0 if alone else 2)]
    if not alone:  # it would end with its head
        ray.init(cluster.address, log_to_driver=False, logging_level=logging.ERROR)
    print("answer:", cluster.address, flush=True)
    for order in sys.stdin:
        match order.split():
            case ["kill", "node"]:
                cluster.remove_node(nodes.pop(), allow_graceful=False)
            case ["kill", "head"]:
                cluster.remove_node(cast(Any, cluster.head_node), allow_graceful=False)
            case ["kill", "asker"]:
                (named,) = ray.util.list_named_actors(all_namespaces=True)
                ray.kill(ray.get_actor(named["name"], named["namespace"]))
        print("answer: done", flush=True)
    ray.shutdown()
    cluster.shutdown()  # type: ignore[no-untyped-call]  # as Ray has it


if __name__ == "__main__":
    main()
