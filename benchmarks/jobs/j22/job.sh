python make_manifest.py
ulimit -n 256
python mix.py
