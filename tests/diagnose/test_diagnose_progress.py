"""The step lines of many trainers, the end of a training, and what is printed after it."""

from __future__ import annotations

import re

import pytest

from allranks.cli import build_parser, diagnose_verb
from allranks.diagnose import diagnose, parse
from allranks.diagnose.progress import is_progress

STEPS = {
    "Transformers": "{'loss': 1.8421, 'grad_norm': 0.61, 'learning_rate': 4.5e-05, 'epoch': 0.12}",
    "Transformers 5": "{'loss': '1.8421', 'grad_norm': '0.61', 'learning_rate': '4.5e-05', 'epoch': '0.12'}",
    "LLaMA-Factory": "[INFO|callbacks.py:143] {'loss': 0.91, 'learning_rate': 9.1e-05, 'epoch': 0.5, 'total': 8}",
    "ms-swift": "{'loss': 0.71, 'token_acc': 0.8, 'grad_norm': 0.5, 'epoch': 0.1, 'global_step/max_steps': '5/93'}",
    "Megatron-LM": " iteration       10/     500 | consumed samples:     2560 | elapsed time per iteration (ms): 7 | "
    "learning rate: 1.200000E-06 | global batch size:   256 | lm loss: 9.871204E+00 | loss scale: 1.0 | "
    "grad norm: 3.412 | number of skipped iterations:   0 | number of nan iterations:   0 |",
    "Megatron-LM, fp16": " iteration        7/     500 | learning rate: 0.000000E+00 | global batch size: 256 | "
    "loss scale: 4294967296.0 | number of skipped iterations:   1 | number of nan iterations:   0 |",
    "GPT-NeoX": " samples/sec: 31.250 | iteration       40/   32000 | elapsed time per iteration (ms): 2048.0 | "
    "learning rate: 2.4E-06 | lm_loss: 8.1234E+00 | loss scale: 65536.0 | number of skipped iterations: 0 |",
    "DeepSpeed": "[2026-01-05 10:11:12,345] [INFO] [logging.py:128:log_dist] [Rank 0] step=20, skipped=1, lr=[1e-05], "
    "mom=[(0.9, 0.999)]",
    "DeepSpeed's timer": "epoch=0/micro_step=40/global_step=20, RunningAvgSamplesPerSec=6.1, CurrSamplesPerSec=6.4, "
    "MemAllocated=11.2GB, MaxMemAllocated=13.9GB",
    "DeepSpeed's pipeline": "steps: 20 loss: 6.9143 iter time (s): 0.512 samples/sec: 31.250",
    "Lightning, tqdm": "Epoch 0:  12%|█▏        | 12/100 [00:06<00:44,  1.99it/s, v_num=3, train_loss=2.410]",
    "Lightning, rich": "Epoch 0/9 ━━━━━━━ 12/100 0:00:06 • 0:00:44 1.99it/s v_num: 3.000 train_loss: 2.410",
    "NeMo": "Training epoch 0, iteration 12/99 | lr: 1.2e-06 | global_batch_size: 8 | global_step: 12 | "
    "reduced_train_loss: 10.91 | train_step_timing in s: 0.61",
    "tqdm": " 12%|█▏        | 12/100 [00:06<00:44,  1.99it/s]",
    "Accelerate": "Training:  12%|█▏        | 12/100 [00:06<00:44,  1.99it/s, loss=2.41]",
    "Diffusers": "Steps:   1%|          | 12/1000 [00:31<42:10,  2.56s/it, lr=0.0001, step_loss=0.143]",
    "verl": "Training Progress:  12%|█▏        | 12/100 [10:06<71:44, 48.91s/it]",
    "OpenRLHF": "Train epoch [1/1]:  12%|█▏        | 12/100 [00:06<00:44,  1.99it/s, gpt_loss=2.41]",
    "torchtune": "1|12|Loss: 1.2187:  12%|█▏        | 12/100 [02:45<17:27, 13.96s/it]",
    "torchtune's log": "Step 12 | loss:1.2187 lr:2e-05 tokens_per_second_per_gpu:655.93",
    "torchtitan": "[titan] 2026-03-02 11:10:21,511 - root - INFO - step: 12  loss:  6.2250  memory:  1.41GiB(1.79%)  "
    "tps: 193,831  tflops: 18.36  mfu: 1.86%",
    "nanoGPT": "iter 12: loss 5.4321, time 250.12ms, mfu 12.31%",
    "litgpt": "Epoch 1 | iter 12 step 3 | loss train: 1.921, val: n/a | iter time: 301.22 ms (step)",
    "fairseq": "2026-01-05 10:11:12 | INFO | train_inner | epoch 001:    120 / 1891 loss=11.52, nll_loss=10.8, ppl=18, "
    "wps=52922, num_updates=120, lr=8.9e-05, gnorm=1.5, loss_scale=2, train_wall=88, wall=90",
    "fairseq, JSON": '{"epoch": 2, "train_loss": "8.933", "train_ppl": "21.4", "train_lr": "2.4e-05", '
    '"train_loss_scale": "0.5", "train_wall": "97"}',
    "Keras": " 120/1875 [=>............................] - ETA: 5s - loss: 0.6512 - accuracy: 0.8012",
    "Keras 3": "120/1875 ━━━━━━━━━━━━━━━━━━━━ 5s 3ms/step - accuracy: 0.8012 - loss: 0.6512",
    "MMEngine": "2026/01/05 10:11:12 - mmengine - INFO - Epoch(train) [1][ 120/1000]  lr: 1.0e-02  eta: 0:10:00  "
    "time: 0.1  data_time: 0.01  memory: 1024  loss: 0.5123",
    "Detectron2": "[01/05 10:11:12 d2.utils.events]:  eta: 0:10:00  iter: 11  total_loss: 2.31  loss_cls: 1.2  "
    "time: 0.3  lr: 0.0005  max_mem: 3000M",
    "timm": "Train: 0 [  50/5004 (  1%)]  Loss: 6.94 (6.95)  Time: 0.512s, 500.00/s  LR: 1.000e-06  Data: 0.1 (0.1)",
    "PyTorch's ImageNet": "Epoch: [0][  10/5005]\tTime  0.51 ( 0.60)\tData  0.01 ( 0.02)\tLoss 6.91e+00 (7.02e+00)",
    "PyTorch's ImageNet, other losses": "\x1b[1mEpoch: [12][ 40/100]\x1b[0m\tTime 12.575 (12.474)\trecon 2.206 (2.252)",
    "MetricLogger": "Epoch: [0]  [ 10/3125]  eta: 1:02:03  acc: 0.1 (0.1)  time: 1.2  data: 0.1",
    "PyTorch's MNIST": "Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.301212",
    "Composer": "[batch=10/3200]:",
    "OLMo": "2026-01-05 10:11:12.345\tnode-1:0\tolmo.train:967\tINFO\t[step=10/739328,epoch=0]",
    "MaxText": "completed step: 12, seconds: 1.241, TFLOP/s/device: 201.4, Tokens/s/device: 5012.1, loss: 8.512",
    "MXNet": "2021-10-13 10:12:33,135 Node[0] Epoch[8] Batch [240-260]\tSpeed: 26521.11 samples/sec\taccuracy=nan",
    "MLPerf": ':::MLLOG {"namespace": "", "time_ms": 7, "event_type": "INTERVAL_END", "key": "block_stop", "value": 7}',
    "Ultralytics": "     12/100      3.41G     0.6431     0.4119     1.2036        119       1024:  12%|█▏        "
    "| 16/137 [00:06<00:44,  2.71it/s]",
    "Ultralytics 8.4": "     12/100      3.41G     0.6431     0.4119        119       1024: 100% ━━━━━━━━━━━━ 137/137 "
    "3.1it/s 44s",
    "a script": "step 7 loss 2.85 lr 1e-4",
}


