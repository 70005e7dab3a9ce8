#!/usr/bin/env bash
# The system packages that the tests need: installed where we are root on Debian or Ubuntu, named elsewhere.
#
#   scripts/system.sh             all of them
#   scripts/system.sh PROGRAM…    only what brings these programs
set -euo pipefail

declare -A needs=(
  [chromium]=chromium            # the report is rendered in a real browser
  [g++]=g++                      # DeepSpeed compiles its CPU collectives
  [sshd]=openssh-server          # the rig's nodes: this and the next two
  [ip]=iproute2
  [iptables]=iptables
  [dockerd]=docker.io            # a Docker engine on each node of the rig; the next two for podman's command line
  [podman]=podman
  [runc]=runc
  [shellcheck]=shellcheck        # rendered scripts are read by the tools they are for: these six
  [pdsh]=pdsh
  [mpirun]=openmpi-bin
  [ansible-playbook]=ansible-core
  [sbatch]=slurm-client
  [slurmctld]=slurmctld          # sbatch --test-only asks it; the rig's SLURM: this and the next two
  [slurmd]=slurmd
  [munged]=munge
  [groff]=groff-base             # reads the man page as man does
  [prometheus]=prometheus        # scrapes a run's metrics, and its promtool checks them
  [tcsh]=tcsh                    # login shells that users have: these three
  [zsh]=zsh
  [fish]=fish
)
missing=()
[ $# -gt 0 ] || set -- "${!needs[@]}"
needs[clush]=clustershell        # peers of a benchmark, which names them: these two
needs[ansible]=ansible-core
for program in "$@"; do
  PATH="$PATH:/usr/sbin:/sbin" command -v "$program" >/dev/null || missing+=("${needs[$program]}")
done
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
else
  echo "tests need these packages, and only root can install them: ${missing[*]}" >&2
  exit 1
fi
