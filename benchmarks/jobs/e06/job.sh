torchrun --nproc-per-node 3 --master-port 29716 --log-dir logs --redirects 3 train.py --eval-every 8
