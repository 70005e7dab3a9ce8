"""The report's lower part: the rank map, versions, commands and environments, the run file, and links to more."""

from __future__ import annotations

import json
import os
import shlex
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from allranks.core.text import fold, plural
from allranks.core.untrusted import integer
from allranks.output.report_collect import SOFTWARE
from allranks.output.report_findings import folded
from allranks.output.report_parts import section, state_of
from allranks.output.report_text import MISSING, count, escape, one_line, seconds, share, size

OPEN_RANKS = 48
"""Up to so many ranks, the map is unfolded."""

COMMANDS_BYTES = 1_000_000
"""The limit for all nodes' commands together. The rest is named, not shown."""

Row = Mapping[str, Any]


# ---- ranks ----


def ranks(data: Mapping[str, Any]) -> str:
    """One row per rank: its place and its progress. A column without any value is left out."""
    rows = data["ranks"]
    if not rows:
        return ""
    guilty = ((data.get("diagnosis") or {}).get("where") or {}).get("rank")
    columns = [(name, text) for name, text in COLUMNS if any(text(row) for row in rows)]
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name, _ in columns)
    body = []
    for row in rows:
        style = (
            ' class="gone"' if row["rank"] == guilty else ' class="off"' if row.get("planned_only") else ""
        )
        cells = "".join(f"<td>{escape(text(row) or MISSING, 300)}" for _, text in columns)
        body.append(f"<tr{style}>{cells}")
    table = (
        f'<table class="full left map"><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table>'
    )
    names = sorted({str(row["node"]) for row in rows if row.get("node") is not None})
    what = f"{plural(len(rows), 'rank')} on {plural(len(names), 'node')}"
    if len(rows) <= OPEN_RANKS:
        return section("ranks", "Ranks", f'<div class="wrap">{table}</div>', what)
    shown = f'<details><summary>{what}</summary><div class="wrap">{table}</div></details>'
    return section("ranks", "Ranks", shown, what)


def gpu_text(row: Row) -> str:
    """`A100-SXM4-80GB  0000:07:00.0  GPU-3f2a…`, to identify one card."""
    gpu = row.get("gpu")
    if not isinstance(gpu, Mapping):
        return ""
    name = str(gpu.get("name") or "").replace("NVIDIA ", "")
    return "  ".join(str(part)[:40] for part in (name, gpu.get("bus_id"), gpu.get("uuid")) if part)


def end_text(row: Row) -> str:
    """How the rank ended: its exit code or signal, and the first line of its own exception."""
    if row.get("planned_only") or not row.get("starts"):
        return "never started"
    code = row.get("code")
    text = ""
    if isinstance(code, int) and not isinstance(code, bool):
        text = "ended well" if code == 0 else f"signal {-code}" if code < 0 else f"exit code {code}"
    error = row.get("exception")
    if isinstance(error, Mapping):
        said = one_line(f"{error.get('type')}: {error.get('message')}", 90)
        text = f"{text}, {said}" if text else said
    return text or (f"{row['phase']}, then silent" if row.get("phase") else "silent")


def plain(name: str) -> Callable[[Row], str]:
    def text(row: Row) -> str:
        return "" if row.get(name) is None else str(row[name])

    return text


def formed(name: str, form: Callable[[Any], str]) -> Callable[[Row], str]:
    def text(row: Row) -> str:
        return "" if row.get(name) is None else form(row[name])

    return text


COLUMNS: Tuple[Tuple[str, Callable[[Row], str]], ...] = (
    ("rank", plain("rank")),
    ("node", plain("node")),
    ("local rank", plain("local_rank")),
    ("GPU", gpu_text),
    ("host", plain("host")),
    ("pid", plain("pid")),
    ("step", formed("step", count)),
    ("step time", formed("step_seconds", seconds)),
    ("waiting", formed("waiting_share", share)),
    ("GPU peak", formed("gpu_peak_bytes", size)),
    ("host memory", formed("rss_bytes", size)),
    ("end", end_text),
)


