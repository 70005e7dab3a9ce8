"""The same failure as it comes from many tools: what stands before its lines, how they are wrapped, names of files.

Two machines with four ranks each. One rank raises an exception, the others lose their peer. Machine and rank are told
by the tool alone if it knows them, else by what torch itself prints before a line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import NamedTuple

HOSTS = ("a100-node-1", "h100-node-1")
Files = list[tuple[str, str]]
"""(text, name of the file) of each log."""

PEER = "RuntimeError: [gloo/transport/tcp/pair.cc:561] Connection closed by peer [10.0.0.9]:6784"


class Story(NamedTuple):
    """Who fails, and with which last line of a traceback; ranks 0 to 3 are on the first host."""

    culprit: int = 6
    error: str = "KeyError: 'labels'"

    def printed(self, rank: int) -> list[str]:
        """What one rank prints, without a prefix."""
        lines = ["process group ready", *(f"step {n} loss {3 - n / 10:.2f}" for n in range(3))]
        error = self.error if rank == self.culprit else PEER
        frames = ['  File "/srv/train.py", line 30, in <module>', "    main()"]
        return [*lines, "Traceback (most recent call last):", *frames, error]

    def events(self, labelled: bool = True) -> Iterator[tuple[str, int, int, str]]:
        """(host, rank, second, line) in the order in which they happen: the culprit's traceback comes a second before
        the others'. `labelled`: torch's own `[rank6]: ` stands before the lines of a traceback."""
        told = {rank: self.printed(rank) for rank in range(8)}
        for number in range(4):
            for rank in range(8):
                yield HOSTS[rank // 4], rank, number, told[rank][number]
        others = [rank for rank in (4, 0, 1, 2, 3, 5, 6, 7) if rank != self.culprit]
        for second, ranks in ((10, [self.culprit]), (11, others)):
            for rank in ranks:
                for line in told[rank][4:]:
                    yield HOSTS[rank // 4], rank, second, f"[rank{rank}]: {line}" if labelled else line


Form = Callable[[str, int, int, str], str]


def one(story: Story, form: Form, name: str = "job.log", labelled: bool = True) -> Files:
    return [("".join(form(*event) + "\n" for event in story.events(labelled)), name)]


def many(
    story: Story,
    name: Callable[[str, int], str],
    form: Form = lambda host, rank, second, line: line,
    labelled: bool = False,
) -> Files:
    """One file for each name that hosts and ranks make."""
    found: dict[str, str] = {}
    for host, rank, second, line in story.events(labelled):
        key = name(host, rank)
        found[key] = found.get(key, "") + form(host, rank, second, line) + "\n"
    return [(text, key) for key, text in sorted(found.items())]


def iso(second: int, tail: str = "Z", fraction: str = ".250000000") -> str:
    return f"2026-01-05T10:11:{second:02}{fraction}{tail}"


def epoch(second: int) -> int:
    return 1767607860 + second


def pod(host: str) -> str:
    return "sft-worker-" + str(HOSTS.index(host))


def blocks(story: Story, header: Callable[[str], list[str]]) -> Files:
    """One text in which each machine's lines stand under a heading."""
    parts = [(text.splitlines(), host) for text, host in many(story, lambda host, rank: host, labelled=True)]
    return [("\n".join(line for lines, host in parts for line in [*header(host), *lines]) + "\n", "all.log")]


def tail_of_ranks(story: Story) -> Files:
    parts = many(story, lambda host, rank: f"logs/rank-{rank}.log")
    return [("\n".join(f"==> {name} <==\n{text}" for text, name in parts), "x.txt")]


