python export_features.py >/dev/null 2>&1 & other=$!
sleep 1
torchrun --nproc-per-node 4 --master-port 29735 pretrain.py
kill $other
wait 2>/dev/null
