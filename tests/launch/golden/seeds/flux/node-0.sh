#!/usr/bin/env bash
# node-0 (10.18.122.130): node 0 of 3, ranks 0 to 7.
# shellcheck disable=SC2034
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
self=$here/node-0.sh
node=0
# shellcheck source=common.sh
. "$here/common.sh"

exec env -- "${environment[@]}" python3 -m torch.distributed.run \
  --nnodes=3 \
  --nproc-per-node=8 \
  --node-rank=0 \
  --master-addr=10.18.122.130 \
  --master-port=39500 \
  --max-restarts=0 \
  "${arguments[@]}"