FORMS: dict[str, Callable[[Story], Files]] = {
    "one file a rank": lambda story: many(story, lambda h, r: f"logs/rank-{r}.log"),
    "one file a rank in a folder a machine": lambda story: many(story, lambda h, r: f"out/{h}/rank_{r}.err"),
    "rank in the text": lambda story: one(story, lambda h, r, s, t: f"[rank{r}]: {t}", labelled=False),
    "Lightning": lambda story: one(story, lambda h, r, s, t: f"[rank: {r}] {t}", labelled=False),
    "kubectl --prefix": lambda story: one(story, lambda h, r, s, t: f"[pod/{pod(h)}/pytorch] {t}"),
    "kubectl --prefix --timestamps": lambda story: one(
        story, lambda h, r, s, t: f"[pod/{pod(h)}/pytorch] {iso(s)} {t}"
    ),
    "kubectl --timestamps": lambda story: one(story, lambda h, r, s, t: f"{iso(s)} {t}"),
    "stern": lambda story: one(story, lambda h, r, s, t: f"{pod(h)} pytorch {t}"),
    "stern, all namespaces": lambda story: one(story, lambda h, r, s, t: f"train {pod(h)} pytorch {t}"),
    "stern, coloured": lambda story: one(
        story, lambda h, r, s, t: f"\x1b[36m{pod(h)}\x1b[0m \x1b[95mpytorch\x1b[0m {t}"
    ),
    "stern -o json": lambda story: one(
        story,
        lambda h, r, s, t: json.dumps(
            {"message": t, "nodeName": h, "namespace": "train", "podName": pod(h), "containerName": "pytorch"}
        ),
    ),
    "journalctl": lambda story: one(
        story, lambda h, r, s, t: f"Jan 05 10:11:{s:02} {h} torchrun[{700 + r}]: {t}"
    ),
    "journalctl -o short-iso": lambda story: one(
        story, lambda h, r, s, t: f"{iso(s, '+0000', '')} {h} torchrun[{700 + r}]: {t}"
    ),
    "journalctl -o short-precise": lambda story: one(
        story, lambda h, r, s, t: f"Jan 05 10:11:{s:02}.250000 {h} python3[{700 + r}]: {t}"
    ),
    "journalctl -o short-full": lambda story: one(
        story, lambda h, r, s, t: f"Mon 2026-01-05 10:11:{s:02} UTC {h} sft.service[{700 + r}]: {t}"
    ),
    "journalctl -o short-unix": lambda story: one(
        story, lambda h, r, s, t: f"{epoch(s)}.250000 {h} torchrun[{700 + r}]: {t}"
    ),
    "journalctl -o short-monotonic": lambda story: one(
        story, lambda h, r, s, t: f"[{5000 + s:5}.250000] {h} torchrun[{700 + r}]: {t}"
    ),
    "journalctl -o json": lambda story: one(
        story,
        lambda h, r, s, t: json.dumps(
            {
                "__REALTIME_TIMESTAMP": str(epoch(s) * 1_000_000),
                "_HOSTNAME": h,
                "SYSLOG_IDENTIFIER": "torchrun",
                "_PID": str(700 + r),
                "MESSAGE": t,
            }
        ),
    ),
    "rsyslog, RFC 5424": lambda story: one(
        story, lambda h, r, s, t: f"<13>1 {iso(s)} {h} torchrun {700 + r} - - {t}"
    ),
    "rsyslog, control characters escaped": lambda story: one(
        story, lambda h, r, s, t: f"Jan  5 10:11:{s:02} {h} torchrun[{700 + r}]: #033[31m{t}#033[0m"
    ),
    "docker's file": lambda story: many(
        story,
        lambda h, r: f"{h}/3f1c-json.log",
        lambda h, r, s, t: json.dumps({"log": t + "\n", "stream": "stderr", "time": iso(s)}),
        True,
    ),
    "docker logs -t": lambda story: many(
        story, lambda h, r: f"{h}.log", lambda h, r, s, t: f"{iso(s)} {t}", True
    ),
    "docker compose": lambda story: one(story, lambda h, r, s, t: f"{h}  | {t}"),
    "docker compose, names without digits": lambda story: one(
        story, lambda h, r, s, t: f"{'trainer' if h == HOSTS[0] else 'helper'}  | {t}"
    ),
    "docker compose -t": lambda story: one(story, lambda h, r, s, t: f"{h}  | {iso(s)} {t}"),
    "CRI": lambda story: many(
        story,
        lambda h, r: f"/var/log/pods/train_{pod(h)}_0c6e5c1a-77aa/pytorch/0.log",
        lambda h, r, s, t: f"{iso(s)} stderr F {t}",
        True,
    ),
    "fluent-bit": lambda story: one(
        story,
        lambda h, r, s, t: json.dumps(
            {
                "date": epoch(s) + 0.25,
                "time": iso(s),
                "stream": "stderr",
                "_p": "F",
                "log": t,
                "kubernetes": {"pod_name": pod(h), "container_name": "pytorch", "host": h},
            }
        ),
    ),
    "fluent-bit on a screen": lambda story: one(
        story,
        lambda h, r, s, t: (
            f'[0] kube.var.log.containers.{pod(h)}.log: [[{epoch(s)}.25, {{}}], {{"log"=>"{t}"}}]'
        ),
    ),
    "Loki": lambda story: one(
        story, lambda h, r, s, t: f'{iso(s, "Z", "")} {{container="pytorch", pod="{pod(h)}"}} {t}'
    ),
    "pdsh": lambda story: one(story, lambda h, r, s, t: f"{h}: {t}"),
    "pdsh, names without digits": lambda story: one(
        story, lambda h, r, s, t: f"{'alpha' if h == HOSTS[0] else 'beta'}: {t}"
    ),
    "pdsh of torchrun --tee": lambda story: one(story, lambda h, r, s, t: f"{h}: [default{r % 4}]:{t}"),
    "dshbak": lambda story: blocks(story, lambda host: ["----------------", host, "----------------"]),
    "clush": lambda story: one(story, lambda h, r, s, t: f"{h}: {t}"),
    "clush -b": lambda story: blocks(story, lambda host: ["---------------", host, "---------------"]),
    "mpirun --tag-output": lambda story: one(
        story, lambda h, r, s, t: f"[1,{r}]<stderr>:{t}", labelled=False
    ),
    "mpirun --tag-output --timestamp-output": lambda story: one(
        story, lambda h, r, s, t: f"Mon Jan  5 10:11:{s:02} 2026[1,{r}]<stderr>:{t}", labelled=False
    ),
    "mpirun 5": lambda story: one(
        story, lambda h, r, s, t: f"[prterun-{HOSTS[0]}-77@1,{r}]<stderr>: {t}", labelled=False
    ),
    "mpirun on SageMaker": lambda story: one(
        story, lambda h, r, s, t: f"[1,mpirank:{r},algo-{1 + r // 4}]<stderr>:{t}", labelled=False
    ),
    "horovodrun": lambda story: one(
        story, lambda h, r, s, t: f"Mon Jan  5 10:11:{s:02} 2026[{r}]<stderr>:{t}", labelled=False
    ),
    "horovodrun without times": lambda story: one(
        story, lambda h, r, s, t: f"[{r}]<stderr>:{t}", labelled=False
    ),
    "SGLang": lambda story: one(
        story, lambda h, r, s, t: f"[2026-01-05 10:11:{s:02} TP{r}] {t}", labelled=False
    ),
    "vLLM": lambda story: one(story, lambda h, r, s, t: f"(Worker_TP{r} pid={700 + r}) {t}", labelled=False),
    "mpiexec -prepend-rank": lambda story: one(story, lambda h, r, s, t: f"[{r}] {t}", labelled=False),
    "srun -l": lambda story: one(story, lambda h, r, s, t: f"{r}: {t}", labelled=False),
    "srun -l, padded": lambda story: one(story, lambda h, r, s, t: f"{r:2}: {t}", labelled=False),
    "srun -l of torchrun": lambda story: one(story, lambda h, r, s, t: f"{HOSTS.index(h)}: {t}"),
    "srun -o %j_%t.out": lambda story: many(story, lambda h, r: f"logs/48213_{r}.out"),
    "srun -o %x-%j-%t.err": lambda story: many(story, lambda h, r: f"sft-48213-{r}.err"),
    "srun -o %j.%N.out": lambda story: many(story, lambda h, r: f"48213.{h}.out", labelled=True),
    "SkyPilot": lambda story: one(
        story,
        lambda h, r, s, t: (
            f"({'head' if r < 4 else 'worker1'}, rank={r // 4}, pid=2411, ip=10.0.0.{2 + r // 4}) {t}"
        ),
    ),
    "SkyPilot, first versions": lambda story: one(
        story, lambda h, r, s, t: f"(sft pid=2411, ip=10.0.0.{2 + r // 4}) {t}"
    ),
    "Ray": lambda story: one(
        story, lambda h, r, s, t: f"\x1b[36m(RayTrainWorker pid={900 + r}, ip=10.0.0.{2 + r // 4})\x1b[0m {t}"
    ),
    "Ray's session folder": lambda story: many(
        story,
        lambda h, r: (
            f"/tmp/ray/session_2026-01-05_10-10-10_1_7/logs/worker-{'ab' * 10}{r:02}-01000000-{900 + r}.err"
        ),
        labelled=True,
    ),
    "torchrun --log-dir": lambda story: many(
        story, lambda h, r: f"{h}/none_x1y2z3a4/attempt_0/{r % 4}/stderr.log", labelled=True
    ),
    "torchrun --log-line-prefix-template": lambda story: one(
        story, lambda h, r, s, t: f"[worker{r % 4}|{r}]:{t}", labelled=False
    ),
    "epoch seconds": lambda story: one(story, lambda h, r, s, t: f"{epoch(s)}.250 {t}"),
    "epoch milliseconds": lambda story: one(story, lambda h, r, s, t: f"{epoch(s)}250 {t}"),
    "ts": lambda story: one(story, lambda h, r, s, t: f"Jan 05 10:11:{s:02} {t}"),
    "parallel --tag": lambda story: one(story, lambda h, r, s, t: f"{h}\t{t}"),
    "tail of many files": tail_of_ranks,
    "grep over many files": lambda story: one(
        story, lambda h, r, s, t: f"logs/rank-{r}.log:{t}", "found.txt", False
    ),
    "grep -n over many files": lambda story: one(
        story, lambda h, r, s, t: f"logs/rank-{r}.log:{10 + s}:{t}", "found.txt", False
    ),
    "Determined": lambda story: one(
        story, lambda h, r, s, t: f"[{iso(s)}] 4f2a1b3{r // 4} || [rank={r}] {t}", labelled=False
    ),
    "a logger of one's own": lambda story: one(
        story, lambda h, r, s, t: f"10:11:{s:02}.25 ~ {h} ~ global_rank={r} ~ {t}", labelled=False
    ),
    "Azure ML": lambda story: many(story, lambda h, r: f"user_logs/std_log_process_{r:02}.txt"),
    "CloudWatch": lambda story: one(
        story,
        lambda h, r, s, t: f"/aws/sagemaker/TrainingJobs sft-1/algo-{1 + r // 4}-1767607860 {iso(s)} {t}",
    ),
    "JSON lines of a logger": lambda story: one(
        story,
        lambda h, r, s, t: json.dumps({"ts": epoch(s), "level": "ERROR", "rank": r, "hostname": h, "msg": t}),
        labelled=False,
    ),
    "CRLF": lambda story: one(story, lambda h, r, s, t: f"[rank{r}]: {t}\r", labelled=False),
}

