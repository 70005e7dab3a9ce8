"""Kubernetes: an indexed JobSet, one pod per node, each with its torchrun.

A pod's completion index is its node rank. The pods meet at the first pod's name in the JobSet's headless service.
Kubernetes chooses the machines; if the run file names machines, it chooses among those. All values are in the
manifest, where no shell reads them. `$` is doubled there, since Kubernetes expands `$(NAME)`. Fields:
jobset.x-k8s.io/v1alpha2 (JobSet v0.13.0-devel) and batch/v1.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Any

from allranks.launch.scripts import _shell
from allranks.launch.scripts._job import File, ScriptJob
from allranks.launch.scripts._phrases import HERE, NUL
from allranks.launch.scripts._readme import readme
from allranks.spec import Container
from allranks.spec.launchers import Launcher

FOLDER = "/allranks"
"""The folder in which the pods see the files that the trainer reads."""

SHARED_MEMORY = "/dev/shm"

JOB, CONTAINER = "node", "training"
INDEX = "$(JOB_COMPLETION_INDEX)"
"""A variable that the Job controller gives each pod of an indexed Job; Kubernetes expands it in `command`."""

LONGEST_NAME = 40
"""A pod's host name, NAME-node-0-INDEX, is a DNS label of at most 63 characters."""


def render(job: ScriptJob) -> Mapping[str, File]:
    _shell.no_sweep(job, "kubernetes")
    _shell.one_machine_each(job, "kubernetes")
    _shell.same_gpus(job, "kubernetes")
    _shell.no_own_environment(job, "kubernetes")
    container = image(job)
    name = name_of(job.run.name)
    documents = [*([config_map(job, name)] if job.files else []), jobset(job, container, name)]
    how = (
        f"```sh\nkubectl apply -f jobset.yaml\nkubectl logs -f {name}-{JOB}-0-0-<TAB>    # the first node\n"
        f"kubectl delete jobset {name}\n```\n\n"
        "The cluster needs the JobSet controller (jobset.sigs.k8s.io)"
        + (" and NVIDIA's device plugin.\n" if job.uses_gpu else ".\n")
    )
    if job.run.secrets:
        # Bash writes the values into pipes, so no command line shows them.
        given = " ".join(f'--from-file={key}=<(printf %s "${key}")' for key in job.run.secrets)
        how += (
            "\nThe secrets come from the cluster, and must be there first. In bash:\n\n"
            f"```sh\nkubectl create secret generic {name} {given}\n```\n"
        )
    return {"jobset.yaml": File(dumped(documents)), **readme(job, "Kubernetes", how, needs(job))}


def needs(job: ScriptJob) -> str:
    lines = [f"- `{job.python}` in the image, with torch and what the training script imports."]
    if job.run.code is not None:
        lines.append(f"- The code, `{job.run.code}`, in the image or in a mount; the training starts there.")
    if job.run.nodes_known:
        lines.append("- Machines whose label `kubernetes.io/hostname` is the node's name in the run file.")
    if job.run.container and job.run.container.mounts:
        lines.append(
            "- The folders of `container.mounts` on each machine, and a namespace that allows `hostPath`."
        )
    lines.append(f"- Output goes to `{job.output_dir}`. A second start uses the same folder.")
    return "\n".join(lines) + "\n"


def image(job: ScriptJob) -> Container:
    """The container that the pods run. Raises BadInput for settings that a manifest without a shell cannot express."""
    run, container = job.run, job.container
    if container is None:
        do = "container: {image: …, mounts: [/nfs:/nfs]}"
        raise run.refuse("container", "no container.", "a pod starts an image.", do)
    mounts = [split(mount) for mount in container.mounts]
    home = next((source for source, _, _ in mounts if source.startswith("~")), None)
    places = [SHARED_MEMORY, FOLDER, *(posixpath.normpath(target) for _, target, _ in mounts)]
    twice = next((place for place in places if places.count(place) > 1), None)
    to = posixpath.normpath(run.save.to or ".")
    kept = any(f"{to}/".startswith(f"{target.rstrip('/')}/") for _, target, ro in mounts if not ro)
    file = container.image.startswith("/") or container.image.endswith(".sif")
    shell = "the pods start Python itself, without a shell before it."
    gone = "what a pod writes elsewhere goes with the pod."
    below = "save: {to: a folder below a mount that can be written}"
    keys = ("container.pip", "container.extra", "environment.modules", "environment.activate")
    values = (container.pip, container.extra, run.environment.modules, run.environment.activate)
    refused = (
        ("container.image", file, f"{container.image} is a file.", "a pod pulls its image.", "org/image:tag"),
        ("container.mounts", home, f"{home} is mounted.", "a pod knows no home folder.", "the whole path"),
        ("container.mounts", twice, f"two mounts at {twice}.", "the pod's own count too.", "another path"),
        ("save.to", not kept, f"save.to: {run.save.to or 'missing'}.", gone, below),
        *(
            (key, set_, f"{key} is set.", shell, "an image that has it")
            for key, set_ in zip(keys, values, strict=True)
        ),
    )
    for key, wrong, *words in refused:
        if wrong:
            raise run.refuse(key, *words)
    return container


def split(mount: str) -> tuple[str, str, bool]:
    """(source, target, whether it is read-only)."""
    source, target, *options = mount.split(":")
    return source, target, "ro" in ",".join(options).split(",")