# ---- software ----


def versions(data: Mapping[str, Any]) -> str:
    """Software by node. Equal nodes share a column; differences are marked."""
    by_node: Dict[str, Dict[str, str]] = {}
    for row in data["ranks"]:
        if row.get("node") is not None and row.get("starts"):
            by_node.setdefault(str(row["node"]), versions_of(row))
    groups: Dict[str, List[str]] = {}
    for node, found in by_node.items():
        groups.setdefault(json.dumps(found, sort_keys=True), []).append(node)
    if not groups:
        return ""
    held = [(json.loads(text), names) for text, names in groups.items()]
    table = versions_table(held)
    equal = len(groups) == 1
    what = f"equal on {plural(len(by_node), 'node')}" if equal else f"{len(groups)} different sets"
    opened = "" if equal else " open"
    body = f'<details class="keep"{opened}><summary>{what}</summary><div class="wrap">{table}</div></details>'
    return section("versions", "Software", body)


def versions_of(row: Row) -> Dict[str, str]:
    found = {name: str(row[name]) for name in ("python", *SOFTWARE) if row.get(name) is not None}
    more = row.get("versions")
    if isinstance(more, Mapping):
        found.update({str(k): str(v) for k, v in list(more.items())[:60] if v is not None})
    gpu = row.get("gpu")
    if isinstance(gpu, Mapping) and gpu.get("name"):
        found["GPU"] = str(gpu["name"])
    return found


def versions_table(held: Sequence[Tuple[Dict[str, str], List[str]]]) -> str:
    names = list(dict.fromkeys(name for found, _ in held for name in found))
    head = "".join(f'<th scope="col">{escape(fold(nodes), 300)}</th>' for _, nodes in held[:12])
    body = []
    for name in names:
        values = [found.get(name, MISSING) for found, _ in held[:12]]
        style = ' class="odd"' if len(set(values)) > 1 else ""
        cells = "".join(f"<td>{escape(value, 200)}</td>" for value in values)
        body.append(f'<tr{style}><th scope="row">{escape(name, 100)}</th>{cells}</tr>')
    return f"<table class=left><thead><tr><th></th>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


# ---- commands ----


def commands(data: Mapping[str, Any]) -> str:
    """The command of each node, as for a shell, and the files written beside it."""
    blocks, used, left = [], 0, []
    for node in data["nodes"]:
        text = command_text(node)
        if not text:
            continue
        if used + len(text) > COMMANDS_BYTES:
            left.append(str(node["node"]))
            continue
        used += len(text)
        opened = " open" if not blocks and len(data["nodes"]) <= 4 else ""
        ranks_of = ", ".join(node["ranks"][:64])
        blocks.append(
            f'<details class="keep"{opened}><summary>{escape(node["node"], 200)} <span>rank {escape(ranks_of)}</span>'
            f'</summary><pre class="copyable">{escape(text, COMMANDS_BYTES)}</pre></details>'
        )
    if left:
        blocks.append(
            f'<p class="note">Not shown: {escape(fold(left))}; their job.json in the run directory has them.</p>'
        )
    return section("commands", "Commands and environment", "".join(blocks) + files(data["nodes"]))


def command_text(node: Row) -> str:
    """`cd … && env NAME=value … torchrun …`, one option per line."""
    argv = node["argv"]
    if not argv:
        return ""
    lines = [f"cd {shlex.quote(str(node.get('cwd') or '.'))} &&", "env"]
    lines += [f"  {name}={shlex.quote(value)}" for name, value in sorted(node["env"].items())]
    current = "  "
    for word in argv:
        option = current.startswith("    -")
        if current.strip() and word.startswith("-" if option else "--"):
            lines.append(current)
            current = "    " + shlex.quote(word)
        else:
            current += (" " if current.strip() else "") + shlex.quote(word)
    lines.append(current)
    text = lines[0] + "\n" + " \\\n".join(lines[1:])
    if node["secrets"]:
        text = f"# the environment must hold {', '.join(node['secrets'])}: never written down\n{text}"
    return text


