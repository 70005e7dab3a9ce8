#!/usr/bin/env bash
# The demo's training without allranks: three torchruns of one rank each on this machine, as a person would
# start them from one script. The peer that `make bench` measures against.
#
#   benchmarks/by_hand.sh OUT [MODEL_AND_DATA]
#
# OUT gets the adapter, the logs (node-0.log, ...) and two times of day, `started` and `ended`;
# MODEL_AND_DATA is what examples/make_tiny.py made (.cache/tiny-deepseek-v3 by default). PORT chooses the rendezvous port.
# HOSTS="node1 node2 node3" starts each on a host of its own over ssh (SSH_CONFIG: its -F), where all paths are the same.
# RANK=R MASTER=HOST: only this node's torchrun, for a launcher that starts this script on each (benchmarks/engines.py).
# HOSTFILE=FILE MASTER=HOST: DeepSpeed's own launcher in torchrun's place. STEPS=N: as many instead of the demo's.
# LORA_TARGET=NAMES: for MODEL_AND_DATA of another family. CUTOFF=TOKENS, BATCH=N: of a step.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

out=$(realpath -m "${1:?usage: benchmarks/by_hand.sh OUT [MODEL_AND_DATA]}")
tiny=$(realpath "${2:-.cache/tiny-deepseek-v3}")
python=$PWD/.venv/bin/python
port=${PORT:-$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')}
mkdir -p "$out"

config=$out/deepspeed${RANK:+-$RANK}.json # where every node writes it, it is one file each
cat > "$config" <<'JSON'
{
  "train_micro_batch_size_per_gpu": "auto",
  "gradient_accumulation_steps": "auto",
  "gradient_clipping": "auto",
  "bf16": {"enabled": "auto"},
  "zero_optimization": {
    "stage": 3,
    "overlap_comm": true,
    "contiguous_gradients": true,
    "reduce_bucket_size": "auto",
    "stage3_prefetch_bucket_size": "auto",
    "stage3_param_persistence_threshold": "auto",
    "stage3_gather_16bit_weights_on_model_save": false
  }
}
JSON

# The same keys as examples/tiny-deepseek-v3.yaml; a test holds the two together.
arguments=(
    --stage=sft
    --do_train=true
    "--model_name_or_path=$tiny/model"
    "--dataset_dir=$tiny/data"
    --dataset=keeping
    --template=default
    --cutoff_len=64
    --preprocessing_num_workers=1
    --finetuning_type=lora
    --lora_target=q_a_proj,q_b_proj,kv_a_proj_with_mqa,kv_b_proj,o_proj
    --lora_rank=16
    --lora_alpha=32
    --per_device_train_batch_size=4
    --gradient_accumulation_steps=1
    --learning_rate=1e-2
    --lr_scheduler_type=cosine
    --warmup_steps=3
    --max_steps=36
    --logging_steps=1
    --bf16=true
    --use_cpu=true
    --report_to=none
    --save_strategy=steps
    --save_steps=10
    --save_total_limit=2
    "--output_dir=$out/adapter"
    ${STEPS:+"--max_steps=$STEPS"}
    ${LORA_TARGET:+"--lora_target=$LORA_TARGET"}
    ${CUTOFF:+"--cutoff_len=$CUTOFF"}
    ${BATCH:+"--per_device_train_batch_size=$BATCH"}
    "--deepspeed=$config"
)

# The environment's own ninja and torchrun come first; one thread a rank, as the run file asks.
export PATH="$PWD/.venv/bin:$PATH" OMP_NUM_THREADS=1

if [ -n "${RANK:-}" ]; then
    mkdir -p "$out/node-$RANK"
    cd "$out/node-$RANK"
    exec "$python" -m torch.distributed.run --nnodes=3 --nproc-per-node=1 "--node-rank=$RANK" \
        "--master-addr=$MASTER" "--master-port=$port" --max-restarts=0 -m llamafactory.launcher "${arguments[@]}"
fi

if [ -n "${HOSTFILE:-}" ]; then
    # Of its own environment DeepSpeed carries to the nodes what stands in this file.
    export DS_ENV_FILE=$out/environment
    printf '%s\n' "PATH=$PATH" OMP_NUM_THREADS=1 ${TORCH_EXTENSIONS_DIR:+"TORCH_EXTENSIONS_DIR=$TORCH_EXTENSIONS_DIR"} \
        > "$DS_ENV_FILE"
    cd "$out"
    exec "$python" -m deepspeed.launcher.runner --hostfile "$HOSTFILE" --launcher pdsh --no_ssh_check --num_gpus 1 \
        "--master_addr=$MASTER" "--master_port=$port" --no_local_rank --module llamafactory.launcher "${arguments[@]}"
fi

pids=()
stop() { kill "${pids[@]}" 2> /dev/null || true; }
trap stop EXIT

read -ra hosts <<< "${HOSTS:-}"
master=${hosts[0]:-127.0.0.1}

launch() { # RANK: the torchrun of one node, here or on its host
    local words=("$python" -m torch.distributed.run --nnodes=3 --nproc-per-node=1 "--node-rank=$1"
        "--master-addr=$master" "--master-port=$port" --max-restarts=0 -m llamafactory.launcher "${arguments[@]}")
    cd "$out/node-$1"
    if [ ${#hosts[@]} -eq 0 ]; then exec "${words[@]}"; fi
    # With a terminal of its own the remote torchrun ends with the connection.
    exec ssh -tt ${SSH_CONFIG:+-F "$SSH_CONFIG"} "${hosts[$1]}" \
        "cd $(printf %q "$PWD") && exec env $(printf '%q ' "PATH=$PATH" OMP_NUM_THREADS=1 \
        ${TORCH_EXTENSIONS_DIR:+"TORCH_EXTENSIONS_DIR=$TORCH_EXTENSIONS_DIR"} "${words[@]}")" < /dev/null
}

date +%s.%N > "$out/started"
for rank in 0 1 2; do
    mkdir -p "$out/node-$rank"
    (launch "$rank") > "$out/node-$rank.log" 2>&1 &
    pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid"; done
trap - EXIT
date +%s.%N > "$out/ended"
