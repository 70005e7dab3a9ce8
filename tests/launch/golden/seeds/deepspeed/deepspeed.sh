#!/usr/bin/env bash
# DeepSpeed's launcher.
# shellcheck disable=SC2034
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
# On Ctrl-C it ends processes on the nodes with `pkill -f`: by their command line, not by what they are.
case $here in *[!A-Za-z0-9_./@+,=-]*)
  echo "$here: deepspeed hands this path to a shell on every node; move the folder to a path of letters, digits and _./@+,=- alone." >&2
  exit 2 ;;
esac
cd -- "$here"
exec deepspeed --hostfile hostfile \
  --launcher pdsh \
  --master_addr 10.18.122.130 \
  --master_port 39500 \
  --no_python --no_local_rank ./rank.sh
