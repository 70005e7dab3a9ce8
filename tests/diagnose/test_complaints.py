"""A complaint that no pattern knows: its subject tells the cause, if nothing else does and nothing followed it."""

from __future__ import annotations

import pytest

from allranks.diagnose import diagnose, parse
from allranks.diagnose.complaints import MENTIONED, NO, SAID, complains


def of(text: str):
    return diagnose(parse(text, "x.log"))


SUBJECTS = [
    ("nvidia-container-cli: could not start, cgroup subsystem devices not found", "container-not-started"),
    ("0/4 nodes are available: 4 Insufficient nvidia.com/gpu", "job-refused"),
    ("1/3 tasks in gang unschedulable: pod group is not ready", "job-refused"),
    ("SSH command failed.", "ssh-connection-failed"),
    ("[gpu-7:4411] PMIX ERROR: UNREACHABLE in file ptl_tcp.c", "mpi-ssh-orted-failure"),
    ("UCX  ERROR failed to create UD QP", "ib-transport-error"),
    ("hsa_init() failed, no HSA devices", "rocm-runtime-error"),
    ("'torchrun' is not recognized as an internal or external command", "missing-system-tool"),
    ("*** double free or corruption detected ***", "rank-crashed-first"),
    ("GPU_IS_LOST: failed to read remapped rows", "xid-gpu-fault"),
    ("the wandb backend process has shut down", "tracker-unreachable"),
    ("vLLM server is not up yet", "inference-server-failed"),
    ("\u65e0\u6cd5\u8fde\u63a5 vLLM server", "inference-server-failed"),
    ("RuntimeError: Failed to SSH to 10.9.8.7 after 60 s", "ssh-connection-failed"),
    ("RuntimeError: Unable to connect to the head node's GCS", "master-unreachable-firewall"),
    (
        "RuntimeError: pair.cc:799] connect [10.0.0.7]:13195: Connection refused",
        "data-ports-blocked",
    ),
    ("/opt/enroot/bin/x: line 11: a function is missing", "container-not-started"),
    ("/mnt/nfs/run/3.log: SSH command failed.", "ssh-connection-failed"),
    ("**Killed**", "rank-sigkilled"),
    ("ORTE_ERROR_LOG: Not found in file base/x.c at line 99", "mpi-ssh-orted-failure"),
    ("the file system at /tmp/x is full", "disk-full-checkpoint"),
    (
        "/tmp/ray/session_3 is over 95% full; creation will fail if spilling is required",
        "disk-full-checkpoint",
    ),
    ("custom call 'xla.gpu.cublas.lt.matmul' failed", "cublas-or-cudnn-error"),
    ("/opt/x/third_party/gloo/transport/tcp/pair.cc:9 connection refused", "data-ports-blocked"),
    ("0/5 nodes are available: 5 node(s) had untolerated taint {gpu: present}", "job-refused"),
    ("pod has unbound immediate claims", "job-refused"),
    ("qsub: Unknown queue", "job-refused"),
    ("toomanyrequests: You have exceeded your pull rate limit", "container-not-started"),
    ("exec /usr/bin/bash: exec format error", "container-not-started"),
    ("Cannot create container for service t: Conflict", "container-not-started"),
    ("No devices were found", "no-nvidia-driver"),
    ("Connection reset by 10.0.0.5 port 22", "ssh-connection-failed"),
    ("channel 0: open failed: administratively prohibited", "ssh-connection-failed"),
    ("TERM_OWNER: job killed by owner.", "cancelled-by-user"),
    ("[proxy@n2] HYDU_create_process: execvp error on file python", "mpi-ssh-orted-failure"),
    ("watchdog: BUG: soft lockup - CPU#3 stuck for 22s!", "node-failure"),
    ("eth0: cable unplugged", "peer-node-network-broken"),
    ("n1:22:90 [3] connect.cc:9 NCCL WARN size is 4 instead of 8", "nccl-error-unexplained"),
    ("TimeOutError when ray::Worker.init", "ray-worker-died"),
    ("Waiting for placement group to be scheduled", "job-refused"),
    ("\u4ece\u8282\u70b9\u65e0\u6cd5\u8fde\u63a5\u5230\u4e3b\u8282\u70b9", "master-unreachable-firewall"),
    ("\u8bad\u7ec3\u65f6NCCL\u62a5\u9519", "nccl-error-unexplained"),
]


