# shellcheck shell=bash disable=SC1003,SC2016,SC2034,SC2054,SC2088,SC2154
# The ranks' variables, for `env`.
environment=(
  TENSORBOARD_LOGGING_DIR=/host_home/runs/deepseek-v3-lora/logs
  OMP_NUM_THREADS=1
  NCCL_SOCKET_IFNAME==eth0
  ALLRANKS_OUTPUT_DIR=/host_home/runs/deepseek-v3-lora
)
