rm -rf snap
set -m
torchrun --nproc_per_node 2 --master-port 41114 run_mlm.py --steps 40 &
P=$!
( while [ ! -e snap/12.pt ]; do sleep 0.2; done; sleep 0.5; kill -INT $P )
wait $P
echo '$ torchrun --nproc_per_node 2 --master-port 41115 run_mlm.py --steps 40 --resume'
torchrun --nproc_per_node 2 --master-port 41115 run_mlm.py --steps 40 --resume
