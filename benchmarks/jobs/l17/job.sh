unset PYTHONUNBUFFERED
python -c "
import os
os.makedirs('shards', exist_ok=True)
for i in range(400): open(f'shards/{i:04d}.bin','wb').write(os.urandom(64))"
ulimit -n 256
torchrun --nproc-per-node 2 --master-port 4317 train.py
python sync_run.py
echo "removing shards ... done"; rm -r shards