def later(step, n):
    """The step line with other numbers, as the next steps print it."""
    return re.sub(r"\b1?2\b|\b10\b|\b7\b|\b20\b|\b40\b", lambda _: str(n), step)


@pytest.mark.parametrize("name", STEPS)
def test_a_warning_that_the_training_survives_is_no_cause(name):
    """The warning's pattern alone is certain: only the steps that follow say that nothing came of it."""
    warning = "[rank0]: node-1: NCCL WARN Call to ibv_modify_qp failed with error Connection timed out\n"
    assert diagnose(parse(warning)).cause == "ib-transport-error"
    text = warning + "".join(later(STEPS[name], n) + "\n" for n in range(40, 52))
    found = diagnose(parse(text, "run.log"))
    assert (found.cause, found.confidence) == ("benign-noise", "likely")


@pytest.mark.parametrize(
    "text",
    [
        "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768",
        "Current loss scale already at minimum at step 10",
        "    loss = self.training_step(model, inputs[0], step)",
        "    for step, batch in enumerate(loader): loss = model(batch).loss",
        "  lr_warmup_iters ................................. 100",
        "TrainingArguments(gradient_accumulation_steps=8, learning_rate=1e-05, logging_steps=10, max_steps=100)",
        "Loading checkpoint shards:  50%|█████     | 1/2 [00:03<00:03,  3.2s/it]",
        "Map (num_proc=8):  50%|█████     | 1/2 [00:03<00:03,  3.2s/it]",
        "Train dataset tokenizing:  50%|█████     | 1/2 [00:03<00:03,  3.2s/it]",
        "Connection loss at step 12",
        "ValueError: step 3: the loss is not a scalar",
        "[1/2] compiling with loss of precision",
        "Adjusting learning rate of group 0 to 1.0e-3.",
        "Epoch 2/10",
        "Epoch: [1] of [2]",
    ],
)
def test_what_is_no_step(text):
    words = re.findall(rb"[A-Za-z]+", text.encode())
    assert not is_progress(text, words)


