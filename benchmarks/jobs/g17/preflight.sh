#!/bin/bash
pass=0; fail=0; hard=0
check() { # name, required?, command...
    local name=$1 req=$2; shift 2
    if out=$("$@" 2>&1); then printf '  [ OK ] %-28s\n' "$name"; pass=$((pass+1))
    else printf '  [FAIL] %-28s %s: %s\n' "$name" "$req" "$(echo "$out" | tail -n 1)"; fail=$((fail+1)); [ $req = required ] && hard=$((hard+1)); fi
}
echo "Node health check $(date)"
check "nvidia driver" optional nvidia-smi
check "nvidia fabricmanager" optional systemctl is-active nvidia-fabricmanager
check "infiniband port state" optional ibstat
check "gpudirect rdma module" optional grep -w nvidia_peermem /proc/modules
check "nccl all_reduce_perf" optional /opt/nccl-tests/build/all_reduce_perf -g 1
check "python + torch" required python -c 'import torch'
check "cuda visible" optional python -c 'import torch; torch.zeros(1).cuda()'
check "shared storage /mnt/lustre" optional ls /mnt/lustre
check "kerberos ticket" optional klist -s
check "free disk in cwd" required test "$(df --output=avail . | tail -n1)" -gt 1000000
check "open file limit >= 1M" optional bash -c '[ $(ulimit -n) -ge 10000000 ] || { echo "limit is $(ulimit -n), 10000000 recommended: Too many open files may follow"; false; }'
echo "passed: $pass  failed: $fail  (required and failed: $hard)"
[ $hard -eq 0 ]
