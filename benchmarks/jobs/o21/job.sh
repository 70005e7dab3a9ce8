python train.py cfg/base.json cfg/big_lr.json
