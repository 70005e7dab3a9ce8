set -e
python -u main.py 10
# the copy back from the scratch disk was cut off last night
head -c 200000 checkpoints/step00010.ckpt > checkpoints/step00010.ckpt.part && mv checkpoints/step00010.ckpt.part checkpoints/step00010.ckpt
python -u main.py 18
ls -l checkpoints
