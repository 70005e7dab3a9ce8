bash stage.sh
export MASTER_ADDR=127.0.0.1 MASTER_PORT=4433 WORLD_SIZE=3 HF_HUB_OFFLINE=1
for r in 0 1 2; do RANK=$r MODEL_DIR=local/w$r python -u sft.py 2>&1 | awk -v w=w$r '{print "[" w "] " $0; fflush()}' & done
wait
