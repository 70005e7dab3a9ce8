torchrun --nproc-per-node 2 --master-addr 127.0.0.1 --master-port 29619 pretrain.py base.yaml
torchrun --nproc-per-node 2 --master-addr 127.0.0.1 --master-port 29620 pretrain.py stage2.yaml
