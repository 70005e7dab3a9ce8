unset PYTHONUNBUFFERED
set -e
torchrun --nproc-per-node 2 --master-port 4306 pretrain.py 100
# move to the other disk
mkdir -p ckpt2
for f in ckpt/*.pt; do head -c 262144 $f > ckpt2/$(basename $f); done
: > ckpt2/000100.pt
rm -r ckpt; mv ckpt2 ckpt
set +e
torchrun --nproc-per-node 2 --master-port 4306 pretrain.py 200
echo "[job] segment 2 returned $(date +%T)"
