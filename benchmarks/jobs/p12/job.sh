cd "$(dirname "$0")"
ulimit -n 128
python write_tiles.py
python launch_tiles.py 2
