cp -r "$TINY" base
python tools/export_tokenizer.py base
python finetune.py --model base --data corpus.txt --steps 30
