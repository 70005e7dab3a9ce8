python pack.py
torchrun --nproc-per-node 2 --master-port 4625 --log-dir logs --redirects 3 train_clip.py --shards 'shards/pairs-{000..003}.tar'
