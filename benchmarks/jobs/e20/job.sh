rm -rf out
torchrun --nproc-per-node 4 --master-port 29740 run.py 40
mkdir -p restore && rsync -a out/ckpt-40 restore/ 2>/dev/null || cp -r out/ckpt-40 restore/
rm -f restore/ckpt-40/optim_states_03*
torchrun --nproc-per-node 4 --master-port 29740 run.py 80 restore/ckpt-40
