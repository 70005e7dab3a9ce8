cp -r $TINY base
llamafactory-cli train train_sft.yaml
