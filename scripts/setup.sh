#!/usr/bin/env bash
# Makes .venv: the training environment (torch, DeepSpeed, LLaMA-Factory), allranks itself and its tools.
# Quick when nothing changed since the last time.
#
#   scripts/setup.sh             make or update .venv
#   scripts/setup.sh --offload   also build DeepSpeed's CPU optimizer ahead (the offload settings; about 50 s)
#   scripts/setup.sh --python    only name the Python that environments are made with
#   scripts/setup.sh --legacy    make .venvs/legacy alone: the seeds' transformers 4.52.4, for `pytest -m legacy`
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly VENV=.venv
readonly STAMP=$VENV/allranks-setup.sha256
readonly OPS=$VENV/allranks-ops.txt

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }

has_nvidia() { [ -e /proc/driver/nvidia/version ]; }

# What the environment is made from; any change makes it anew.
digest() {
    { sha256sum requirements/torch.txt requirements/locked/main.txt scripts/{setup,locked}.sh pyproject.toml
      find envs/torchaudio/pyproject.toml envs/torchaudio/src -name '*.py' -print0 | sort -z | xargs -0 sha256sum
      sha256sum envs/torchaudio/pyproject.toml
      pwd -P
      if has_nvidia; then echo nvidia; fi
    } | sha256sum | cut -d ' ' -f 1
}

# True where $VENV is what the files ask for, and what was compiled for it is still there.
unchanged() {
    [ -x "$VENV/bin/allranks" ] && [ -f "$STAMP" ] && [ -f "$OPS" ] || return 1
    [ "$(cat "$STAMP")" = "$1" ] || return 1
    while read -r name file; do
        [ -f "$file" ] || return 1
    done < "$OPS"
}

find_python() {
    local name
    for name in python3.11 python3.12 python3.13 python3; do
        if "$name" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
            echo "$name"
            return
        fi
    done
    die "found no Python 3.11, 3.12 or 3.13. LLaMA-Factory 0.9.5, numpy 2.4 and pandas 3 need 3.11." \
        "Install python3.11 (with its venv module) and run this again."
}

