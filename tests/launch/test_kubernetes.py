"""Kubernetes: the manifest has the fields that the cluster knows, and its pods run what allranks runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from allranks.core import BadInput, Cluster, Node, extensions
from allranks.launch import jobs, scripts
from allranks.launch.jobs import NodePaths
from allranks.plan import make_plan
from allranks.spec import Container, Environment, Run, Save, Train

NAME = r"[a-z]([-a-z0-9]*[a-z0-9])?"
PATH = r"/.*"
ENV = {
    "name*": r"[A-Za-z_][A-Za-z0-9_]*",
    "value": str,
    "valueFrom": {"secretKeyRef*": {"name*": NAME, "key*": str}},
}
TERM = {
    "matchExpressions": [{"key*": str, "operator*": r"In|NotIn|Exists|DoesNotExist|Gt|Lt", "values": [str]}]
}
AFFINITY = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"allranks": NAME}}, "topologyKey*": str}
        ]
    },
    "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms*": [TERM]}},
}
POD = {
    "restartPolicy": r"Never|OnFailure",
    "terminationGracePeriodSeconds": int,
    "affinity": AFFINITY,
    "containers*": [
        {
            "name*": NAME,
            "image": str,
            "command": [str],
            "workingDir": PATH,
            "env": [ENV],
            "ports": [{"containerPort*": int}],
            "resources": {"limits": {"nvidia.com/gpu": r"[1-9][0-9]*"}},
            "securityContext": {"capabilities": {"add": [str]}},
            "volumeMounts": [{"name*": NAME, "mountPath*": PATH, "readOnly": bool}],
        }
    ],
    "volumes": [
        {
            "name*": NAME,
            "emptyDir": {"medium": r"|Memory", "sizeLimit": r"[0-9]+"},
            "configMap": {"name": NAME},
            "hostPath": {"path*": PATH, "type": r"Directory"},
        }
    ],
}
JOB = {
    "completionMode": r"Indexed|NonIndexed",
    "completions": int,
    "parallelism": int,
    "backoffLimit": int,
    "template*": {"metadata": {"labels": {"allranks": NAME}}, "spec": POD},
}
JOBSET = {
    "apiVersion": r"jobset\.x-k8s\.io/v1alpha2",
    "kind": "JobSet",
    "metadata": {"name": NAME},
    "spec": {
        "failurePolicy": {"maxRestarts": int},
        "network": {"enableDNSHostnames": bool, "publishNotReadyAddresses": bool, "subdomain": NAME},
        "replicatedJobs": [{"name*": NAME, "replicas": int, "template*": {"spec": JOB}}],
    },
}
"""The fields that are used, of JobSet v1alpha2 (v0.13.0-devel) and batch/v1. A name with * is required, a text is a
pattern."""

CONFIG_MAP = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": NAME},
    "data": {"arguments.yaml": str, "deepspeed.json": str},
}
PAIR = (Node("gpu-a", "10.0.0.1", 0, gpus=2), Node("gpu-b", "10.0.0.2", 1, gpus=2))
IMAGE = Container("docker", "org/image@sha256:00", mounts=("/nfs:/nfs", "/data:/in:ro"), shm_bytes=2**30)


def problems(value: Any, schema: Any, at: str = "") -> list[str]:
    """Fields that are unknown or missing, and values of another form."""
    if isinstance(schema, dict):
        if not isinstance(value, dict):
            return [f"{at}: not a mapping"]
        forms = {key.rstrip("*"): form for key, form in schema.items()}
        missing = [
            f"{at}.{key[:-1]}: missing" for key in schema if key.endswith("*") and key[:-1] not in value
        ]
        unknown = [f"{at}.{key}: unknown" for key in value if key not in forms]
        inner = [p for key in value if key in forms for p in problems(value[key], forms[key], f"{at}.{key}")]
        return missing + unknown + inner
    if isinstance(schema, list):
        if not isinstance(value, list):
            return [f"{at}: not a list"]
        return [p for place, item in enumerate(value) for p in problems(item, schema[0], f"{at}[{place}]")]
    if isinstance(schema, str):
        return (
            [] if isinstance(value, str) and re.fullmatch(schema, value, re.DOTALL) else [f"{at}: {value!r}"]
        )
    return [] if type(value) is schema else [f"{at}: {value!r}"]


def run_of(**changes: Any) -> Run:
    run = Run(
        name="Lora_1",
        cluster=Cluster(PAIR),
        train=Train("command", command=("/nfs/train.py", "--lr=1e-5")),
        container=IMAGE,
        environment=Environment(python="/opt/env/bin/python"),
        save=Save(to="/nfs/out"),
    )
    return replace(run, **changes)


def rendered(run: Run) -> list[dict[str, Any]]:
    files = scripts.render("kubernetes", run, make_plan(run), run.environment.python or "python3")
    return list(yaml.safe_load_all(files["jobset.yaml"].text))


def readme(run: Run) -> str:
    return scripts.render("kubernetes", run, make_plan(run), "python3")["README.md"].text


def pod_of(run: Run) -> dict[str, Any]:
    return rendered(run)[-1]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]


def expanded(word: str, variables: dict[str, str]) -> str:
    """As the kubelet expands `command` and `env`: `$$` is `$`, and an unknown variable stays as it stands."""
    return re.sub(
        r"\$(\$|\(([^)]*)\))",
        lambda m: "$" if m[1] == "$" else variables.get(m[2], m[0]),
        word,
    )


def llamafactory(**more: Any) -> Run:
    arguments = {
        "model_name_or_path": "/nfs/model",
        "dataset": "d",
        "finetuning_type": "lora",
        "use_cpu": True,
    }
    return run_of(train=Train("llamafactory", arguments={**arguments, **more}))


@pytest.mark.parametrize("run", [run_of(), run_of(secrets=("HF_TOKEN",), code="/nfs/code"), llamafactory()])
def test_every_field_is_one_that_the_cluster_knows(run: Run) -> None:
    *maps, jobset = rendered(run)
    assert problems(jobset, JOBSET) == []
    assert [problems(one, CONFIG_MAP) for one in maps] == ([[]] if run.train.kind == "llamafactory" else [])


def test_a_wrong_field_is_found() -> None:
    jobset = rendered(run_of())[-1]
    jobset["spec"]["replicatedJobs"][0]["template"]["spec"] |= {"completionMode": "indexed", "retries": 3}
    del jobset["spec"]["replicatedJobs"][0]["name"]
    found = problems(jobset, JOBSET)
    assert len(found) == 3 and any("retries: unknown" in one for one in found)


def test_the_completion_index_is_the_node_rank_and_the_first_pod_the_head() -> None:
    jobset = rendered(run_of())[-1]
    (replicated,) = jobset["spec"]["replicatedJobs"]
    job = replicated["template"]["spec"]
    assert (job["completionMode"], job["completions"], job["parallelism"]) == ("Indexed", 2, 2)
    words = job["template"]["spec"]["containers"][0]["command"]
    assert "--node-rank=$(JOB_COMPLETION_INDEX)" in words
    name, service = jobset["metadata"]["name"], jobset["spec"]["network"]["subdomain"]
    assert f"--master-addr={name}-{replicated['name']}-0-0.{service}" in words


NASTY = (
    *("$HOME", "$(JOB_COMPLETION_INDEX)", "$$(A)", "a b", "it's", 'say "x"', "line 1\nline 2"),
    *("\ttab", "ü→", "{{x}}", "- a: b", ""),
)


def test_every_pod_gets_allranks_own_words_and_variables() -> None:
    run = run_of(
        train=Train("command", command=("/nfs/train.py", *NASTY)),
        env={f"V{place}": value for place, value in enumerate(NASTY)},
    )
    container = pod_of(run)["containers"][0]
    for node in PAIR:
        given = {"JOB_COMPLETION_INDEX": str(node.rank), "A": "wrong"}
        places = NodePaths(home="/h", bundle="", python="/opt/env/bin/python")
        job = jobs.node_job(run, make_plan(run), run.name, node, places, run.network.rendezvous_port, 0).job
        told = [expanded(word, given) for word in container["command"]]
        apart = ("--node-rank=", "--master-addr=")
        assert [w for w in told if not w.startswith(apart)] == [
            w for w in job["argv"] if not w.startswith(apart)
        ]
        assert f"--node-rank={node.rank}" in told
        variables = {one["name"]: expanded(one["value"], given) for one in container["env"]}
        assert variables == {name: value for name, value in job["env"].items() if name != extensions.CACHE}


def test_a_pod_has_its_gpus_shared_memory_and_the_mounts() -> None:
    pod = pod_of(run_of())
    (container,) = pod["containers"]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": "2"}
    volumes = {one["name"]: one for one in pod["volumes"]}
    where = {
        one["mountPath"]: (volumes[one["name"]], one.get("readOnly", False))
        for one in container["volumeMounts"]
    }
    assert where["/dev/shm"][0]["emptyDir"] == {"medium": "Memory", "sizeLimit": str(2**30)}
    assert where["/nfs"][0]["hostPath"]["path"] == "/nfs" and not where["/nfs"][1]
    assert where["/in"][0]["hostPath"]["path"] == "/data" and where["/in"][1]


def test_the_trainers_files_are_where_it_looks_for_them() -> None:
    *maps, jobset = rendered(llamafactory())
    pod = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    *_, launcher, arguments, word = pod["containers"][0]["command"]
    key, _, path = word.partition("=")
    assert (launcher, key) == ("llamafactory.launcher", "deepspeed")
    assert maps[0]["data"][arguments.rpartition("/")[2]].startswith("model_name_or_path: /nfs/model\n")
    (mount,) = [
        one for one in pod["containers"][0]["volumeMounts"] if path.startswith(one["mountPath"] + "/")
    ]
    assert arguments.startswith(mount["mountPath"] + "/")
    (volume,) = [one for one in pod["volumes"] if one["name"] == mount["name"]]
    assert volume["configMap"]["name"] == maps[0]["metadata"]["name"]
    assert "zero_optimization" in json.loads(maps[0]["data"][path.rpartition("/")[2]])


def test_secrets_come_from_the_cluster_by_name() -> None:
    run = run_of(secrets=("HF_TOKEN",))
    (secret,) = [one for one in pod_of(run)["containers"][0]["env"] if one["name"] == "HF_TOKEN"]
    assert (
        secret["valueFrom"] == {"secretKeyRef": {"name": "lora-1", "key": "HF_TOKEN"}}
        and "value" not in secret
    )


def test_no_secret_stands_in_a_command_line_of_the_readme(tmp_path: Path) -> None:
    run = run_of(secrets=("HF_TOKEN", "KEY_2"))
    command = next(line for line in readme(run).splitlines() if line.startswith("kubectl create secret"))
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(
        '#!/bin/bash\nprintf "%s\\n" "$*"\nfor word; do [ "${word##*=}" = "$word" ] || cat "${word##*=}"; done\n'
    )
    kubectl.chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HF_TOKEN": "a b\n$c", "KEY_2": "it's"}
    told = subprocess.run(["bash", "-c", command], env=env, capture_output=True, text=True, timeout=60).stdout
    words, _, values = told.partition("\n")
    assert values == "a b\n$cit's" and "a b" not in words and "lora-1 --from-file=HF_TOKEN=/" in words


def test_the_readme_says_what_a_cluster_needs_and_nothing_of_scripts() -> None:
    text = readme(run_of(secrets=("HF_TOKEN",), code="/nfs/code"))
    assert "kubernetes.io/hostname" in text and "hostPath" in text and "`/nfs/code`, in the image" in text
    for wrong in ("script", "docker", "10.0.0.1", "This folder"):
        assert wrong not in text.partition("## What `allranks run`")[0].replace("training script", ""), wrong


def test_a_mount_with_several_options_is_read_only_if_one_is_ro() -> None:
    pod = pod_of(run_of(container=replace(IMAGE, mounts=("/nfs:/nfs", "/data:/in:z,ro"))))
    assert [one["readOnly"] for one in pod["containers"][0]["volumeMounts"] if one["mountPath"] == "/in"] == [
        True
    ]


@pytest.mark.parametrize(("known", "machines"), [(True, ["gpu-a", "gpu-b"]), (False, None)])
def test_named_machines_are_the_only_ones_and_none_gets_two_pods(
    known: bool, machines: list[str] | None
) -> None:
    affinity = pod_of(run_of(nodes_known=known))["affinity"]
    (alone,) = affinity["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert alone["topologyKey"] == "kubernetes.io/hostname"
    wanted = affinity.get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    assert (wanted and wanted["nodeSelectorTerms"][0]["matchExpressions"][0]["values"]) == machines


@pytest.mark.parametrize("name", ["Lora_1", "1run", "a" * 63, "7-._", "x" * 39 + "-y"])
def test_a_pods_host_name_fits_into_dns(name: str) -> None:
    jobset = rendered(run_of(name=name))[-1]
    assert re.fullmatch(NAME, jobset["metadata"]["name"]), jobset["metadata"]["name"]
    assert len(f"{jobset['metadata']['name']}-node-0-9999") <= 63


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"container": None}, "a pod starts an image"),
        ({"save": Save()}, "goes with the pod"),
        ({"save": Save(to="/home/me/out")}, "goes with the pod"),
        ({"save": Save(to="/nfs-2/out")}, "goes with the pod"),
        ({"save": Save(to="/in/out")}, "goes with the pod"),
        ({"save": Save(to="/nfs/../out")}, "goes with the pod"),
        ({"container": replace(IMAGE, mounts=("~/data:/nfs",))}, "a pod knows no home folder"),
        ({"container": replace(IMAGE, mounts=("/nfs:/nfs", "/dev/shm:/dev/shm"))}, "two mounts at /dev/shm"),
        ({"container": replace(IMAGE, mounts=("/nfs:/nfs", "/a:/nfs/"))}, "two mounts at /nfs"),
        ({"container": replace(IMAGE, engine="apptainer", image="/images/x.sif")}, "is a file"),
        ({"container": replace(IMAGE, pip=("numpy",))}, "without a shell"),
        ({"container": replace(IMAGE, extra={"privileged": True})}, "without a shell"),
        ({"environment": Environment(modules=("cuda",))}, "without a shell"),
        ({"train": Train("command", command=("~/train.py",))}, "home folder"),
        ({"sweep": {"lr": (1, 2)}}, "sweep: 2 runs"),
        ({"cluster": Cluster((PAIR[0], replace(PAIR[1], gpus=3)))}, "3 GPUs"),
        ({"cluster": Cluster((PAIR[0], replace(PAIR[1], env=(("OWN", "x"),))))}, "OWN"),
    ],
)
def test_what_a_manifest_cannot_say_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=re.escape(said)):
        rendered(run_of(**changes))
