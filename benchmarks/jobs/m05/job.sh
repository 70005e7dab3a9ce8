rm -rf logs
torchrun --nproc-per-node 4 --master-port 4405 --log-dir logs --redirects 3 train_reward.py
