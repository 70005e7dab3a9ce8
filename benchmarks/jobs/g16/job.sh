set -m
torchrun --nproc-per-node 2 --master-port 31747 nanogpt.py --iters 40 --out ck.pt & pid=$!
( until [ -s ck.pt ]; do sleep 0.3; done; sleep 1; kill -INT $pid ) &
wait $pid
sleep 1
echo '$ torchrun --nproc-per-node 2 --master-port 31748 nanogpt.py --iters 40 --out ck.pt --init resume'
torchrun --nproc-per-node 2 --master-port 31748 nanogpt.py --iters 40 --out ck.pt --init resume
