"""Packet filters of this node, and the folders that it exports over NFS. Mostly only root may read them."""

from __future__ import annotations

import json
import os
import shlex
from typing import Any, Dict, List, Mapping, Tuple

from allranks.core.untrusted import mapping, mappings
from allranks.node.facts import _commands
from allranks.node.facts._commands import text
from allranks.node.facts._reading import Reading, Unreadable


def read(request: Mapping[str, Any], reading: Reading) -> None:
    reading.fact("input", read_input)
    reading.fact("exports", read_exports)


def read_input() -> Dict[str, Any]:
    """How this node treats a new TCP connection from elsewhere: `policy`, and the ports that rules accept.

    Raises `Unreadable` if the filters may not be read.
    """
    reasons = []
    for argv, parse in (
        (["nft", "-j", "list", "ruleset"], parse_nft),
        (["iptables", "-S", "INPUT"], parse_iptables),
    ):
        try:
            done = _commands.run(argv, 5.0)
        except Unreadable as error:
            reasons.append(str(error))
            continue
        if done.code == 0:
            found = parse(done.out)
            if found["chains"]:
                return found
            reasons.append("")
        else:
            reasons.append(f"{argv[0]}: {done.first_line}")
    told = [reason for reason in reasons if reason]
    if len(told) == len(reasons) and not all("is not installed" in reason for reason in told):
        raise Unreadable("; ".join(told))
    # Neither tool, or no input chain: no known filter is here.
    return unfiltered()


def read_exports() -> List[Dict[str, str]]:
    """The folders that this node serves over NFS, with their options."""
    for path in ("/var/lib/nfs/etab", "/etc/exports"):
        if os.path.exists(path):
            return parse_exports(text(path))
    return []


# ---- parsers ----


def unfiltered() -> Dict[str, Any]:
    return {"policy": "accept", "chains": 0, "rejects": False, "ports": [], "everything_from": []}


def parse_iptables(output: str) -> Dict[str, Any]:
    """`iptables -S INPUT`: policy, accepted ports (as `39500` or `29500:29600`), and what is let in altogether: a
    network, `interface ib0`, or `anywhere`."""
    found = unfiltered()
    for row in output.splitlines():
        words = row.split()
        if words[:2] == ["-P", "INPUT"] and len(words) == 3:
            found["policy"] = words[2].lower()
            found["chains"] += 1
        elif row.startswith("-A INPUT "):
            _iptables_rule(row, found)
    return found


_SILENT = ("-A", "-m", "-j", "--comment", "--reject-with")
"""Options, each with one value, that do not limit what a rule applies to."""
_EVERY_PROTOCOL = ("tcp", "all", "6", "0")


def _iptables_rule(row: str, found: Dict[str, Any]) -> None:
    options, conditional = _options(row)
    verdict = options.get("-j", options.get("-g", ""))
    ports = options.get("--dport") or options.get("--dports")
    state = options.get("--ctstate") or options.get("--state")
    if options.get("-p", "all") not in _EVERY_PROTOCOL or (state and "NEW" not in state.split(",")):
        return  # nothing about a new TCP connection
    source, interface = options.get("-s"), options.get("-i")
    if verdict in ("DROP", "REJECT"):
        found["rejects"] |= not (ports or source or interface or conditional)
    elif verdict == "ACCEPT" and ports:
        found["ports"] += ports.split(",")
    elif verdict == "ACCEPT" and not conditional and (source is None or interface is None):
        found["everything_from"].append(source or (f"interface {interface}" if interface else "anywhere"))
    elif verdict not in ("ACCEPT", "LOG", "RETURN", ""):
        found["ports"].append(f"chain {verdict}")  # rules of its own, which are not followed here


