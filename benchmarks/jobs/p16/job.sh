cd "$(dirname "$0")"
exec python search.py --trials 12
