set -e
ls -l corpus | wc -l
python train_tokenizer.py
echo starting training
