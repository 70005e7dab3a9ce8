unset PYTHONUNBUFFERED
python make_data.py
export MASTER_ADDR=127.0.0.1 MASTER_PORT=4301 WORLD_SIZE=2
for r in 0 1; do RANK=$r python train.py & done
wait
