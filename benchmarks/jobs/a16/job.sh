torchrun --nproc-per-node 2 --master-port 21723 trainer.py
