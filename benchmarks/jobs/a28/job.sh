mkdir -p recs
python -c "
import numpy as np
for i in range(600): np.random.rand(64*8).astype(np.float32).tofile(f'recs/{i:04d}.rec')
"
ulimit -n 512
torchrun --nproc-per-node 2 --master-port 21807 train.py
