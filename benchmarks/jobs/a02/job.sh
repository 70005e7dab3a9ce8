python prepare.py
torchrun --nproc-per-node=3 --master-port=21618 --tee 3 --log-dir tlogs train.py
