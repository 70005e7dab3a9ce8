"""Wrong run files and exactly what is said about them."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allranks.core import BadInput
from allranks.spec import loads
from allranks.spec.problems import MAX_PROBLEMS, Problems, Wrong
from allranks.spec.start import quoted
from allranks.spec.validate import model, one_line, webhook
from tests.harness.cost import cost
from tests.spec.test_spec_reference import ALL

GOOD = "nodes: node[1-2]\ngpus: 8\ntrain: {command: [a.py]}\n"
IGNORED = "it would be ignored, and the run would not do what you meant."
TOKEN = "hf_" + "aB3d" * 8

CASES = {
    "trian: 1\n": f"r.yaml:4  trian: unknown key.\n  why  {IGNORED}\n  fix  train",
    "Network: {}\n": f"r.yaml:4  Network: unknown key.\n  why  {IGNORED}\n  fix  network",
    "same-host: true\n": f"r.yaml:4  same-host: unknown key.\n  why  {IGNORED}\n  fix  same_host",
    "port: 1\n": f"r.yaml:4  port: unknown key.\n  why  {IGNORED}\n  fix  network: {{port: …}}",
    "lora_rank: 8\n": f"r.yaml:4  lora_rank: unknown key.\n  why  {IGNORED}\n"
    "  fix  train: {llamafactory: {lora_rank: …}}",
    "network:\n  prot: 1\n": f"r.yaml:5  network.prot: unknown key.\n  why  {IGNORED}\n  fix  port",
    "save: {resume: auto}\n": f"r.yaml:4  save.resume: unknown key.\n  why  {IGNORED}\n  fix  resume: at the top level",
    "save: {qqq: 1}\n": f"r.yaml:4  save.qqq: unknown key.\n  why  {IGNORED}\n"
    "  fix  one of to, every, keep, copy_to, grace_seconds, notice",
    "network: {port: 0}\n": "r.yaml:4  network.port: 0 is not a port.\n  why  a TCP port is 1 to 65,535.\n"
    "  fix  such as 39500",
    "network: {port: 65536}\n": "r.yaml:4  network.port: 65536 is not a port.\n  why  a TCP port is 1 to 65,535.\n"
    "  fix  such as 39500",
    "network: {port: 5, keeper_port: 5}\n": "r.yaml:4  network.keeper_port: 5 is also network.port.\n"
    "  why  the rendezvous and the keeper cannot listen on one port.\n  fix  0",
    "network: {interface: '^lo,docker'}\n": "r.yaml:4  network.interface: ^lo,docker is a pattern or a list.\n"
    "  why  NCCL takes patterns, gloo takes one exact name and crashes on anything else.\n"
    "  fix  one name such as eth0, or auto",
    "network: [1]\n": "r.yaml:4  network: a list is not a mapping.\n  fix  network: {interface: …}",
    "alerts: {level: block}\n": "r.yaml:4  alerts.level: nobody receives alerts.\n"
    "  why  only a webhook or a command does.\n  fix  alerts.webhook",
    "alerts: {level: blocks}\n": "r.yaml:4  alerts.level: blocks is not one of warn, block, end.\n  fix  block",
    "transport: ssh\n": "r.yaml:4  transport: ssh is not one of asyncssh, openssh.\n  fix  openssh",
    "same_host: yes\n": "r.yaml:4  same_host: yes is neither true nor false.\n"
    "  why  YAML 1.2 knows these two words alone; yes, no, on and off are strings.\n  fix  true or false",
    "deepspeed: zero-3\n": "r.yaml:4  deepspeed: zero-3 is not one of auto, zero3, zero3-offload, none, "
    "and not a path.\n  fix  zero3",
    "save: {every: 0}\n": "r.yaml:4  save.every: 0 is not a number of steps.\n"
    "  why  it is a whole number from 1 to 1,000,000,000.\n  fix  such as 50",
    "launch: {standby: true}\n": "r.yaml:4  launch.standby: launch.restarts is 0.\n"
    "  why  the ranks on standby are those of the attempt after a restart.\n"
    "  fix  restarts: 1, or no standby",
    "launch: {spares: 2}\n": "r.yaml:4  launch.spares: 2 of 2 nodes.\n  why  none would be left to train.\n"
    "  fix  spares: 1 at most",
    "launch: {with: local}\n": "r.yaml:4  launch.with: local, but node1 is node1.\n"
    "  why  local starts everything on this machine.\n  fix  with: ssh, or same_host: true",
    "launch: {with: slurm, time: tomorrow}\n": "r.yaml:4  launch.time: tomorrow is not a time limit.\n"
    "  fix  such as 90 (minutes), 24:00:00 or 2-12:00:00",
    "container: {engine: docker}\n": "r.yaml:4  container.image: missing.\n  why  there is nothing to start.\n"
    "  fix  container: {image: hiyouga/llamafactory@sha256:…}",
    "container: {image: x, mounts: [data:/data]}\n": "r.yaml:4  container.mounts: data is not an absolute path.\n"
    "  why  docker would make an empty volume of that name.\n"
    "  fix  the whole path on the node, such as /home/ubuntu/data",
    "container: {image: x, mounts: /a:/b}\n": (
        'r.yaml:4  container.mounts: /a:/b is not a list.\n  fix  ["/nfs:/nfs:ro"]'
    ),
    "container: {image: -x}\n": "r.yaml:4  container.image: -x is not an image.\n"
    "  why  it holds letters, digits and ./_:@+- alone.\n"
    "  fix  such as hiyouga/llamafactory@sha256:…, or a path ending in .sif",
    "container: {image: x, pip: [--index-url=http://e]}\n": "r.yaml:4  container.pip: --index-url=http://e is an "
    "option of pip.\n  why  these are packages.\n  fix  such as transformers==4.52.4",
    "prepare: {cache: /nvme}\n": "r.yaml:4  prepare.cache: it needs environment.loader: own.\n"
    "  why  only that loader reads parts of files.\n"
    "  fix  environment: {loader: own}",
    "prepare: {cache: nvme}\nenvironment: {loader: own}\n": "r.yaml:4  prepare.cache: nvme is a relative path.\n"
    "  why  each node has its own cache.\n  fix  cache: /nvme/allranks",
    "user: -oProxyCommand=x\n": "r.yaml:4  user: -oProxyCommand=x begins with a dash.\n"
    "  why  ssh would read it as an option.\n  fix  the user's name",
    "env: {A B: 1}\n": "r.yaml:4  env.A B: A B is not a valid name for a variable.\n"
    "  why  letters, digits and `_`, no digit first.\n  fix  such as NCCL_DEBUG",
    "env:\n  A:\n": "r.yaml:5  env.A: it has no value.\n  why  a variable is one string.\n"
    '  fix  the value; "" for an empty one',
    "env: {A: [1]}\n": "r.yaml:4  env.A: this is a list.\n  why  a variable is one string.\n"
    '  fix  the value; "" for an empty one',
    "env: {ALLRANKS_HOME: /x}\n": "r.yaml:4  env.ALLRANKS_HOME: ALLRANKS_HOME is a name of allranks' own.\n"
    "  why  it would confuse the supervisor.\n  fix  another name",
    "env: {X: 1}\nsecrets: [X]\n": "r.yaml:4  env.X: it is in secrets too.\n"
    "  why  the file would show what secrets hides.\n  fix  take X out of env",
    f"env: {{HF_TOKEN: {TOKEN}}}\n": "r.yaml:4  env.HF_TOKEN: its value looks like an access token.\n"
    "  why  run files are shown, stored and shared; they must not contain a secret.\n"
    "  fix  export HF_TOKEN where allranks runs, and secrets: [HF_TOKEN]",
    "secrets: [HF_TOKEN=abc]\n": "r.yaml:4  secrets: an entry that is not a valid name for a variable (it is "
    "not shown: "
    "it may be the secret itself).\n"
    "  why  a run file holds only names; allranks takes the values from its environment.\n"
    "  fix  such as secrets: [HF_TOKEN]",
    "secrets: HF_TOKEN\n": "r.yaml:4  secrets: HF_TOKEN is not a list.\n  fix  [HF_TOKEN]",
    "accept: [Port Busy]\n": "r.yaml:4  accept: Port Busy is not the id of a finding.\n"
    "  fix  such as driver-differs, as `allranks check FILE` prints it",
    "sweep: {a: 1}\n": "r.yaml:4  sweep.a: 1 is not a list of values.\n  fix  [1e-5, 5e-5]",
    "alerts: {webhook: file:///etc/passwd}\n": "r.yaml:4  alerts.webhook: it is not a web address.\n"
    "  why  a webhook is called over HTTP.\n  fix  https://…",
    "gpus: 4\n": "r.yaml:4  gpus: given twice, first in line 2.\n  why  one of the two values would be lost.\n"
    "  fix  keep one of them",
    "name: ../x\n": "r.yaml:4  name: ../x is not a valid run name.\n"
    "  why  it becomes part of paths: letters, digits, `.`, `_` and `-`, a letter or digit first, at most 63.\n"
    "  fix  such as node-0",
    "resume: -x\n": "r.yaml:4  resume: -x begins with a dash.\n"
    "  why  programs would read it as an option.\n  fix  ./-x",
    'save: {to: "a\\nb"}\n': "r.yaml:4  save.to: a\\nb holds a control character.\n  fix  one line of text",
}


@pytest.mark.parametrize("added", CASES, ids=lambda text: text.strip().replace(TOKEN, "token")[:40])
def test_what_is_said(added):
    with pytest.raises(BadInput) as error:
        loads(GOOD + added, "r.yaml")
    assert str(error.value) == CASES[added]


WHOLE = {
    "gpus: 8\n": [
        "r.yaml:1  nodes: missing.\n  why  a run needs machines.\n  fix  nodes: node[1-2], or nodes: localhost",
        "r.yaml:1  train: missing.\n  why  there is nothing to run.\n"
        "  fix  train: {llamafactory: sft.yaml}, or train: {command: [train.py]}",
    ],
    "nodes: a\ntrain: sft.yaml\n": [
        "r.yaml:2  train: sft.yaml is not a mapping.\n  fix  train: {llamafactory: sft.yaml}"
    ],
    "nodes: a\ntrain: {}\n": [
        "r.yaml:2  train: neither llamafactory nor command.\n  why  a run trains one thing.\n"
        "  fix  train: {llamafactory: sft.yaml}"
    ],
    "nodes: a\ntrain: {llamafactory: {stage: sft}, command: a.py}\n": [
        "r.yaml:2  train: both llamafactory and command.\n  why  a run trains one thing.\n"
        "  fix  train: {llamafactory: sft.yaml}"
    ],
    "nodes: a\ntrain:\n  stage: sft\n": [
        f"r.yaml:3  train.stage: unknown key.\n  why  {IGNORED}\n  fix  llamafactory: with this key below it"
    ],
    "nodes: a\ntrain: {llamafactory: }\n": [
        "r.yaml:2  train.llamafactory: nothing is not a mapping.\n  fix  LLaMA-Factory's keys, or the path of its YAML"
    ],
    "node1 slots=8\nnode2 8\n": [
        "r.yaml:1  a hostfile, not a run file.\n"
        "  fix  `allranks init r.yaml -o run.yaml` writes a run file for its nodes"
    ],
    "stage: sft\nmodel_name_or_path: /m\n": [
        "r.yaml:2  a LLaMA-Factory file, not a run file: it has model_name_or_path and no nodes.\n"
        "  why  it says what to train, not on which machines.\n"
        "  fix  write run.yaml beside it and start that:\n"
        "         nodes: node[1-2]\n         gpus: 8\n         train: {llamafactory: r.yaml}"
    ],
}


@pytest.mark.parametrize("count", ["0", "many", "1.5"])
def test_a_number_of_gpus_that_cannot_be_used_is_one_problem(count: str) -> None:
    with pytest.raises(BadInput) as error:
        loads(f"nodes: localhost\ngpus: {count}\ntrain: {{command: [a.py]}}\n", "r.yaml")
    (found,) = error.value.problems
    assert found.saw == f"gpus: {count} is not a number of GPUs."


@pytest.mark.parametrize("text", WHOLE)
def test_what_is_said_of_whole_files(text):
    with pytest.raises(BadInput) as error:
        loads(text, "r.yaml")
    assert [str(problem) for problem in error.value.problems] == WHOLE[text]


def test_the_run_file_offered_for_a_trainers_yaml_loads(tmp_path):
    (tmp_path / "sft.yaml").write_text("stage: sft\n")
    with pytest.raises(BadInput) as error:
        loads("stage: sft\n", str(tmp_path / "sft.yaml"))
    offered = "\n".join(line.strip() for line in error.value.problems[0].do.split("\n")[1:])
    assert loads(offered, str(tmp_path / "run.yaml")).train.arguments == {"stage": "sft"}


def test_all_errors_at_once():
    sections = Counter(text.partition(":")[0] for text in CASES)
    each = [text for text in CASES if sections[text.partition(":")[0]] == 1]
    with pytest.raises(BadInput) as error:
        loads(GOOD + "".join(each) + "network: {prot: 1}\nenv: {1: 2}\n", "r.yaml")
    saws = {problem.saw for problem in error.value.problems}
    assert {CASES[text].split("  ", 1)[1].split("\n")[0] for text in each} <= saws
    assert {"network.prot: unknown key.", "env.1: 1 is not a valid name for a variable."} <= saws
    lines = [problem.line for problem in error.value.problems]
    assert lines == sorted(lines)
    assert error.value.exit_code == 2


TOKENS = [
    "hf_" + "abcdefghij" * 3,
    "ghp_" + "A1b2C3d4E5" * 4,
    "github_pat_" + "A1b2C3d4E5" * 4,
    "sk-" + "proj-" + "A1b2C3d4E5" * 3,
    "AKIA" + "ABCDEFGHIJKLMNOP",
    "xoxb-" + "123456789012-abcdef",
    "glpat-" + "A1b2C3d4E5" * 2,
    "nvapi-" + "A1b2C3d4E5" * 3,
]
HEX40 = "0123456789abcdef" * 2 + "01234567"


@pytest.mark.parametrize(
    "form",
    [
        "env: {{X: {}}}",
        "env: {{X: 'Bearer {}'}}",
        "secrets: ['{}']",
        "secrets: {{'{}': 1}}",
        "secrets: '{}'",
        "accept: ['{}']",
        "'{}': 1",
        "name: {}",
        "user: {}",
        "x-any: [{{a: {}}}]",
        "alerts: {{webhook: 'https://x/{}'}}",
        "launch: {{extra: '--token={}'}}",
        "nodes: '{}'",
        "network: {{'{}': 1, interface: '{}'}}",
        "container: {{image: 'x/{}', mounts: ['{}']}}",
    ],
)
def test_a_token_is_refused_and_never_printed(form):
    for token in TOKENS:
        text = form.format(*[token] * form.count("{}"))
        with pytest.raises(BadInput) as error:
            loads(
                text + "\ntrain: {command: [a.py]}" + ("" if text.startswith("nodes") else "\nnodes: a"),
                "r.yaml",
            )
        assert token not in str(error.value)
        assert token not in repr([problem.as_json() for problem in error.value.problems])


def test_tokens_from_the_command_line_and_in_arguments():
    for text, sets in (
        (GOOD, [f"env.HF_TOKEN={TOKEN}"]),
        (GOOD, [TOKEN]),
        (GOOD, [f"{TOKEN}=1"]),
        (f"nodes: a\ntrain: {{llamafactory: {{hf_hub_token: {TOKEN}}}}}", []),
        (f"nodes: a\ntrain: {{command: [a.py, --token, {TOKEN}]}}", []),
        (f"nodes: a\ntrain: {{command: [a.py, --token={TOKEN}]}}", []),
    ):
        with pytest.raises(BadInput) as error:
            loads(text, sets=sets)
        assert TOKEN not in str(error.value)


UUID = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
WEBHOOKS_WITH_SECRETS = [
    "https://hooks.slack.com/services/T024BE7LD/B024BE7LE/" + "aB3dE5" * 4,
    "https://hooks.slack.com/services/T024BE7LD/B024BE7LE/" + "abcdef" * 4,
    "https://discord.com/api/webhooks/123456789012345678/" + "aB3-dE5_gH7" * 6,
    f"https://acme.webhook.office.com/webhookb2/{UUID}@{UUID}/IncomingWebhook/{'0a1b2c3d' * 4}/{UUID}",
    "https://prod-12.westus.logic.azure.com/workflows/x/triggers/manual?sv=1.0&sig=" + "abcdefgh" * 5,
    "https://api.telegram.org/bot123456789:AAF" + "d3E-f5G" * 4 + "/sendMessage",
    "https://chat.example.org/hooks/" + "x1y2z3" * 4,
    "https://ntfy.example.org/alerts?auth=hunter",
    "https://host/hook?run=1&access_token=abc",
    "https://user:password@host/hook",
    "https://user@host?a",
]
WEBHOOKS = [
    "http://127.0.0.1:8080/alerts",
    "http://[::1]:8080/alerts?to=team",
    "https://host/hook",
    "https://host",
    "https://hooks.slack.com/services/T024BE7LD/B024BE7LE/{SLACK}",
    "https://hooks.slack.com/{SLACK}",
    "https://discord.com/api/webhooks/123456789012345678/{DISCORD}",
    "https://ntfy.example.org/alerts?auth={NTFY_TOKEN}&tags=allranks",
    "https://ntfy.example.org/allranks-llama3-70b-on-h100-of-the-team-2026",
    "https://host/a%20list%20of%20people@home.example.org",
]


@pytest.mark.parametrize("address", WEBHOOKS_WITH_SECRETS)
def test_an_address_of_a_webhook_with_a_secret_is_refused_and_not_printed(address):
    with pytest.raises(BadInput) as error:
        loads(GOOD + f"alerts: {{webhook: '{address}'}}\n", "r.yaml")
    login = (
        "r.yaml:4  alerts.webhook: it holds a user or a password.\n"
        "  why  run files are shown, stored and shared, and a webhook is called without a login.\n"
        "  fix  an address without the part before the @, and with the token in its path or query as {NAME}"
    )
    part = (
        "r.yaml:4  alerts.webhook: a part of its path or query looks like a secret.\n"
        "  why  run files are shown, stored and shared; they must not contain a secret.\n"
        "  fix  export WEBHOOK_TOKEN where allranks runs, secrets: [WEBHOOK_TOKEN], and {WEBHOOK_TOKEN} in its place"
    )
    assert str(error.value) == (login if "//user" in address else part)


@pytest.mark.parametrize("address", WEBHOOKS)
def test_an_ordinary_address_of_a_webhook_is_taken(address):
    assert loads(GOOD + f"alerts: {{webhook: '{address}'}}\n").alerts["webhook"] == address


def test_forty_hex_digits_are_a_key_only_under_such_a_name():
    assert loads(GOOD + f"env: {{COMMIT: {HEX40}}}").env == {"COMMIT": HEX40}
    arguments = loads(f"nodes: a\ntrain: {{llamafactory: {{tokenizer_revision: {HEX40}}}}}").train.arguments
    assert arguments["tokenizer_revision"] == HEX40
    for name in ("WANDB_API_KEY", "MY_TOKEN", "SECRET_X", "wandb_api_key", "DB_PASSWORD"):
        with pytest.raises(BadInput) as error:
            loads(GOOD + f"env: {{{name}: {HEX40}}}")
        assert HEX40 not in str(error.value)


def test_words_that_only_resemble_tokens_pass():
    words = [
        "task-manager-with-a-long-name",
        "sk-learn",
        "hf_hub",
        "eyJ",
        "AKIA",
        "desk-1234567890123456789012",
    ]
    text = "env:\n" + "".join(f"  V{n}: {word}\n" for n, word in enumerate(words))
    assert list(loads(GOOD + text).env.values()) == words


PATHS = [key.path.replace("[]", ".0") for key in ALL]
NAMES = [path.split(".")[-1] for path in PATHS]
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**20), 10**20),
        st.floats(),
        st.text(max_size=12),
        st.sampled_from(["auto", "node[1-3]", "-x", "a@b", "1e-5", "/x", "x:/y", "16GiB", "localhost"]),
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([p.split(".")[-1] for p in PATHS]), inner, max_size=3)
    ),
    max_leaves=6,
)


def as_yaml(value) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(k)}: {as_yaml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_yaml, value)) + "]"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else ".nan"
    return "~" if value is None else str(value).lower()


def seen(letter):
    """Whether it can stand in a message: a no-break space is a space."""
    return letter.isprintable() or letter == "\n" or unicodedata.category(letter) == "Zs"


@given(st.dictionaries(st.sampled_from(PATHS), VALUES, max_size=5))
@settings(max_examples=120)
def test_any_value_at_any_key_is_a_run_or_bad_input(values):
    def read():
        try:
            run = loads(GOOD, sets=[f"{path}={as_yaml(value)}" for path, value in values.items()])
        except BadInput as error:
            for problem in error.problems:
                assert problem.saw
                assert all(seen(c) for c in str(problem)), repr(str(problem))
        else:
            assert run.cluster.nodes

    assert cost(read, enough=2) < 2


@given(st.text(alphabet="nodestrai:{}[],- \n'\"&*<!|#1e.@$()\t", max_size=120))
@settings(max_examples=120)
def test_garbage_is_a_run_or_bad_input(text):
    for whole in (text, GOOD + text):
        try:
            loads(whole)
        except BadInput as error:
            assert error.problems


@pytest.mark.parametrize("more", [0, 1, 2])
def test_problems_beyond_the_limit_are_counted(more):
    problems = Problems()
    for number in range(MAX_PROBLEMS + more):
        problems.add(f"problem {number}", line=number)
    shown = [one.saw for one in problems.all()]
    assert shown[:MAX_PROBLEMS] == [f"problem {number}" for number in range(MAX_PROBLEMS)]
    assert shown[MAX_PROBLEMS:] == ([f"and {more} more problems that are not shown."] if more else [])


ADDRESS = "https://hooks.example/"


@pytest.mark.parametrize(
    ("reads", "text", "taken"),
    [
        (model, "A", False),
        (model, "A1", True),
        (model, "A" * 80, True),
        (model, "A" * 81, False),
        (webhook, ADDRESS.ljust(2048, "x"), True),
        (webhook, ADDRESS.ljust(2049, "x"), False),
        (webhook, "ftp://hooks.example/", False),
        (one_line, "a" * 4096, True),
        (one_line, "a" * 4097, False),
        (one_line, " ", False),
        (one_line, "a\x1f", False),
        (one_line, "a b~", True),
        (one_line, "a\x7f", False),
    ],
)
def test_how_long_a_value_may_be(reads, text, taken):
    if taken:
        assert reads(text) == text
    else:
        with pytest.raises(Wrong):
            reads(text)


def test_cpu_is_one_model_however_it_is_written():
    assert (model("CPU"), model("Cpu"), model("H100 PCIe")) == ("cpu", "cpu", "H100 PCIe")


def test_problems_are_in_the_order_of_lines_and_those_of_the_whole_file_come_first():
    problems = Problems()
    for saw, line in (("third", 9), ("second", 1), ("first", None), ("second", 1)):
        problems.add(saw, file="r.yaml", line=line)
    assert [one.saw for one in problems.all()] == ["first", "second", "third"]
