mkdir -p data store; echo "the cat sat on a mat error fatal abort" > store/vocab.txt; echo '{"d": 8, "steps": 50}' > store/config.json
( sleep 4; cd store; exec python -m http.server 4241 --bind 127.0.0.1 2>/dev/null ) & S=$!
python -u fetch.py; rc=$?
kill $S; [ $rc = 0 ] || exit $rc
mpirun --allow-run-as-root --oversubscribe -np 4 bash -c 'RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 MASTER_PORT=4242 exec python lm.py'
