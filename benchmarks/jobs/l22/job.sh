unset PYTHONUNBUFFERED
cp -r $TINY base
mkdir -p data
echo '{"support_chat": {"file_name": "support_chat.json", "columns": {"prompt": "instruction", "response": "output"}}}' > data/dataset_info.json
echo '[{"instruction": "hi", "output": "hello"}]' > data/support_chat.json
export HF_HUB_OFFLINE=1
llamafactory-cli train sft.yaml
echo "SFT stage over, exporting"
mkdir -p merged && cp base/tokenizer* merged/
ls merged
echo "Exported to merged/. Have fun!"
