torchrun --nproc-per-node 4 --master-port 4106 --log-dir tlogs --redirects 3 train.py
mkdir -p logs
for f in $(find tlogs -name '*.log'); do r=$(basename $(dirname $f)); cp $f logs/rank${r}_$(basename $f); done
