#!/usr/bin/env bash
# node-1 (10.18.122.131): node 1 of 3, ranks 8 to 15.
# shellcheck disable=SC2034
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
self=$here/node-1.sh
node=1
# shellcheck source=common.sh
. "$here/common.sh"

exec env -- "${environment[@]}" python3 -m accelerate.commands.launch \
  --config_file="$here"/node-1.yaml \
  --deepspeed_config_file="$here"/deepspeed.json \
  "${arguments[@]}"
