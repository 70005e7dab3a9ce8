unset PYTHONUNBUFFERED
timeout 18 python server.py &
sleep 1
torchrun --nproc-per-node 2 --master-port 4326 train.py 2>&1 | tee train.log
echo "status: ${PIPESTATUS[1]}"
