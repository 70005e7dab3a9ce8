#!/bin/bash
# copies the base model to each worker's scratch
for r in 0 1 2; do
  mkdir -p scratch/w$r
  cp $TINY/*.json $TINY/*.jinja scratch/w$r/
done
cp $TINY/model.safetensors scratch/w0/
# w1 and w2 are filled over the slow link, in chunks
for r in 1 2; do
  dd if=$TINY/model.safetensors of=scratch/w$r/model.safetensors bs=4096 count=$((r*15)) status=none
done
echo "staged: $(ls -d scratch/w* | wc -l) workers"
