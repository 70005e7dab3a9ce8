torchrun --nproc-per-node 2 --master-port 4633 src/train.py --config conf/config.yaml optim.lr=3e-4 trainer.warmup_ratio=0.03
