#!/usr/bin/env bash
# beta (10.0.0.2): node 1 of 2, ranks 2 to 3.
# shellcheck disable=SC2034
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
self=$here/node-1.sh
node=1
# shellcheck source=common.sh
. "$here/common.sh"

exec env -- "${environment[@]}" '/shared/my env/bin/python' -m accelerate.commands.launch \
  --config_file="$here"/node-1.yaml \
  "${arguments[@]}"
