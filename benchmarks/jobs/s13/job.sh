export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo TORCH_DISTRIBUTED_DEBUG=DETAIL TORCH_CPP_LOG_LEVEL=WARNING
torchrun --nproc_per_node 4 --master_addr 127.0.0.1 --master_port 47413 -m asr.fit --manifest asr/manifest.json