@pytest.mark.parametrize(("line", "cause"), SUBJECTS)
def test_the_subject_of_a_complaint_tells_the_cause(line, cause):
    found = of(line + "\n")
    assert (found.cause, found.confidence) == (cause, "likely")


WORDS = [
    ("SSH command failed.", SAID),
    ("the server is not up yet, retrying", MENTIONED),
    ("INFO: could not find libfoo", NO),
    ("ssh: 0 errors", NO),
    ("mpirun detected that one or more processes exited with non-zero status", NO),
    ("connecting to node-1 by ssh", NO),
    ("raise RuntimeError('ssh failed')", NO),
    ("E0101 torch/distributed/elastic/x.py] failed (exitcode: 1) local_rank: 0", NO),
]


@pytest.mark.parametrize(("line", "how"), WORDS)
def test_a_line_complains_or_not(line, how):
    words = "".join(c if c.isascii() and c.isalpha() else " " for c in line).encode().split()
    assert complains(line, words) == how


def test_what_followed_disproves_it():
    line = "SSH command failed.\n"
    assert of(line + "step 1 loss 2.0\n").cause == "benign-noise"
    assert of(line + "plain text\n" * 50).cause == "unproven"
    assert of(line + "plain text\n" * 30).cause == "ssh-connection-failed"


def test_a_warning_counts_only_in_a_short_text():
    line = "warning: SSH is not reachable yet, retrying\n"
    assert of(line).cause == "ssh-connection-failed"
    assert of("plain text\n" * 50 + line).cause == "unproven"


def test_a_pattern_and_a_special_subject_come_first():
    general = "allreduce is stuck\n"
    assert of(general).cause == "collective-timeout-straggler"
    assert of(general + "SSH command failed.\n").cause == "ssh-connection-failed"
    assert of("SSH command failed.\nCUDA error: out of memory\n").cause == "cuda-oom"


def test_the_reasons_that_a_text_thinks_possible_are_no_subject():
    line = "Raylet is terminated unexpectedly. Possible reasons: (1) SIGKILL by the OOM killer\n"
    assert of(line).cause == "node-failure"


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("Failed to SSH to 10.9.8.7 after 60 s", "10.9.8.7"),
        ("ssh: error on host gpu-7", "gpu-7"),
        ("[1668693503.473099] [bach:28772:0]  ib_log.c:246  UCX  ERROR ibv_create_cq() failed", "bach"),
        ("[gpu-7:01766] PMIX ERROR: NOT-FOUND", "gpu-7"),
        ("ssh: error on host gpu-7 and on host gpu-8", None),
        ("ssh: connect to host head.example.com port 22: No route to host", "head.example.com"),
        ("pending: ReqNodeNotAvail, UnavailableNodes:c002", "c002"),
        (
            "[good:02773] *** Process received signal ***\n[good:02773] Signal: Segmentation fault (11)",
            "good",
        ),
        ("Failed to connect to GCS at address 10.9.8.7:6379 within 5 s", "10.9.8.7"),
    ],
)
def test_the_node_is_named_from_the_text_or_its_prefix(text, node):
    assert of(text + "\n").where.node == node


def test_open_mpi_names_the_first_process_that_failed():
    text = "The first process to do so was:\n\n  Process name: [[17350,1],4]\n  Exit code:    3\n"
    assert (of(text).cause, of(text).where.rank) == ("rank-crashed-first", 4)


@pytest.mark.parametrize(
    "line",
    [
        'time="2024-01-02T03:04:05Z" level=error msg="failed to update the sandbox_state"',
        "slurmstepd: error: drop_privileges: failed",
        "FATAL:   while writing configuration file",
    ],
)
def test_a_daemon_does_not_refuse_an_argument(line):
    assert of(line + "\n").cause != "wrong-arguments"


def test_the_absent_plugin_of_nccl_is_no_cause():
    line = "Unable to load libnccl-net.so : libnccl-net.so: cannot open shared object file: No such file\n"
    assert of(line).cause == "unproven"
