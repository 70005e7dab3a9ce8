#!/usr/bin/env bash
# node-0 (10.18.122.130): node 0 of 3, ranks 0 to 7.
# shellcheck disable=SC2034
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
self=$here/node-0.sh
node=0
# shellcheck source=common.sh
. "$here/common.sh"

exec env -- "${environment[@]}" python3 -m accelerate.commands.launch \
  --config_file="$here"/node-0.yaml \
  --deepspeed_config_file="$here"/deepspeed.json \
  "${arguments[@]}"
