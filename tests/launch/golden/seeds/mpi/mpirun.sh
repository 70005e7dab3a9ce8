#!/usr/bin/env bash
# mpirun: one torchrun per node.
# shellcheck disable=SC2034
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
exec env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun \
  --hostfile "$here"/hosts --oversubscribe --bind-to none --mca plm_rsh_args '-o BatchMode=yes -o ConnectTimeout=10 -l ubuntu' \
  -np 1 --host 10.18.122.130 bash "$here"/node-0.sh \
  : -np 1 --host 10.18.122.131 bash "$here"/node-1.sh \
  : -np 1 --host 10.18.122.132 bash "$here"/node-2.sh
