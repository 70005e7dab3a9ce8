cd "$(dirname "$0")"
python synth.py && python clean.py raw clean --workers 4
