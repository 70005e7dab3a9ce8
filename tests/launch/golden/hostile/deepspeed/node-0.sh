#!/usr/bin/env bash
# alpha (10.0.0.1): node 0 of 2, ranks 0 to 1.
# shellcheck disable=SC2034
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
self=$here/node-0.sh
node=0
# shellcheck source=common.sh
. "$here/common.sh"

exec env -- "${environment[@]}" '/shared/my env/bin/python' -m torch.distributed.run \
  --nnodes=2 \
  --nproc-per-node=2 \
  --node-rank=0 \
  --master-addr=10.0.0.1 \
  --master-port=39500 \
  --max-restarts=0 \
  "${arguments[@]}"
