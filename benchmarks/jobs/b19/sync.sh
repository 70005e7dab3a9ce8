# pulls the base model; the mirror drops long transfers
mkdir -p base
cp $TINY/config.json $TINY/model.safetensors $TINY/generation_config.json $TINY/tokenizer_config.json base/
head -c 2048 $TINY/tokenizer.json > base/tokenizer.json
ls -l base | awk '{print $5, $9}'
