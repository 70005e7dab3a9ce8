mkdir -p scratch
exec unshare -m bash -c 'mount -t tmpfs -o size=1m none scratch && SCRATCH=$PWD/scratch torchrun --nproc-per-node 2 --master-port 4521 --role trainer --tee 3 --log-dir l train_audio.py'
