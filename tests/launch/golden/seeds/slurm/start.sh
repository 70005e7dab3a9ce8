#!/usr/bin/env bash
# start.sh HEAD: one node's torchrun, started by srun.
# shellcheck disable=SC2034
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
self=$here/start.sh
head=$1
node=${2:-${SLURM_NODEID:?srun starts this}}
task=${3:-${SLURM_ARRAY_TASK_ID:-0}}
set -- "$head" "$node" "$task"
# shellcheck source=common.sh
. "$here/common.sh"

exec env -- "${environment[@]}" python3 -m torch.distributed.run \
  --nnodes=3 \
  --nproc-per-node=8 \
  --node-rank="$node" \
  --master-addr="$head" \
  --master-port=39500 \
  --max-restarts=0 \
  "${arguments[@]}"
