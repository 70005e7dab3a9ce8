echo '{"0": "npz", "1": "npz", "2": "zstd"}' > codecs.json
python spawn.py
