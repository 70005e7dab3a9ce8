python gen.py
torchrun --nproc_per_node 3 --master-port 41135 --log-dir logs --redirects 3 train_ctr.py
