echo '{"pets": {"file_name": "pets.json"}}' > dataset_info.json
python -c "
import json
json.dump([{'instruction':'the cat','input':'','output':'sleeps .' if i%9 else ''} for i in range(40)], open('pets.json','w'))"
{ echo "model_name_or_path: $TINY"; cat sft.yaml; } > run.yaml
FORCE_TORCHRUN=1 NPROC_PER_NODE=2 MASTER_PORT=41841 llamafactory-cli train run.yaml
