#!/usr/bin/env bash
# Started by mpirun: one rank.
# shellcheck disable=SC2034
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
self=$here/rank.sh
rank=${OMPI_COMM_WORLD_RANK:?mpirun starts this}
sizes=(2 2)
node=0 local=$rank
while [ "$local" -ge "${sizes[node]}" ]; do local=$((local - sizes[node])); node=$((node + 1)); done
# shellcheck source=common.sh
. "$here/common.sh"
environment+=(
  "RANK=$rank" "LOCAL_RANK=$local" "GROUP_RANK=$node" "LOCAL_WORLD_SIZE=${sizes[node]}"
  WORLD_SIZE=4
  MASTER_ADDR=10.0.0.1 MASTER_PORT=39500
)

exec env -- "${environment[@]}" '/shared/my env/bin/python' \
  -u \
  "${arguments[@]}"
