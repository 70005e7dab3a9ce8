#!/usr/bin/env bash
# alpha (10.0.0.1): node 0 of 2, ranks 0 to 1.
# shellcheck disable=SC2034
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
self=$here/node-0.sh
node=0
# shellcheck source=common.sh
. "$here/common.sh"

exec env -- "${environment[@]}" '/shared/my env/bin/python' -m accelerate.commands.launch \
  --config_file="$here"/node-0.yaml \
  "${arguments[@]}"
