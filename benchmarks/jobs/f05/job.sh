export OMP_NUM_THREADS=1
sed -i "s#__BASE__#$TINY#" llama_lora.yaml
export FORCE_TORCHRUN=0 DISABLE_VERSION_CHECK=1
llamafactory-cli train llama_lora.yaml
