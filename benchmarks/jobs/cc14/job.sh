#!/bin/bash
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
srun() { # local stand-in with the two options that we use
  local n=$1; shift; local pids=() r rc=0
  for ((r = 0; r < n; r++)); do
    SLURM_PROCID=$r SLURM_NTASKS=$n "$@" > >(sed -u "s/^/$r: /") 2>&1 &
    pids+=($!)
  done
  for p in "${pids[@]}"; do
    wait "$p" || { rc=$?; sleep 1; kill "${pids[@]}" 2>/dev/null; }
  done
  sleep 0.5
  return $rc
}
srun 3 python pretrain.py --docs 140000 --port 48541
