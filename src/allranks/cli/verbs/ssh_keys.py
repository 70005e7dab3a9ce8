"""Put your public SSH key on nodes that do not accept it yet.

It shows the one line that each node's ~/.ssh/authorized_keys would get, asks, and calls ssh-copy-id, which asks
for the passwords itself. Nothing is removed. It stops at an unknown or changed host key. Exit code 0 if every node
accepts the key at the end, otherwise 1.
"""

from __future__ import annotations

import argparse
import shlex
import sys

from allranks.cli.common import add_hosts, add_json, agreed, print_json


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("nodes", metavar="NODES", help="node names, a hostfile, a run file or a run's id")
    add_json(parser)
    add_hosts(parser)
    parser.add_argument("--user", metavar="NAME", help="the user that logs in, if NODES does not name one")
    parser.add_argument(
        "--key",
        metavar="FILE.pub",
        help="the public key; by default ~/.ssh/id_ed25519.pub, id_ecdsa.pub or id_rsa.pub",
    )
    parser.add_argument("-n", "--dry-run", action="store_true", help="print the commands; change nothing")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def call(options: argparse.Namespace) -> int:
    from dataclasses import replace

    from allranks.core.net import is_loopback
    from allranks.core.text import fold, spelt_out
    from allranks.runs import ssh_keys
    from allranks.runs.node_targets import Access, open_targets
    from allranks.transport import folded

    key = ssh_keys.public_key(options.key)
    opened = open_targets(options.nodes, Access(user=options.user)).nodes.values()
    nodes = [replace(node, user=node.user or options.user) for node in opened]
    nodes = [node for node in nodes if not is_loopback(node.address) or node.port]
    accept_new = options.accept_new_hosts
    refused = ssh_keys.lacking(nodes, key, accept_new)
    wanting = [node for node in nodes if ssh_keys.asks_for_key(refused.get(node.name, ""))]
    commands = [ssh_keys.copy_command(node, key, accept_new) for node in wanting]
    if not options.json:
        for names, why in folded(
            (name, why) for name, why in refused.items() if not ssh_keys.asks_for_key(why)
        ):
            print(spelt_out(f"{names}  {why}"), file=sys.stderr)
        if wanting:
            print(
                spelt_out(
                    f"{fold(node.name for node in wanting)}: ~/.ssh/authorized_keys would get this line:"
                )
            )
            print(spelt_out(f"  {key.line}"))
            for command in commands:
                print(spelt_out(f"  {shlex.join(command)}"))
    if wanting and not options.dry_run:
        if not agreed(f"add it on {len(wanting)} nodes?", options.yes):
            return 1
        for node in wanting:
            ssh_keys.copy(node, key, accept_new)
        refused = {**refused, **dict.fromkeys([node.name for node in wanting], "")}
        refused.update(ssh_keys.lacking(wanting, key, accept_new))
        refused = {name: why for name, why in refused.items() if why}
    if options.json:
        found = [{"node": node.name, "accepts": node.name not in refused} for node in nodes]
        print_json({"key": key.line, "nodes": found, "refused": refused, "commands": commands})
    elif not refused:
        print("every node accepts your key.")
    elif not options.dry_run:
        print(spelt_out(f"{fold(refused)}: your key is not accepted."), file=sys.stderr)
    return 1 if refused else 0
