set -m
python -u start.py & p=$!
sleep 13; kill -INT -$p; wait $p
