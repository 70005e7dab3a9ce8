torchrun --nproc-per-node 2 --master-port 4235 --log-dir logs --redirects 3 profile_train.py
