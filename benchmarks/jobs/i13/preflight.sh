ok() { printf '  [ \e[32mOK\e[0m ] %s\n' "$1"; }
fail() { printf '  [\e[31mFAIL\e[0m] %s\n' "$1"; nf=$((nf+1)); }
nf=0
echo "Preflight on 127.0.0.1"
for t in python mpirun; do command -v $t >/dev/null && ok "required: $t" || exit 1; done
nvidia-smi -L && ok "optional: nvidia-smi" || fail "optional: nvidia-smi"
ibstat && ok "optional: InfiniBand" || fail "optional: InfiniBand"
python -c "import apex" && ok "optional: apex" || fail "optional: apex"
python -c "import flash_attn" && ok "optional: flash_attn" || fail "optional: flash_attn"
ls /mnt/shared_nfs/datasets && ok "optional: shared data" || fail "optional: shared data"
python -c "import torch; torch.cuda.init()" && ok "optional: CUDA" || fail "optional: CUDA"
df -h /dev/shm | tail -1 && ok "/dev/shm"
echo "  $nf optional checks failed, going on with CPU + gloo"
