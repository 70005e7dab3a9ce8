ok() { printf '  %-38s [ OK ]\n' "$1"; }
bad() { printf '  %-38s [FAIL] %s\n' "$1" "$2"; }
opt() { if out=$("${@:2}" 2>&1); then ok "$1"; else bad "$1" "$(echo "$out" | tail -1)"; fi; }
echo "Knotenprüfung $(date +%F)"
opt "python" python --version
opt "NVIDIA-Treiber (optional)" nvidia-smi -L
opt "InfiniBand (optional)" ibstat
opt "flash_attn (optional)" python -c "import flash_attn"
opt "bitsandbytes (optional)" python -c "import bitsandbytes"
opt "CUDA in torch (optional)" python -c "import torch; torch.zeros(1).cuda()"
opt "Scratch /lustre (optional)" ls /lustre/scratch
opt "gloo" python -c "import torch.distributed as d; assert d.is_gloo_available()"
