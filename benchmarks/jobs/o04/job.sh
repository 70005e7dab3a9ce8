python fetch_run.py
torchrun --nproc-per-node 2 --master-port 4604 pretrain.py --resume runs/base/ckpt_000400.pt
