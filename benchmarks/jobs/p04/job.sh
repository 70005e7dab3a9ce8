cd "$(dirname "$0")"
python supervise.py