def files(nodes: Sequence[Row]) -> str:
    """The files that the jobs contained; equal ones are shown once."""
    groups: Dict[Tuple[str, str], List[str]] = {}
    for node in nodes:
        held = node.get("files")
        for name, text in held.items() if isinstance(held, Mapping) else ():
            groups.setdefault((str(name), str(text)), []).append(str(node["node"]))
    blocks = []
    for (name, text), names in list(groups.items())[:40]:
        summary = f"{name} on {fold(names)}"
        shown = f'<pre class="copyable">{escape(text, 100_000)}</pre>'
        blocks.append(f'<details class="keep"><summary>{escape(summary, 400)}</summary>{shown}</details>')
    return "".join(blocks)


# ---- the run file, and links to more ----


def run_file(data: Mapping[str, Any]) -> str:
    found = data["run_file"]
    text = found.get("text")
    if not isinstance(text, str) or not text:
        text = json.dumps(found, indent=2, default=str) if found else ""
    if not text:
        return ""
    name = escape(found.get("file") or "as it was read", 400)
    origin = f", from {escape(found['from'], 200)}" if found.get("from") else ""
    shown = f'<pre class="copyable">{escape(text, 400_000)}</pre>'
    body = f'<details class="keep"><summary>{name}{origin}</summary>{shown}</details>'
    return section("run-file", "Run file", body)


def more(data: Mapping[str, Any]) -> str:
    """The places of the logs, and the commands that show more."""
    ident = str(data["state"].get("id") or os.path.basename(data["directory"].rstrip("/")))
    names = [str(node["node"]) for node in data["nodes"]]
    where = os.path.join(data["directory"], "nodes", "NODE", "logs")
    rows = []
    if names:
        rows.append(
            f"<dt>logs of the ranks</dt><dd><code>{escape(where)}/rank-R.log</code>, on each node</dd>"
        )
    rows.append(
        f"<dt>journal</dt><dd><code>{escape(os.path.join(data['directory'], 'keeper'))}/journal.jsonl</code></dd>"
    )
    if data["state"].get("output_dir"):
        rows.append(f"<dt>checkpoints</dt><dd><code>{escape(data['state']['output_dir'])}</code></dd>")
    text = "\n".join(command for command in further(data, ident) if command)
    return section(
        "more",
        "More",
        f'<dl class="facts">{"".join(rows)}</dl><pre class="copyable">{escape(text)}</pre>{unread(data)}',
    )


def further(data: Mapping[str, Any], ident: str) -> List[Optional[str]]:
    quoted = shlex.quote(ident)
    guilty = ((data.get("diagnosis") or {}).get("where") or {}).get("rank")
    worst = [g.text("id") for g in folded(data["findings"]) if g.verdict in ("block", "unknown", "warn")]
    ids = list(dict.fromkeys(worst))[:3]
    failed = state_of(data) in ("failed", "lost")
    return [
        f"allranks logs {quoted} --rank {guilty}"
        if integer(guilty) is not None
        else f"allranks logs {quoted}",
        f"allranks diagnose {quoted}" if failed else None,
        f"allranks checkpoints verify {quoted}" if data["adapter"].get("path") else None,
        *[f"allranks explain {shlex.quote(one)}" for one in ids if one],
        f"allranks clean {quoted}" if state_of(data) != "running" else f"allranks stop {quoted}",
    ]


def unread(data: Mapping[str, Any]) -> str:
    """The parts that this report could not read, so that a reader does not think that they do not exist."""
    if not data["unreadable"]:
        return ""
    lines = "\n".join(escape(line) for line in data["unreadable"][:100])
    return f'<p class="note">This report could not read:</p><pre>{lines}</pre>'
