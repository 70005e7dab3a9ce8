export MASTER_ADDR=127.0.0.1 MASTER_PORT=29739 WORLD_SIZE=3
while read r h; do RANK=$r python train.py $h & done < hosts.txt
wait
