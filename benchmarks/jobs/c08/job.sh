torchrun --nproc-per-node 3 --master-addr 127.0.0.1 --master-port 29621 run_fsdp.py a.yaml
# fetch the parts from the bucket
mkdir -p restored/step4
cp scratch/step4/.metadata scratch/step4/__0_*.distcp scratch/step4/__1_*.distcp restored/step4/
rm -rf scratch
torchrun --nproc-per-node 3 --master-addr 127.0.0.1 --master-port 29622 run_fsdp.py b.yaml