@pytest.mark.parametrize(
    "text", ["step 7 loss nan", "{'loss': nan, 'epoch': 0.1}", "iter 3: Loss -inf", "iter 3: loss inf"]
)
def test_a_step_whose_loss_is_no_number_is_a_step(text):
    assert is_progress(text, re.findall(rb"[A-Za-z]+", text.encode()))


def test_a_line_of_code_does_not_end_its_traceback():
    """It holds the words of a step line; the exception below it must still be seen."""
    text = (
        "Traceback (most recent call last):\n"
        '  File "t.py", line 3, in step\n'
        "    loss = train_step(batch[0], epoch)\n"
        "KeyError: 'labels'\n"
    )
    found = diagnose(parse(text))
    assert (found.cause, found.confidence) == ("rank-crashed-first", "likely")


ENDS = {
    "Transformers": "{'train_runtime': 812.4, 'train_samples_per_second': 3.1, 'train_loss': 1.2, 'epoch': 3.0}",
    "Transformers' log": "Training completed. Do not forget to share your model on huggingface.co/models =)",
    "torchtitan": "[rank0]:[titan] 2026-03-02 11:20:21,511 - root - INFO - Training completed",
    "Axolotl": "[2026-01-05 10:11:12,345] [INFO] [axolotl.train] Training Completed!!! Saving model to ./out",
    "Megatron-LM": "[after training is done] datetime: 2026-01-05 10:11:12",
    "Lightning": "`Trainer.fit` stopped: `max_epochs=3` reached.",
    "fairseq": "2026-01-05 10:11:12 | INFO | fairseq_cli.train | done training in 812.4 seconds",
    "MLPerf": ':::MLLOG {"time_ms": 7, "key": "run_stop", "value": null, "metadata": {"status": "success"}}',
    "a script": "Training finished, exiting ...",
}
WARNING = "[rank0]: node-1: NCCL WARN Call to ibv_modify_qp failed with error Connection timed out\n"
STEP = STEPS["Transformers"] + "\n"
IGNORED = {
    "a finaliser": "Exception ignored in: <function Connection.__del__ at 0x7f0011223344>\n",
    "atexit": "Exception ignored in atexit callback: <function _exit_function at 0x7f0011223344>\n",
    "atexit before 3.10": "Error in atexit._run_exitfuncs:\n",
}
TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "/usr/lib/python3.11/multiprocessing/util.py", line 360, in _exit_function\n'
    "    _run_finalizers()\n"
)


def exit_code(tmp_path, text, name="run.log"):
    (tmp_path / name).write_text(text, encoding="utf-8")
    options = build_parser().parse_args(["diagnose", str(tmp_path)])
    return diagnose_verb.diagnose_command(options)


@pytest.mark.parametrize("name", ENDS)
def test_a_log_with_the_end_of_a_training_is_fine(name, tmp_path, capsys):
    """Also where few steps follow a warning of which a longer training would have been the proof."""
    assert exit_code(tmp_path, WARNING + STEP + STEP + ENDS[name] + "\n") == 0
    assert diagnose_verb.NOTHING in capsys.readouterr().out
    assert exit_code(tmp_path, WARNING + STEP * 12 + ENDS[name] + "\n") == 0
    assert exit_code(tmp_path, STEP * 12 + ENDS[name] + "\n") == 0


