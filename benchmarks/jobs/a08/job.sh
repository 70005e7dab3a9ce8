export MASTER_ADDR=gpu-node-03 MASTER_PORT=29500 WORLD_SIZE=2
for r in 0 1; do RANK=$r LOCAL_RANK=0 python train_ddp.py & done
wait
