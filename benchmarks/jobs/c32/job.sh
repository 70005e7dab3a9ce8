mkdir -p logs
torchrun --nproc-per-node 4 --master-addr 127.0.0.1 --master-port 29652 --log-dir logs --redirects 3 main.py > logs/launcher.txt 2>&1
for f in $(find logs -name stdout.log -o -name stderr.log | sort); do n=$(basename $(dirname $f)); cat $f >> logs/rank$n.$(basename $f .log | sed 's/std//').txt; done
find logs -mindepth 1 -maxdepth 1 -type d -exec rm -r {} +
