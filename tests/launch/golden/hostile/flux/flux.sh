#!/usr/bin/env bash
# flux run: the script of each node, one task per node.
# shellcheck disable=SC2034
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
: "${HF_TOKEN:?export HF_TOKEN where this is started: its value is not in any file}"
# Each task's own shell expands the variables.
# shellcheck disable=SC2016
exec flux run --job-name=hostile --nodes=2 --ntasks=2 --exclusive \
  --requires=host:alpha,beta --label-io --setopt=cpu-affinity=off \
  --setopt=gpu-affinity=off --setopt=exit-timeout=none --setopt=exit-on-error sh \
  -c 'run=$1 script=$2 own=$(hostname) place=0
shift 2
for name; do
  case $own in "$name"|"$name".*) exec "$run" "${script%%%n*}$place.sh" ;; esac
  place=$((place + 1))
done
echo "$own: no node of the run has this name" >&2
exit 1
' sh bash "$here"/node-%n.sh alpha beta
