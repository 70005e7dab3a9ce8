"""A whole probe: TCP first, then the collectives, each only if the one before it has passed."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from allranks.checks.phrases import listed
from allranks.core import Facts, Finding, stopping_launch
from allranks.plan import Plan
from allranks.plan.environment import environment
from allranks.probe import collective, rdma, tcp
from allranks.probe.judge import judge
from allranks.probe.results import OK, Collective, Ear, Pair, Results
from allranks.probe.rounds import MOST_ROUNDS, chosen, tournament
from allranks.probe.steps import Step, proposed, steps
from allranks.spec import Run
from allranks.transport import Nodes
from allranks.transport.nodes import AT_ONCE

Say = Callable[[str], None]


@dataclass(frozen=True)
class Options:
    """`python` is the training environment's, `pythons` are those of nodes with another one. `most_rounds` None means
    all pairs. `seconds` is how long one direction of a pair is measured; 0: not at all."""

    python: str = "python3"
    pythons: Mapping[str, str] = field(default_factory=dict)
    torch: bool = True
    most_rounds: int | None = MOST_ROUNDS
    streams: int = 4
    seconds: float = 0.3
    import_seconds: float = 180.0
    join_seconds: float = 45.0


@dataclass(frozen=True)
class Probed:
    """The results, the findings, and what the ranks' environment should hold: `{"all": …, "nodes": …}`."""

    results: Results
    findings: tuple[Finding, ...]
    environment: Mapping[str, Mapping[str, Any]]

    def as_json(self) -> dict[str, Any]:
        return {
            **self.results.as_json(),
            "findings": [finding.as_json() for finding in self.findings],
            "environment": dict(self.environment),
        }


async def probe(nodes: Nodes, run: Run, plan: Plan, options: Options, say: Say = lambda text: None) -> Probed:
    """Probes the network between the nodes, in bounded time. An error of a node is a result, and not raised."""
    began = time.monotonic()
    asked = tcp.Asked(
        key=secrets.token_hex(32),
        head=run.cluster.head.name,
        port=run.network.port,
        interfaces=told_interfaces(run, plan),
        streams=options.streams,
        seconds=options.seconds,
        listen_seconds=listen_seconds(nodes, options),
    )
    results = await over_tcp(nodes, run, asked, options, say)
    found = told_environment(run, plan, results.ears)
    if options.torch:
        results = await over_torch(nodes, run, plan, results, found, options, say)
    else:
        results = replace(results, skipped={**results.skipped, "torch": "not requested"})
    results = replace(results, seconds=time.monotonic() - began)
    best = proposed(results.collectives)
    if best is not None:
        found = {**found, "all": {**found["all"], **best.environment}}
    return Probed(results, tuple(judge(results, run)), found)


def listen_seconds(nodes: Nodes, options: Options) -> float:
    """Longer than the probe can take; a listener that nobody ends stops then. The first listener waits until the last
    one has begun, and a node may need the whole limit in each round."""
    count = len(nodes.nodes)
    turns = math.ceil(count / AT_ONCE)
    rounds = len(chosen(list(nodes.nodes), options.most_rounds)) + tcp.MOST_AGAIN
    dials = (2 if count >= tcp.MANY_NODES else 1) * tcp.dial_limit(count)
    return turns * (tcp.OPEN_SECONDS + dials) + rounds * tcp.measure_limit(options.seconds)


async def over_tcp(nodes: Nodes, run: Run, asked: tcp.Asked, options: Options, say: Say) -> Results:
    names = tuple(node.name for node in run.cluster.nodes)
    rounds = chosen(names, options.most_rounds)
    async with tcp.Listeners(nodes, asked) as listeners:
        ears = listeners.ears
        say(f"{len(ears)} of {len(names)} nodes listen")
        dials, unreached = await tcp.dial_all(nodes, ears, asked)
        passed = sum(dial.outcome == OK for dial in dials)
        say(f"{passed} of {len(dials)} connections work")
        results = Results(
            nodes=names,
            ears=ears,
            dials=tuple(dials),
            unreached={**listeners.unreached, **unreached},
            all_pairs_measured=len(rounds) == len(tournament(names)),
        )
        if options.seconds > 0 and rounds:
            links, silent = await tcp.measure_rounds(nodes, ears, asked, rounds, dials)
            results = replace(results, unreached={**results.unreached, **silent})
            say(f"{len(links)} directions measured in {len(rounds)} rounds")
            results = results.with_links(links)
            results = results.with_links(await tcp.measure_again(nodes, ears, asked, results.links))
            results = await over_rdma(nodes, results, rounds, say)
    return results


