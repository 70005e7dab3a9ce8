cd "$(dirname "$0")"
bash keepalive.sh python ranker.py
