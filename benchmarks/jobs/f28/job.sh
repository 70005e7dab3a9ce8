export OMP_NUM_THREADS=1
./run_ddp.sh baseline_b32
