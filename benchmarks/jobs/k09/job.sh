torchrun --nproc-per-node 2 --master-port 4209 sft_helpdesk.py
