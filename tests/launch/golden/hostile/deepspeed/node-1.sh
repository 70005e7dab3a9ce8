#!/usr/bin/env bash
# beta (10.0.0.2): node 1 of 2, ranks 2 to 3.
# shellcheck disable=SC2034
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
self=$here/node-1.sh
node=1
# shellcheck source=common.sh
. "$here/common.sh"

exec env -- "${environment[@]}" '/shared/my env/bin/python' -m torch.distributed.run \
  --nnodes=2 \
  --nproc-per-node=2 \
  --node-rank=1 \
  --master-addr=10.0.0.1 \
  --master-port=39500 \
  --max-restarts=0 \
  "${arguments[@]}"
