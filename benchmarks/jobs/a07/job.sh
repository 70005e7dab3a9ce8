python -m http.server 21653 --bind 0.0.0.0 > /dev/null 2>&1 &
P=$!
sleep 2
torchrun --nproc-per-node 2 --master-addr 127.0.0.1 --master-port 21653 main.py --epochs 1 --width 128
kill $P
