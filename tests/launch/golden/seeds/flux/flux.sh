#!/usr/bin/env bash
# flux run: the script of each node, one task per node.
# shellcheck disable=SC2034
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
# Each task's own shell expands the variables.
# shellcheck disable=SC2016
exec flux run --job-name=deepseek-v3-lora --nodes=3 --ntasks=3 \
  --exclusive --requires=host:node-0,node-1,node-2 --label-io \
  --setopt=cpu-affinity=off --setopt=gpu-affinity=off --setopt=exit-timeout=none \
  --setopt=exit-on-error sh -c 'run=$1 script=$2 own=$(hostname) place=0
shift 2
for name; do
  case $own in "$name"|"$name".*) exec "$run" "${script%%%n*}$place.sh" ;; esac
  place=$((place + 1))
done
echo "$own: no node of the run has this name" >&2
exit 1
' sh bash "$here"/node-%n.sh node-0 node-1 node-2
