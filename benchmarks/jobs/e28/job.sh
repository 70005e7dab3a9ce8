rm -rf nvme
for r in 0 1; do mkdir -p nvme/$r; cp -r $TINY nvme/$r/llama-base; done
s=$(stat -c %s nvme/1/llama-base/model.safetensors); truncate -s $((s*2/3)) nvme/1/llama-base/model.safetensors
torchrun --nproc-per-node 2 --master-port 29748 --local-ranks-filter 0,1 sft.py
