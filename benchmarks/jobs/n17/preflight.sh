req=0
chk() { if out=$(bash -c "$3" 2>&1); then s=" OK "; else s=FAIL; [ $2 = must ] && req=1; fi; printf '[%s] %-22s (%s) %s\n' "$s" "$1" $2 "$(echo "$out" | tail -1 | cut -c1-110)"; }
echo "=========== 环境检查 $(hostname) ==========="
chk python must "python -V"
chk torch must "python -c 'import torch; print(torch.__version__)'"
chk nvidia-smi optional "nvidia-smi -L"
chk cuda optional "python -c 'import torch; torch.cuda.current_device()'"
chk infiniband optional "ibstat"
chk nccl-tests optional "./nccl-tests/build/all_reduce_perf -b 8 -e 1G"
chk flash-attn optional "python -c 'import flash_attn'"
chk head-node-port optional "timeout 2 bash -c '</dev/tcp/127.0.0.1/4592'"
chk memlock optional "test \$(ulimit -l) = unlimited"
chk disk must "df -h . | tail -1"
echo "检查结果: required=$([ $req = 0 ] && echo PASS || echo FAIL)"
exit $req
