"""The versions of the packages in the training environment, from their metadata: nothing is imported."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Mapping, Optional

from allranks.node.facts import _commands, _environment
from allranks.node.facts._reading import Reading, Unreadable

SECONDS = 25.0

PACKAGES = (
    "torch", "deepspeed", "transformers", "peft", "accelerate", "datasets", "tokenizers", "trl", "llamafactory",
    "tensorboard", "safetensors", "numpy", "pyarrow", "tensorboardX", "wandb", "swanlab", "mlflow", "ray", "triton",
    "flash_attn", "bitsandbytes", "ninja", "mpi4py", "huggingface_hub",
)  # fmt: skip
"""The training stack, its loggers, and `nvidia-*` (found by name), whose versions torch and NCCL depend on."""

_SCRIPT = r"""
import json, os, sys
wanted = set(n.lower().replace("_", "-") for n in sys.argv[1:])
sources = ("llamafactory", "transformers", "deepspeed", "peft", "accelerate", "trl", "datasets")
versions, folders, requires = {}, {"torch": [], "llamafactory": [], "nvidia": []}, {}
for folder in sys.path:
    try:
        entries = sorted(os.listdir(folder or "."))
    except OSError:
        continue
    for entry in entries:
        if entry in folders and not folders[entry]:
            folders[entry] = [os.path.join(folder, entry)]
        stem, ending = os.path.splitext(entry)
        if ending not in (".dist-info", ".egg-info"):
            continue
        # The folder is named after distribution and version, as the specification of installed projects has it.
        name, _, version = stem.partition("-")
        key = name.lower().replace("_", "-").replace(".", "-")
        if key in versions or not version or (key not in wanted and not key.startswith("nvidia-")):
            continue
        versions[key] = version.split("-py")[0]
        if key in sources:
            try:
                with open(os.path.join(folder, entry, "METADATA"), encoding="utf-8", errors="replace") as file:
                    head = file.read(1 << 18).split("\n\n", 1)[0].splitlines()
                needs = [row.split(":", 1)[1].strip() for row in head if row.startswith("Requires-Dist:")]
                requires[key] = [need for need in needs if ";" not in need][:80]
            except OSError:
                pass
cuda = {}
for folder in folders["torch"]:
    try:
        with open(os.path.join(folder, "version.py")) as file:
            for line in file:
                left, _, right = line.partition("=")
                left = left.split(":")[0].strip()
                if left in ("cuda", "hip", "debug", "git_version"):
                    cuda[left] = right.strip().strip("'\"")
    except OSError:
        pass
print(json.dumps({
    "version": "%d.%d.%d" % sys.version_info[:3], "implementation": sys.implementation.name,
    "executable": sys.executable, "prefix": sys.prefix, "path": sys.path, "versions": versions,
    "folders": folders, "requires": requires, "torch_build": cuda, "usable": sys.version_info >= (3, 8)}))
"""
"""Reads the names of the installed projects' folders and a few METADATA files: importing importlib.metadata and
asking it takes three times as long, on every node. An editable install has a `.dist-info` of its own, too."""


def read(request: Mapping[str, Any], reading: Reading) -> None:
    answer = reading.source("python", lambda: _environment.run_python(request, _SCRIPT, list(PACKAGES)))
    if answer is None:
        reading.miss("versions", "the training environment's Python did not answer: see software.python")
    else:
        reading.fact("python", parse_python, answer)
        reading.fact("versions", parse_versions, answer)
        reading.fact("requires", parse_requires, answer)
        reading.put("launcher", launcher(answer))
        reading.put("torch_cuda", torch_cuda(answer))
    reading.fact("ninja", lambda: which(request, "ninja"))
    reading.fact("compiler", lambda: compiler(request))
    reading.fact("nvcc", lambda: nvcc(request))
    wanted = [name for name in request.get("programs") or () if isinstance(name, str)]
    reading.fact("programs", lambda: {name: which(request, name) for name in wanted})


def which(request: Mapping[str, Any], name: str) -> Optional[str]:
    return _commands.which(name, path=_environment.environment(request).get("PATH"))


def compiler(request: Mapping[str, Any]) -> Optional[Dict[str, str]]:
    """The C++ compiler that torch's extensions would use: `$CXX`, else `c++`, as torch.utils.cpp_extension."""
    environment = _environment.environment(request)
    name = environment.get("CXX") or "c++"
    path = _commands.which(name, path=environment.get("PATH"))
    if path is None:
        return None
    done = _commands.run([path, "-dumpfullversion", "-dumpversion"], 5.0, environment)
    return {"path": path, "version": done.out.strip()[:40]}


