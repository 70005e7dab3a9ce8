cp -r "$TINY" model
llamafactory-cli train sft.yaml