# On a machine without a GPU several GB of CUDA packages would be fetched for nothing: look before fetching.
refuse_cuda() { # the virtual environment
    local wanted
    wanted=$("$1/bin/pip" install --dry-run --quiet --ignore-installed --report - -r requirements/torch.txt \
        | "$1/bin/python" -c '
import json, sys
names = [item["metadata"]["name"] for item in json.load(sys.stdin)["install"]]
print(" ".join(name for name in names if name.startswith(("nvidia", "cuda"))))')
    [ -z "$wanted" ] || die "this machine has no NVIDIA driver, yet the torch that pip would install here brings" \
        "CUDA with it ($(wc -w <<< "$wanted") packages: $(cut -c 1-60 <<< "$wanted")...). Nothing was fetched." \
        "Name an index that has PyTorch's CPU builds (see https://pytorch.org/get-started/locally)" \
        "in PIP_EXTRA_INDEX_URL and run this again."
}

# What the packages are, wherever this clone lies; scripts/environments.py keeps them for other clones.
packages_digest() { # a Python
    { sha256sum requirements/torch.txt requirements/locked/main.txt scripts/{setup,locked}.sh
      sha256sum envs/torchaudio/pyproject.toml
      find envs/torchaudio/src -name '*.py' -print0 | sort -z | xargs -0 sha256sum
      "$1" -c 'import platform, sys; print(sys.version, sys.base_prefix, platform.machine())'
      if has_nvidia; then echo nvidia; fi
    } | sha256sum | cut -d ' ' -f 1
}

# Its CPU and its CUDA builds are other files on other indexes, so that no list here can hold the hash of each.
install_torch() { # the virtual environment, what its own needs may be
    local pip=("$1/bin/pip" --disable-pip-version-check install --quiet)
    if [ -n "${ALLRANKS_TORCH_SHA256:-}" ]; then
        say "torch, the file of ALLRANKS_TORCH_SHA256"
        "${pip[@]}" --no-deps --require-hashes -r <(sed "/^torch==/s/\$/ --hash=sha256:$ALLRANKS_TORCH_SHA256/" \
            requirements/torch.txt)
    else
        say "torch, as the index of this machine serves it: no hash is compared (ALLRANKS_TORCH_SHA256 names one)"
    fi
    "${pip[@]}" -r requirements/torch.txt -c "$2"
}

install_packages() {
    local pip=("$VENV/bin/pip" --disable-pip-version-check install --quiet)
    if ! "$VENV/bin/python" -c 'import torch' 2>/dev/null; then
        has_nvidia || refuse_cuda "$VENV"
    fi
    say "the training packages and the tools, by their hashes"
    scripts/locked.sh "$VENV" main
    install_torch "$VENV" requirements/train.txt
    if "$VENV/bin/python" -c 'import sys, torch; sys.exit(torch.version.cuda is None)'; then
        "${pip[@]}" torchaudio torchvision -c requirements/torch.txt -c requirements/train.txt
    else
        "${pip[@]}" --no-deps --no-build-isolation --force-reinstall envs/torchaudio
    fi
}

install_allranks() {
    "$VENV/bin/python" -m pip --disable-pip-version-check install --quiet --no-deps --no-build-isolation -e .
}

# DeepSpeed compiles these at first use, in every rank's start. They are kept in the environment itself
# ($VENV/torch_extensions, see docs/containers.md), so that every run with it finds them, whatever its ALLRANKS_HOME.
build_ops() {
    local builders=(ShareMemCommBuilder)
    if "$VENV/bin/python" -c 'import sys, torch; sys.exit(torch.version.cuda is None)'; then
        builders=() # on GPUs DeepSpeed uses none of these
    fi
    if [ "${1:-}" = offload ]; then builders+=(CPUAdamBuilder); fi
    if [ "${#builders[@]}" -gt 0 ]; then
        command -v "${CXX:-g++}" > /dev/null || die "DeepSpeed compiles its CPU ops and finds no C++ compiler." \
            "Install one (Debian, Ubuntu: apt-get install g++) and run this again."
        say "compiling DeepSpeed's CPU ops: ${builders[*]}"
    fi
    mkdir -p "$VENV/torch_extensions"
    # A run's ranks do not inherit the shell's variable either.
    env -u TORCH_EXTENSIONS_DIR timeout 900 "$VENV/bin/python" - "$OPS.new" "${builders[@]}" <<'PYTHON'
import json, os, subprocess, sys

from allranks.prepare import ops

target, *names = sys.argv[1:]
wanted = [("deepspeed.ops.op_builder.cpu", name) for name in names]
asked = ops.asked(wanted, {"ALLRANKS_CACHE_DIR": os.path.join(sys.prefix, ".cache")})
built = []
if names:
    done = subprocess.run([sys.executable, "-c", ops.BUILD], input=json.dumps(asked).encode(), stdout=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit("setup: DeepSpeed's CPU ops could not be compiled")
    built = json.loads(done.stdout)
with open(target, "w") as out:
    for name, path in built:
        print(name, path, file=out)
PYTHON
    mv "$OPS.new" "$OPS"
}

# Two `make` at once: the second waits and then finds the work done. The two environments are made side by side.
take_turns() { # the environment
    mkdir -p .cache
    exec 9> ".cache/setup-${1//\//-}.lock"
    if command -v flock > /dev/null; then flock 9; fi
}

# The second environment has a folder of its own for compiled ops: DeepSpeed 0.16's and 0.19's have one name.
make_legacy() {
    local venv=.venvs/legacy wanted started=$SECONDS
    wanted=$(sha256sum requirements/torch.txt requirements/locked/legacy.txt scripts/{setup,locked}.sh \
        | sha256sum | cut -d ' ' -f 1)
    made() { [ -f "$venv/allranks-setup.sha256" ] && [ "$(cat "$venv/allranks-setup.sha256")" = "$wanted" ]; }
    if made; then return; fi
    take_turns "$venv"
    if made; then return; fi
    if [ ! -x "$venv/bin/python" ]; then "$(find_python)" -m venv "$venv"; fi
    if ! "$venv/bin/python" -c 'import torch' 2> /dev/null; then
        has_nvidia || refuse_cuda "$venv"
    fi
    say "$venv"
    scripts/locked.sh "$venv" legacy
    install_torch "$venv" requirements/legacy.txt
    PATH="$PWD/$venv/bin:$PATH" TORCH_EXTENSIONS_DIR="$PWD/$venv/torch_extensions" timeout 900 "$venv/bin/python" -c '
from deepspeed.ops.op_builder.cpu import ShareMemCommBuilder
ShareMemCommBuilder().load(verbose=False)' > /dev/null
    echo "$wanted" > "$venv/allranks-setup.sha256"
    say "$venv done in $((SECONDS - started)) s"
}

main() {
    local offload=
    case "${1:-}" in
        "") ;;
        --offload) offload=offload ;;
        --legacy) make_legacy; return ;;
        --python) find_python; return ;;
        *) die "unknown argument: $1 (known: --offload, --legacy, --python)" ;;
    esac
    local wanted
    wanted=$(digest)
    if unchanged "$wanted" && { [ -z "$offload" ] || grep -q CPUAdamBuilder "$OPS"; }; then
        return
    fi
    take_turns "$VENV"
    if unchanged "$wanted" && [ -z "$offload" ]; then
        return
    fi
    local started=$SECONDS python fresh='' taken=''
    if [ ! -x "$VENV/bin/python" ]; then
        fresh=1
        python=$(find_python)
        if "$python" scripts/environments.py take "$VENV" "$(packages_digest "$python")"; then
            say "made $VENV from the packages that another clone installed"
            taken=1
        else
            say "making $VENV with $python"
            "$python" -m venv "$VENV"
        fi
    fi
    if [ ! -f "$STAMP" ] || [ "$(cat "$STAMP")" != "$wanted" ]; then
        rm -f "$STAMP"
        if [ -z "$taken" ]; then
            install_packages
            if [ -n "$fresh" ]; then
                "$VENV/bin/python" scripts/environments.py keep "$VENV" "$(packages_digest "$VENV/bin/python")" || true
            fi
        fi
        install_allranks
    fi
    build_ops "$offload"
    echo "$wanted" > "$STAMP"
    say "done in $((SECONDS - started)) s"
}

main "$@"