def nvcc(request: Mapping[str, Any]) -> Optional[Dict[str, str]]:
    """`nvcc` as torch finds it (`torch.utils.cpp_extension._find_cuda_home`): of `$CUDA_HOME` or `$CUDA_PATH` alone,
    else of PATH, else of /usr/local/cuda. DeepSpeed builds its CUDA operators with it."""
    environment = _environment.environment(request)
    home = environment.get("CUDA_HOME") or environment.get("CUDA_PATH")
    folders = [os.path.join(home, "bin")] if home else [environment.get("PATH", ""), "/usr/local/cuda/bin"]
    path = _commands.which("nvcc", path=os.pathsep.join(folders))
    if path is None:
        return None
    return {"path": path, "version": parse_nvcc(_commands.output([path, "--version"], 5.0, environment))}


# ---- parsers ----


def parse_python(answer: Mapping[str, Any]) -> Dict[str, Any]:
    if not isinstance(answer.get("version"), str):
        raise Unreadable("the training environment's Python names no version")
    return {key: answer.get(key) for key in ("version", "implementation", "executable", "prefix")}


def parse_versions(answer: Mapping[str, Any]) -> Dict[str, Optional[str]]:
    """Version by package, None if it is not installed; `nvidia-*` only if they are."""
    seen = answer.get("versions")
    seen = {str(k): str(v) for k, v in seen.items()} if isinstance(seen, Mapping) else {}
    found: Dict[str, Optional[str]] = {name: seen.get(name.lower().replace("_", "-")) for name in PACKAGES}
    found.update({name: version for name, version in seen.items() if name.startswith("nvidia-")})
    return found


def parse_requires(answer: Mapping[str, Any]) -> Dict[str, List[str]]:
    """What each package of the trainer says of itself that it needs, of those that `versions` knows."""
    seen = answer.get("requires")
    known = {name.lower().replace("_", "-") for name in PACKAGES}
    found = {}
    for name, needs in seen.items() if isinstance(seen, Mapping) else ():
        texts = [need for need in needs if isinstance(need, str)] if isinstance(needs, list) else []
        found[str(name)] = [need for need in texts if required_name(need) in known]
    return found


def required_name(need: str) -> str:
    match = re.match(r"[A-Za-z0-9._-]+", need)
    return match.group().lower().replace("_", "-") if match else ""


def launcher(answer: Mapping[str, Any]) -> Optional[str]:
    """LLaMA-Factory's entry point under torchrun, if its installation has one."""
    folders = answer.get("folders")
    for folder in (folders.get("llamafactory") or []) if isinstance(folders, Mapping) else []:
        path = os.path.join(str(folder), "launcher.py")
        if os.path.exists(path):
            return path
    return None


def torch_cuda(answer: Mapping[str, Any]) -> Optional[str]:
    """The CUDA version that torch was built for; None for a CPU build."""
    build = answer.get("torch_build")
    cuda = build.get("cuda") if isinstance(build, Mapping) else None
    return cuda if isinstance(cuda, str) and re.fullmatch(r"[\d.]+", cuda) else None


def parse_nvcc(output: str) -> str:
    match = re.search(r"release (\d+\.\d+)", output)
    if match is None:
        raise Unreadable("nvcc --version names no release")
    return match.group(1)
