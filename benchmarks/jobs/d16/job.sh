rm -f last.ckpt train.log
set -m
echo "##### $(date) start" >> train.log
python launch.py -n 2 -p 41826 train.py >> train.log 2>&1 &
P=$!
for i in $(seq 150); do grep -q 'epoch 2 done' train.log && break; sleep 0.2; done; sleep 0.4
kill -INT -- -$P; wait $P
echo "##### $(date) restart with the same arguments" >> train.log
python launch.py -n 2 -p 41827 train.py >> train.log 2>&1
rc=$?
cat train.log
exit $rc
