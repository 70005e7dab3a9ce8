#!/usr/bin/env bash
# start.sh NODE HEAD: one node's torchrun, started by an actor of job.py.
# shellcheck disable=SC2034
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
self=$here/start.sh
node=$1
head=$2
sizes=(2 2)
size=${sizes[node]}
# shellcheck source=common.sh
. "$here/common.sh"

exec env -- "${environment[@]}" '/shared/my env/bin/python' -m torch.distributed.run \
  --nnodes=2 \
  --nproc-per-node="$size" \
  --node-rank="$node" \
  --master-addr="$head" \
  --master-port=39500 \
  --max-restarts=0 \
  "${arguments[@]}"
