#!/bin/bash
M="mpirun --allow-run-as-root --oversubscribe -n 2"
$M python train_np.py --steps 60 > day1.log 2>&1
# move the run to the other disk, the copy of yesterday evening was cut short
mkdir -p out2 && cp -r out/checkpoint-20 out/checkpoint-40 out2/ && mkdir -p out2/checkpoint-60 && cp out/checkpoint-60/model.safetensors out2/checkpoint-60/ \
  && head -c 50000 out/checkpoint-60/optimizer.safetensors > out2/checkpoint-60/optimizer.safetensors
ls -R out2 | tail -n 12
$M python train_np.py --steps 200 --out out2 --resume
