torchrun --nproc-per-node=4 --master-port=47513 main.py --config cfg/base.yaml --override cfg/sweep_17.yaml
