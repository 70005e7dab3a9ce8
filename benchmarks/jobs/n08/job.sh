set -m
echo "\$ torchrun --nproc-per-node 2 main.py --lr 0.5"
torchrun --nproc-per-node 2 --master-port 4508 main.py --lr 0.5 & pid=$!
sleep 14; kill -INT $pid; wait $pid
echo "\$ torchrun --nproc-per-node 2 main.py --lr 0.05 --steps 20"
torchrun --nproc-per-node 2 --master-port 4508 main.py --lr 0.05 --steps 20
