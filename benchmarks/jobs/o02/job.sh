python export_chats.py
set -e
python build_dataset.py --src raw/train.jsonl --tokenizer $TINY --workers 2
python train.py