async def over_rdma(nodes: Nodes, results: Results, rounds: Sequence[Sequence[Pair]], say: Say) -> Results:
    """`ib_write_bw` between the same pairs, if every node has a device."""
    if not results.ears or not all(ear.rdma > 0 for ear in results.ears.values()):
        return results
    links, reason = await rdma.measure_rounds(nodes, results.ears, rounds)
    if reason:
        return replace(results, skipped={**results.skipped, "ib_write_bw": reason})
    rates = [link.bytes_per_second for link in links if link.bytes_per_second]
    if rates:
        of_all = f"{len(rates)} of {len(links)} pairs over RDMA"
        say(f"{of_all}, {min(rates) / 1e9:.1f} to {max(rates) / 1e9:.1f} GB/s")
    return replace(results, rdma=tuple(links))


async def over_torch(
    nodes: Nodes,
    run: Run,
    plan: Plan,
    results: Results,
    found: Mapping[str, Mapping[str, Any]],
    options: Options,
    say: Say,
) -> Results:
    """The collectives, one by one, until one does not pass. None of them if TCP has shown that it would hang."""
    against = stopping_launch(judge(results, run), run.accept)
    if against:
        return replace(results, skipped={**results.skipped, "torch": f"{against[0].id} prevents it"})
    head = results.ears.get(run.cluster.head.name)
    port = (head and head.rendezvous_port) or run.network.rendezvous_port
    done: list[Collective] = []
    without = [ear.node for ear in results.ears.values() if not ear.nvidia]
    if 0 < len(without) < len(results.ears):
        reason = f"the driver of {listed(without)} lists no GPU: the collectives went over gloo"
        results = replace(results, skipped={**results.skipped, "nccl": reason})
    has_rdma = all(ear.rdma > 0 for ear in results.ears.values())
    for step in steps(run, on_gpus(plan, results.ears), has_rdma):
        ranks = collective.Ranks(
            key=secrets.token_hex(32),
            python={name: options.pythons.get(name, options.python) for name in results.nodes},
            master=(run.cluster.head.address, port),
            placed=placed(plan, step),
            environment={name: {**found["all"], **found["nodes"].get(name, {})} for name in results.nodes},
            import_seconds=options.import_seconds,
            join_seconds=options.join_seconds,
        )
        one = await collective.run(nodes, step, ranks)
        done.append(one)
        say(f"{step.name}: {'passed' if one.passed else 'did not pass'} in {one.seconds:.1f} s")
        if not one.passed:
            break
    return replace(results, collectives=tuple(done))


def placed(plan: Plan, step: Step) -> dict[str, list[tuple[int, int]]]:
    """Node → its (rank, local rank) in this step, in the order of the plan's ranks."""
    rows = [row for row in plan.ranks if not step.each_node or row["local_rank"] == 0]
    found: dict[str, list[tuple[int, int]]] = {}
    for rank, row in enumerate(rows):
        found.setdefault(str(row["node"]), []).append((rank, int(row["local_rank"])))
    return found


def on_gpus(plan: Plan, ears: Mapping[str, Ear]) -> bool:
    """Whether the ranks are planned on GPUs, and every node's driver lists some."""
    planned = any(row.get("gpu") is not None for row in plan.ranks)
    return planned and bool(ears) and all(ear.nvidia > 0 for ear in ears.values())


def told_interfaces(run: Run, plan: Plan) -> dict[str, str]:
    """The interface that the run file or the environment gives each node's ranks; nothing if the route to the head
    decides, or if NCCL gets a list."""
    found = {}
    for node in run.cluster.nodes:
        planned = {**plan.environment.get("all", {}), **plan.environment.get("nodes", {}).get(node.name, {})}
        nccl = str(planned.get("NCCL_SOCKET_IFNAME") or "")
        exact = nccl if nccl.startswith(("=", "^")) else ""  # any other value is the beginning of a name
        told = str(planned.get("GLOO_SOCKET_IFNAME") or exact)
        if told and not told.startswith("^") and "," not in told:
            found[node.name] = told.lstrip("=")
    return found


def told_environment(run: Run, plan: Plan, ears: Mapping[str, Ear]) -> dict[str, dict[str, Any]]:
    """The ranks' environment with the interface that each node was found to use, as gloo's and NCCL's variables."""
    uses_gpu = any(row.get("gpu") is not None for row in plan.ranks)
    facts = {
        name: Facts(name, 0.0, {"network": {"interface_to_head": ear.interface}})
        for name, ear in ears.items()
    }
    return environment(run, uses_gpu, facts)