def _options(row: str) -> Tuple[Dict[str, str], bool]:
    """The options of a rule that are understood here, and whether it has other conditions too."""
    try:
        words = shlex.split(row)
    except ValueError:
        return {}, True
    known = ("-p", "-s", "-i", "-g", "--dport", "--dports", "--ctstate", "--state", *_SILENT)
    options: Dict[str, str] = {}
    conditional, place = False, 0
    while place < len(words):
        if words[place] in known and place + 1 < len(words):
            options[words[place]] = words[place + 1]
            place += 2
        else:
            conditional, place = True, place + 1
    return options, conditional


def parse_nft(output: str) -> Dict[str, Any]:
    """`nft -j list ruleset`: chains that hook `input`, and the ports that their rules accept."""
    try:
        entries = mappings(json.loads(output)["nftables"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Unreadable("nft printed no JSON ruleset") from None
    found, names = unfiltered(), set()
    for chain in (mapping(entry.get("chain")) for entry in entries):
        if chain.get("hook") == "input":
            names.add((chain.get("family"), chain.get("table"), chain.get("name")))
            found["chains"] += 1
            if chain.get("policy") == "drop":
                found["policy"] = "drop"
    for rule in (mapping(entry.get("rule")) for entry in entries):
        if (rule.get("family"), rule.get("table"), rule.get("chain")) in names:
            _nft_rule(rule.get("expr"), found)
    return found


_VERDICTS = ("accept", "drop", "reject", "jump", "goto")


def _nft_rule(expressions: Any, found: Dict[str, Any]) -> None:
    parts = mappings(expressions)
    verdict = next((name for part in parts for name in _VERDICTS if name in part), "")
    hidden = any("xt" in part and mapping(part["xt"]).get("name") != "comment" for part in parts)
    if hidden and verdict not in ("jump", "goto"):
        return  # a condition of iptables that nft does not spell out
    matches = [part["match"] for part in parts if isinstance(part.get("match"), dict)]
    ports = [m.get("right") for m in matches if '"dport"' in json.dumps(m.get("left"))]
    if verdict in ("drop", "reject") and not matches:
        found["rejects"] = True
    elif verdict == "accept" and ports:
        found["ports"] += _nft_ports(ports)
    elif verdict == "accept" and matches:
        left = json.dumps(matches[0].get("left"))
        if len(matches) == 1 and matches[0].get("op", "==") in ("==", "in"):
            told = _nft_sources(matches[0].get("right"))
            if '"saddr"' in left:
                found["everything_from"] += told
            elif '"iifname"' in left or '"iif"' in left:
                found["everything_from"] += [f"interface {one}" for one in told]
    elif verdict == "accept" and not matches:
        found["everything_from"].append("anywhere")
    elif verdict in ("jump", "goto"):
        found["ports"].append("chain")  # rules of its own, which are not followed here


def _nft_sources(right: Any) -> List[str]:
    """Addresses, networks or names: one, or a set of them."""
    items = right.get("set", [right]) if isinstance(right, dict) else [right]
    found = []
    for item in items if isinstance(items, list) else []:
        prefix = mapping(mapping(item).get("prefix"))
        found += ["%s/%s" % (prefix.get("addr"), prefix.get("len"))] if prefix else []
        found += [item] if isinstance(item, str) else []
    return [one[:80] for one in found]


def _nft_ports(values: List[Any]) -> List[str]:
    found = []
    for value in values:
        items = value.get("set", [value]) if isinstance(value, dict) else [value]
        for item in items if isinstance(items, list) else []:
            if isinstance(item, int):
                found.append(str(item))
            elif isinstance(item, dict) and isinstance(item.get("range"), list) and len(item["range"]) == 2:
                found.append(f"{item['range'][0]}:{item['range'][1]}")
    return found


def parse_exports(content: str) -> List[Dict[str, str]]:
    """exports(5): one entry a client: `path`, `client`, `options`."""
    found = []
    for row in content.splitlines():
        row = row.partition("#")[0].strip()
        words = row.split()
        if not words or not words[0].startswith("/"):
            continue
        for client in words[1:]:
            name, _, options = client.partition("(")
            found.append({"path": words[0], "client": name or "*", "options": options.rstrip(")")})
    return found[:256]