@pytest.mark.parametrize("note", IGNORED)
@pytest.mark.parametrize(
    "last", ["KeyError: 'x'", "OSError: [Errno 28] No space left on device", "queue.Empty"]
)
def test_the_end_outweighs_an_exception_that_python_ignores(note, last):
    text = STEP * 2 + ENDS["Transformers"] + "\n" + IGNORED[note] + TRACEBACK + last + "\n"
    found = diagnose(parse(text, "run.log"))
    assert (found.cause, found.confidence) == ("benign-noise", "certain")


def test_the_end_outweighs_an_ignored_chain_and_one_without_a_traceback():
    chain = (
        TRACEBACK + "KeyError: 'x'\n\nDuring handling of the above exception, another exception occurred:\n\n"
    )
    chain = IGNORED["atexit"] + chain + TRACEBACK + "ValueError: y\n"
    pipe = "Exception ignored in: <_io.TextIOWrapper name='<stdout>' mode='w' encoding='utf-8'>\n"
    text = STEP + ENDS["Transformers"] + "\n" + chain + pipe + "BrokenPipeError: [Errno 32] Broken pipe\n"
    found = diagnose(parse(text, "run.log"))
    assert (found.cause, found.confidence) == ("benign-noise", "certain")


@pytest.mark.parametrize(
    "noise",
    [
        "/usr/lib/python3.11/multiprocessing/resource_tracker.py:254: UserWarning: resource_tracker: there are "
        "6 leaked semaphore objects to clean up at shutdown\n  warnings.warn('resource_tracker: there are %d '\n",
        "[rank0]:[W105 10:11:12.762196891 ProcessGroupNCCL.cpp:1496] Warning: WARNING: destroy_process_group() was not "
        "called before program exit, which can leak resources. (function operator())\n",
        "[rank1]:[W105 10:11:13.1 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=3): Connection reset by "
        "peer\n[rank1]:[W105 10:11:13.1 ProcessGroupNCCL.cpp:1662] [PG ID 0 PG GUID 0 Rank 1] Failed to check the "
        '"should dump" flag on TCPStore, (maybe TCPStore server has shut down too early)\n',
    ],
)
def test_the_end_outweighs_what_leaving_ranks_say(noise):
    found = diagnose(parse(STEP * 3 + ENDS["Transformers"] + "\n" + noise, "run.log"))
    assert (found.cause, found.confidence) == ("benign-noise", "certain")


CRASHED = TRACEBACK + "KeyError: 'labels'\n"
ROW = "  rank      : 1 (local_rank: 1)\n  exitcode  : 1 (pid: 101)\n"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (STEP * 3 + ENDS["Transformers"] + "\n" + CRASHED, "rank-crashed-first"),
        (STEP * 3 + IGNORED["atexit"] + TRACEBACK + "KeyError: 'x'\n" + CRASHED, "rank-crashed-first"),
        (
            STEP * 3
            + ENDS["Transformers"]
            + "\n"
            + TRACEBACK
            + "OSError: [Errno 28] No space left on device\n",
            "disk-full-checkpoint",
        ),
        (WARNING + STEP * 3 + ENDS["Transformers"] + "\n" + ROW, "ib-transport-error"),
        (
            "{'loss': nan, 'learning_rate': 1e-05, 'epoch': 0.1}\n" * 4 + ENDS["Transformers"],
            "loss-nan-fp16-overflow",
        ),
        (
            "".join("[rank1]: " + part + "\n" for part in CRASHED.splitlines())
            + "[rank0]: "
            + STEP
            + "[rank0]: "
            + ENDS["Transformers"],
            "rank-crashed-first",
        ),
    ],
)
def test_what_really_failed_is_named_though_the_training_ended(text, cause, tmp_path):
    assert diagnose(parse(text, "run.log")).cause == cause
    assert exit_code(tmp_path, text) == 1


def test_another_ranks_log_may_hold_a_warning(tmp_path):
    (tmp_path / "rank-1.log").write_text(
        "[W socket.cpp:601] [c10d] The client socket has failed to connect to [x]\n"
    )
    assert exit_code(tmp_path, STEP * 3 + ENDS["Transformers"] + "\n", "rank-0.log") == 0


def test_a_log_that_is_cut_off_proves_nothing(tmp_path):
    assert exit_code(tmp_path, WARNING + STEP * 12) == 3
    assert exit_code(tmp_path, STEP * 12 + IGNORED["a finaliser"] + TRACEBACK + "KeyError: 'x'\n") == 3
