#!/usr/bin/env bash
# pdsh: the script of each node, on all nodes at once.
# shellcheck disable=SC2034
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
case $here in *[!A-Za-z0-9_./@+,=-]*)
  echo "$here: pdsh hands this path to a shell on every node; move the folder to a path of letters, digits and _./@+,=- alone." >&2
  exit 2 ;;
esac
: "${HF_TOKEN:?export HF_TOKEN where this is started: its value is not in any file}"
exec env 'PDSH_SSH_ARGS_APPEND=-o BatchMode=yes -o ConnectTimeout=10 -o SendEnv=HF_TOKEN' pdsh \
  -R ssh -S -f 2 -w some.one@10.0.0.1,some.one@10.0.0.2 'exec bash '"$here"/node-%n.sh
