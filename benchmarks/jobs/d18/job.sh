rm -f nohup.out; mkdir -p runs
echo '{"dim": 16, "hidden": 64, "optimizer": "AdamWW", "lr": 0.001, "batch": 32, "out": "runs/ae.pt"}' > config.json
{ date; python launch.py -n 2 -p 41829 train.py --cfg config.json; } >> nohup.out 2>&1
{ date; python launch.py -n 2 -p 41830 train.py --config config.json; } >> nohup.out 2>&1
sed -i 's/AdamWW/AdamW/' config.json
{ date; python launch.py -n 2 -p 41831 train.py --config config.json --epochs 5; } >> nohup.out 2>&1
rc=$?
cat nohup.out
exit $rc
