#!/bin/bash
# export of the text encoder for the CPU serving tier
export OMP_NUM_THREADS=1
export CXX=g++-14            # toolchain of the build image
export TORCHINDUCTOR_CACHE_DIR=./inductor
python export_encoder.py --variants eager,compiled
rc=$?
[ $rc = 0 ] || echo "export_encoder.py: exit $rc" >&2
exit $rc
