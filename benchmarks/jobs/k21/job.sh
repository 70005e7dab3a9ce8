torchrun --nproc-per-node 3 --master-port 4231 eval_asr.py
