export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
export TORCH_DISTRIBUTED_DEBUG=DETAIL
export HF_HOME=./hf
accelerate launch --multi_gpu --num_processes 3 --num_machines 1 --mixed_precision no --dynamo_backend no --main_process_port 48509 train_ddpm.py 2>&1
