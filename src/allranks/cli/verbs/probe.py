"""Test the network between the nodes: connections, bandwidth, a collective.

Exit code 1 if there is an error, 3 if a part could not be tried. It takes seconds on a few nodes, two minutes
on a hundred, and never hangs.
"""

from __future__ import annotations

import argparse

from allranks.cli.common import (
    above_zero,
    add_file,
    add_hosts,
    add_json,
    at_least_zero,
    load_run,
    positive,
    print_json,
)


def rounds(text: str) -> int | None:
    """A whole number from 1, or `all` as None."""
    return None if text == "all" else positive(text)


TAKES_COMMAND = True
"""The training command comes after `--`, in place of a run file."""


def arguments(parser: argparse.ArgumentParser) -> None:
    add_file(parser)
    add_json(parser)
    add_hosts(parser)
    parser.add_argument("--no-torch", action="store_true", help="test only connections and bandwidth")
    parser.add_argument(
        "--rounds",
        type=rounds,
        default=15,
        metavar="N",
        help="rounds of disjoint pairs that are measured (15: all pairs of 16 nodes), or all",
    )
    parser.add_argument("--streams", type=positive, default=4, help="connections per measured pair (4)")
    parser.add_argument(
        "--seconds",
        type=at_least_zero,
        default=0.3,
        help="how long each direction is measured (0.3); 0: not at all",
    )
    parser.add_argument(
        "--limit",
        type=above_zero,
        default=45.0,
        metavar="SECONDS",
        help="how long a collective may take once all ranks have imported torch (45)",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="also list what is fine")


def call(options: argparse.Namespace) -> int:
    import asyncio
    import sys

    from allranks.core.text import spelt_out
    from allranks.output.terminal import print_findings
    from allranks.runs.inspection import verdict_code

    run = load_run(options)
    quiet = options.json or not sys.stderr.isatty()

    def say(text: str) -> None:
        if not quiet:
            print(spelt_out(text), file=sys.stderr)

    probed = asyncio.run(probed_now(run, options, say))
    if options.json:
        print_json(probed.as_json())
    else:
        for line in table(probed.results):
            print(spelt_out(line))
        print_findings(list(probed.findings), verbose=options.verbose)
    return verdict_code(probed.findings, run.accept)


async def probed_now(run, options: argparse.Namespace, say):
    from allranks.prepare import activate_all
    from allranks.probe import Options, probe
    from allranks.runs.allocation import looking
    from allranks.runs.inspection import planned, python_of

    found = await looking(run, options.accept_new_hosts)
    try:
        activated, _ = await activate_all(found.nodes, found.run, python_of(run))
        wanted = Options(
            python=python_of(run),
            pythons={name: one.python for name, one in activated.items()},
            torch=not options.no_torch,
            most_rounds=options.rounds,
            streams=options.streams,
            seconds=options.seconds,
            join_seconds=options.limit,
        )
        return await probe(found.nodes, found.run, planned(found.run, asks_hub=False), wanted, say)
    finally:
        await found.nodes.close()


def table(results) -> list[str]:
    """The measurements in a few lines: interfaces, bandwidth, latency, collectives."""
    from statistics import median

    from allranks.probe.judge import rate

    lines = [
        f"{ear.node:<16}{ear.interface or '?':<10}{ear.address or 'no address'}"
        for ear in results.ears.values()
    ]
    rates = [link.bytes_per_second for link in results.links if link.bytes_per_second]
    waits = [link.latency for link in results.links if link.latency]
    if rates:
        lines.append(
            f"bandwidth       {rate(min(rates))} to {rate(max(rates))}, median {rate(median(rates))} "
            f"({len(rates)} directions{'' if results.all_pairs_measured else ', not all pairs'})"
        )
    if waits:
        lines.append(
            f"round trip      {min(waits) * 1e6:.0f} to {max(waits) * 1e6:.0f} µs, median {median(waits) * 1e6:.0f} µs"
        )
    lines += devices(results)
    for one in results.collectives:
        speed = f", {rate(one.bytes_per_second)}" if one.bytes_per_second else ""
        lines.append(
            f"{one.name:<16}{one.backend}, {len(one.ranks)} ranks: {'passed' if one.passed else 'did not pass'} "
            f"in {one.seconds:.1f} s{speed}"
        )
    for part, why in results.skipped.items():
        lines.append(f"{part:<16}not tried: {why}")
    return [*lines, ""]


def devices(results) -> list[str]:
    """The compute and copy rates of each device model, from the slowest rank to the fastest."""
    from allranks.probe.rules.device_slow import giga, tera

    ranks = [rank for one in results.collectives for rank in one.ranks if rank.flops and rank.copied]
    lines = []
    for device in dict.fromkeys(rank.device for rank in ranks):
        alike = [rank for rank in ranks if rank.device == device]
        flops = sorted(rank.flops or 0.0 for rank in alike)
        copied = sorted(rank.copied or 0.0 for rank in alike)
        lines.append(
            f"{'devices':<16}{len(alike)} × {device or 'processor'}: {tera(flops[0])} to {tera(flops[-1])}, "
            f"copies {giga(copied[0])} to {giga(copied[-1])}"
        )
    return lines
