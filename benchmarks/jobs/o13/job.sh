python train_asr.py --manifest manifest.tsv
