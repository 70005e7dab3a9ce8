#!/usr/bin/env bash
# node-1 (10.18.122.131): node 1 of 3, ranks 8 to 15.
# shellcheck disable=SC2034
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
self=$here/node-1.sh
node=1
# shellcheck source=common.sh
. "$here/common.sh"

exec env -- "${environment[@]}" python3 -m torch.distributed.run \
  --nnodes=3 \
  --nproc-per-node=8 \
  --node-rank=1 \
  --master-addr=10.18.122.130 \
  --master-port=39500 \
  --max-restarts=0 \
  "${arguments[@]}"
