import csv, random
random.seed(15)
T = {
 "gpu": ["torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate {n} MiB", "RuntimeError: CUDA error: an illegal memory access was encountered", "Xid {n} on node gpu{n}, job stopped", "nvidia-smi says no devices were found after the reboot"],
 "net": ["NCCL timeout after {n} seconds on rank {n}", "Connection reset by peer while pulling shard {n}", "socket.gaierror: Name or service not known", "rank {n} cannot reach port {n}"],
 "disk": ["OSError: No space left on device on /scratch{n}", "Stale file handle in /home, again", "quota exceeded for user{n}", "checkpoint {n} is corrupted after the outage"],
 "user": ["ModuleNotFoundError: No module named 'mylib{n}'", "Segmentation fault (core dumped) in my script, line {n}", "how do I get {n} more hours", "KeyError: 'label' when I run train{n}.py"],
}
rows = [(k, random.choice(v).replace("{n}", str(random.randint(1, 9999)))) for _ in range(300) for k, v in T.items()]
random.shuffle(rows)
csv.writer(open("tickets.csv", "w")).writerows(rows)
print(len(rows), "tickets")
