cp -r "$TINY" model
torchrun --nproc-per-node 2 --master-port 4623 sft_old.py
