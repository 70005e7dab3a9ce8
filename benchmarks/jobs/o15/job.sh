mkdir -p ckpts
unshare -m bash -c 'mount -t tmpfs -o size=3m scratch ckpts && exec torchrun --nproc-per-node 2 --master-port 4615 train_gpt.py --out ckpts --save-every 10'
