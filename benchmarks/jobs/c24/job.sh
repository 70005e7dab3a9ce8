python serve_reward.py --model models/reward-v2 --port 8917 > server.log 2>&1 &
SRV=$!
torchrun --nproc-per-node 2 --master-addr 127.0.0.1 --master-port 29644 train_grpo.py
kill $SRV 2>/dev/null
echo "--- server.log ---"
cat server.log
