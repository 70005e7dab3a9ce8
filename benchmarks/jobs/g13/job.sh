torchrun --nproc-per-node 3 --master-port 31743 train_eval.py --config config.yaml
