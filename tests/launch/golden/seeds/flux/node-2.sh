#!/usr/bin/env bash
# node-2 (10.18.122.132): node 2 of 3, ranks 16 to 23.
# shellcheck disable=SC2034
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
self=$here/node-2.sh
node=2
# shellcheck source=common.sh
. "$here/common.sh"

exec env -- "${environment[@]}" python3 -m torch.distributed.run \
  --nnodes=3 \
  --nproc-per-node=8 \
  --node-rank=2 \
  --master-addr=10.18.122.130 \
  --master-port=39500 \
  --max-restarts=0 \
  "${arguments[@]}"
