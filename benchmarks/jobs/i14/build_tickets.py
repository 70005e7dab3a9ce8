import json
T = [
 ("gpu", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 3 has a total capacity of 79.15 GiB of which 1.02 GiB is free."),
 ("net", "[rank5]:[E ProcessGroupNCCL.cpp:616] [Rank 5] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4112, OpType=ALLREDUCE, NumelIn=1, Timeout(ms)=600000) ran for 600029 milliseconds before timing out."),
 ("disk", "Traceback (most recent call last):\n  File \"train.py\", line 310, in save\n    torch.save(state, path)\nOSError: [Errno 28] No space left on device"),
 ("host", "Out of memory: Killed process 21877 (python) total-vm:91823344kB, anon-rss:62014512kB"),
 ("net", "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.0.4.12]:41120"),
 ("code", "Traceback (most recent call last):\n  File \"/app/main.py\", line 12, in <module>\n    import deepspeed\nModuleNotFoundError: No module named 'deepspeed'"),
 ("host", "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: train.py FAILED  exitcode: -9 (pid: 3121) Signal 9 (SIGKILL) received by PID 3121"),
 ("other", "Training looks fine, could you please extend my quota by two days?"),
]
with open("tickets.jsonl", "w") as f:
    for k in range(10):
        for lab, txt in T: f.write(json.dumps({"label": lab, "text": txt}) + "\n")
