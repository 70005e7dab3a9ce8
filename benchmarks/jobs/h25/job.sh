torchrun --nproc-per-node 4 --master-port 29835 finetune.py
