cp -r $TINY base
torchrun --nproc-per-node 2 --master-port 31757 run_clm.py
echo "[entrypoint] finished with status $?"