def name_of(run: str) -> str:
    """The run's name in the form that Kubernetes accepts: lower-case letters, digits and dashes, beginning with a
    letter."""
    name = re.sub(r"[^a-z0-9]+", "-", run.lower()).strip("-")
    return (name if name[:1].isalpha() else f"run-{name}")[:LONGEST_NAME].strip("-")


def config_map(job: ScriptJob, name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": job.files,
    }


def jobset(job: ScriptJob, container: Container, name: str) -> dict[str, Any]:
    count = len(job.nodes)
    one = {
        "completionMode": "Indexed",
        "completions": count,
        "parallelism": count,
        "backoffLimit": 0,
        "template": {"metadata": {"labels": {"allranks": name}}, "spec": pod(job, container, name)},
    }
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name},
        "spec": {
            # If only one node were restarted, it would wait for the others forever.
            "failurePolicy": {"maxRestarts": 0},
            "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True, "subdomain": name},
            "replicatedJobs": [{"name": JOB, "replicas": 1, "template": {"spec": one}}],
        },
    }


def pod(job: ScriptJob, container: Container, name: str) -> dict[str, Any]:
    volumes, mounts = volumes_of(job, container, name)
    training: dict[str, Any] = {"name": CONTAINER, "image": container.image, "command": command(job, name)}
    training |= {"workingDir": job.workdir} if job.workdir else {}
    training["env"] = variables(job, name)
    training["ports"] = [{"containerPort": job.run.network.rendezvous_port}]
    if job.uses_gpu:
        training["resources"] = {"limits": {"nvidia.com/gpu": str(job.nodes[0].gpus)}}
        # NCCL pins host memory.
        training["securityContext"] = {"capabilities": {"add": ["IPC_LOCK"]}}
    training["volumeMounts"] = mounts
    return {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": job.run.save.grace_seconds,
        "affinity": affinity(job, name),
        "containers": [training],
        "volumes": volumes,
    }


def command(job: ScriptJob, name: str) -> list[str]:
    """The pod's torchrun: its node rank is the completion index, and the head is the first pod."""
    words = job.torchrun(job.nodes[0])
    torchrun = [word for word in words if not word.startswith(("--node-rank=", "--master-addr="))]
    own = [f"--node-rank={INDEX}", f"--master-addr={name}-{JOB}-0-0.{name}"]
    return [*(text(job, word) for word in torchrun), *own, *(text(job, word) for word in job.script())]


def variables(job: ScriptJob, name: str) -> list[dict[str, Any]]:
    found = [{"name": key, "value": text(job, value)} for key, value in job.environment(job.nodes[0]).items()]
    refs = [
        {"name": key, "valueFrom": {"secretKeyRef": {"name": name, "key": key}}} for key in job.run.secrets
    ]
    return [*found, *refs]


def volumes_of(job: ScriptJob, container: Container, name: str) -> tuple[list[Any], list[Any]]:
    """The volumes. The run file's mounts are folders of the machine; shared memory belongs to the pod."""
    shared: dict[str, Any] = {"medium": "Memory"}
    shared |= {"sizeLimit": str(container.shm_bytes)} if container.shm_bytes is not None else {}
    volumes: list[Any] = [{"name": "shared-memory", "emptyDir": shared}]
    mounts: list[Any] = [{"name": "shared-memory", "mountPath": SHARED_MEMORY}]
    if job.files:
        volumes.append({"name": "configuration", "configMap": {"name": name}})
        mounts.append({"name": "configuration", "mountPath": FOLDER, "readOnly": True})
    for place, mount in enumerate(container.mounts):
        source, target, only_read = split(mount)
        volumes.append({"name": f"mount-{place}", "hostPath": {"path": source, "type": "Directory"}})
        mounts.append({"name": f"mount-{place}", "mountPath": target, "readOnly": only_read})
    return volumes, mounts


def affinity(job: ScriptJob, name: str) -> dict[str, Any]:
    """The rules that put one pod on each machine, and only on machines that the run file names, if it names any."""
    alone = {"labelSelector": {"matchLabels": {"allranks": name}}, "topologyKey": "kubernetes.io/hostname"}
    found: dict[str, Any] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [alone]}}
    if job.run.nodes_known:
        names = [node.name for node in job.nodes]
        term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": names}]}
        required = {"nodeSelectorTerms": [term]}
        found["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": required}
    return found


def text(job: ScriptJob, word: str) -> str:
    """A word for the manifest: Kubernetes turns `$$` into `$`."""
    word = word.replace(HERE, FOLDER)
    if NUL in word:
        raise job.run.refuse(
            "train",
            "a path that begins with ~.",
            "a pod's home folder is not known.",
            "the whole path in the container",
        )
    return word.replace("$", "$$")


def dumped(documents: list[dict[str, Any]]) -> str:
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes the text of a file into the manifest line by line."""

    def written(dumper: Any, value: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, written)
    options = {"explicit_start": True, "sort_keys": False, "allow_unicode": True, "width": 110}
    return yaml.dump_all(documents, Dumper=Dumper, **options)


LAUNCHER = Launcher(
    name="kubernetes",
    says="An indexed JobSet, one pod per node.",
    starts=False,
    render=render,
)
