TORCH_DISTRIBUTED_DEBUG=INFO TORCH_CPP_LOG_LEVEL=INFO torchrun --nproc-per-node 2 --master-port 31753 profile_step.py
