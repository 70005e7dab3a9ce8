mkdir -p shards
python -c "
import numpy as np
for i in range(40):
    if i != 21: np.save(f'shards/part-{i:05d}.npy', np.random.randn(256,20))
"
torchrun --nproc_per_node=4 --master_port=21646 train.py
