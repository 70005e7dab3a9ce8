mkdir -p cache
(sleep 8; python build_index.py >/dev/null) &
torchrun --nproc-per-node 2 --max-restarts 5 --monitor-interval 1 --rdzv-backend c10d --rdzv-endpoint 127.0.0.1:31702 --rdzv-id ft7 finetune.py
wait
