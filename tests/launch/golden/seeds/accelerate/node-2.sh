#!/usr/bin/env bash
# node-2 (10.18.122.132): node 2 of 3, ranks 16 to 23.
# shellcheck disable=SC2034
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
self=$here/node-2.sh
node=2
# shellcheck source=common.sh
. "$here/common.sh"

exec env -- "${environment[@]}" python3 -m accelerate.commands.launch \
  --config_file="$here"/node-2.yaml \
  --deepspeed_config_file="$here"/deepspeed.json \
  "${arguments[@]}"
