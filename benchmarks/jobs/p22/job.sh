cd "$(dirname "$0")"
python lance.py
