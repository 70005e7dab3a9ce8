export OMP_NUM_THREADS=1
export DS_ACCELERATOR=cpu
torchrun --nproc-per-node 2 --master-port 29643 pretrain.py --deepspeed --deepspeed_config ds_config.json
