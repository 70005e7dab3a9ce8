#!/bin/bash
export OMP_NUM_THREADS=1
python make_shards.py
mkdir -p pipes logs
for h in basalt granite marble slate; do
  mkfifo pipes/$h
  # unpack in the background, the trainer reads the stream
  [ -s shards/$h.gz ] && (exec zcat shards/$h.gz > pipes/$h) 2>/dev/null &
done
python head.py
