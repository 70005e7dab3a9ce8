torchrun --standalone --nproc_per_node=2 train_amp.py
echo "[run] train_amp.py returned $?"