WITHOUT_NODES = frozenset((
    "one file a rank", "rank in the text", "Lightning", "kubectl --timestamps", "mpirun --tag-output",
    "mpirun --tag-output --timestamp-output", "mpirun 5", "horovodrun", "horovodrun without times", "SGLang", "vLLM",
    "mpiexec -prepend-rank", "srun -l", "srun -l, padded",
    "srun -o %j_%t.out", "srun -o %x-%j-%t.err", "Ray's session folder", "torchrun --log-line-prefix-template",
    "epoch seconds", "epoch milliseconds", "ts", "tail of many files", "grep over many files",
    "grep -n over many files", "Determined", "Azure ML", "CRLF",
))  # fmt: skip
"""Forms that say nowhere which machine a line is from."""


def machine(name: str, host: str) -> str:
    """What a form calls the machine."""
    number = HOSTS.index(host)
    names = {
        "docker compose, names without digits": ("trainer", "helper"),
        "pdsh, names without digits": ("alpha", "beta"),
        "srun -l of torchrun": ("0", "1"),
        "SkyPilot": ("head", "worker1"),
        "SkyPilot, first versions": ("10.0.0.2", "10.0.0.3"),
        "Ray": ("10.0.0.2", "10.0.0.3"),
        "mpirun on SageMaker": ("algo-1", "algo-2"),
        "CloudWatch": ("algo-1", "algo-2"),
    }
    by_pod = name.startswith(("kubectl", "stern", "CRI", "fluent-bit on", "Loki")) and name != "stern -o json"
    return pod(host) if by_pod else names.get(name, HOSTS)[number]
