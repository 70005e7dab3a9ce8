"""The container did not start.

## How it is found
`pyxis: couldn't start container`, `pyxis: failed to import docker image`, Docker's `Error response from daemon` with
`OCI runtime create failed`, `manifest unknown` or `could not select device driver`, Apptainer's
`FATAL: container creation failed`, Kubernetes' `ImagePullBackOff` and `CreateContainerError`.

Easily confused with no-nvidia-driver, where the container starts without a GPU; missing-system-tool, where it starts
and a program is missing in it.

## Why it matters
No training process was started on that node, and the ranks of the other nodes wait for it.

## What to do
Start the image by hand on that node. If the pull fails, check its name, tag and registry login. If the image is there,
the line names what failed: a mount, the entry point, the user namespace, or a folder that may not be written.
`could not select device driver`: install the NVIDIA Container Toolkit there (`nvidia-ctk runtime configure`).

## Source
Docker's daemon (moby) returns `could not select device driver` in `daemon/errors.go` and `unknown or
invalid runtime name` in `daemon/runtime_unix.go`. Kubernetes defines `ImagePullBackOff` and `ErrImagePull`
in `pkg/kubelet/images/types.go`. pyxis 0.24.0 prints `failed to import docker image` and `container start
failed` in `pyxis_slurmstepd.c`. SLURM prints `required plugin` in `src/common/spank.c`. The other texts are
as people posted them in public reports.

Topic: start
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import WEAK, Pattern
from allranks.diagnose.symptoms.missing_system_tool import CAUSE as MISSING_SYSTEM_TOOL

CAUSE = Cause(__name__, explains=(MISSING_SYSTEM_TOOL,))
COMPLAINT = Complaint(
    subject=(
        r"\b(?:(?:[dD]ocker|[pP]odman|[aA]pptainer|[sS]ingularity)(?=:| (?:run|pull|exec"
        r"|start)\b|d\b| daemon|.{0,40} start)"
        r"|containerd|[eE]nroot|pyxis|runc|crun|OCI|CDI|nvidia-container-\w{3,12}"
        r"|nvidia-ctk|shim task|ContainerCreating|FailedMount|MountVolume|attach or mount"
        r"|FailedAttachVolume|FailedCreatePodSandBox"
        r"|\w{0,10} ?namespace|containers? (?:\w{1,10}[ '’]){0,3}(?:start|launch)\w{0,3}|(?:container"
        r"|image) (?:pull|create|creation|start|image|registry|runtime)|(?:pull|unpack)(?:ing"
        r"|ed)? (?:the )?image|FailedPullImage|toomanyrequests|pull rate limit|matching manifest"
        r"|exec format error|create container|squashfs|(?:Err)?ImagePull(?:BackOff)?|PodInitializing"
        r"|(?:wrong|missing|invalid|private) (?:docker |container )?image|waiting to start)\b"
        r"|\u5bb9\u5668|\u955c\u50cf"
    ),
    hints=(
        r"\b(?<!in )(?<!inside )(?<!in the )(?<!in a )(?<!docker )(?:[dD]ocker|[pP]odman"
        r"|[aA]pptainer|[sS]ingularity)\b"
        r"(?! containers?\b)(?!.{0,80}(?:\b[kK]illed\b|\b137\b))"
    ),
)
PATTERNS = (
    Pattern(
        "NVIDIA Container Runtime",
        r"(?i)(?:failed|error|could not).{0,80}NVIDIA Container Runtime",
        weight=96,
    ),
    Pattern("unknown or invalid runtime name", weight=96),
    Pattern("nvidia-container-cli", r"nvidia-container-cli: \w{1,40} error", weight=96),
    Pattern("unresolvable CDI devices", weight=96),
    Pattern("could not select device driver", r"capabilities: \[\[(?:gpu|compute|utility)", weight=98),
    Pattern("couldn't start container", weight=96),
    Pattern("pyxis: ", r"pyxis: (?:failed to (?:import|create)|container start failed)", weight=96),
    Pattern("spank: required plugin", r"spank_pyxis\.so: \w{1,40}\(\) failed", weight=90),
    Pattern("OCI runtime", r"OCI runtime (?:create|exec|start) failed", weight=96),
    Pattern("OCI runtime", r"(?:crun|runc)\b.{0,200}OCI runtime", weight=96),
    Pattern(
        "Error response from daemon",
        r"daemon: (?!could not select device driver).{0,200}(?i:manifest|not found|unauthorized|invalid"
        r"|denied|failed"
        r"|conflict|cannot|no such|already)",
        weight=92,
    ),
    Pattern("manifest unknown", weight=92),
    Pattern("connect to the Docker daemon", weight=92),
    Pattern("container creation failed", weight=96),
    Pattern(
        "FATAL", r"FATAL:\s{1,8}(?:While|Unable|could not|Couldn't|image|Image|failed).{0,200}", weight=84
    ),
    Pattern("enroot", r"\[ERROR\].{0,200}enroot|enroot-\w{2,20}: failed", weight=92),
    Pattern("ImagePullBackOff"),
    Pattern("ErrImagePull"),
    Pattern("CreateContainerError"),
    Pattern("CreateContainerConfigError"),
    Pattern("RunContainerError"),
    Pattern("Back-off pulling image", weight=WEAK),
)
