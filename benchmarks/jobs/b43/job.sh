mkdir -p shards
for r in 0 1 2; do
  seq 8000 | sed 's/.*/{"text": "the old dog & sleeps in the house by the river"}/' | gzip > shards/c4-0000$r.json.gz
done
# the download of the last shard
s=$(stat -c %s shards/c4-00002.json.gz); head -c $((s*6/10)) shards/c4-00002.json.gz > t; mv t shards/c4-00002.json.gz
mpirun --allow-run-as-root --oversubscribe -n 3 python count_tokens.py
