import time
while True:
    time.sleep(2)
    with open("/sys/class/infiniband/mlx5_0/ports/1/rate") as f: print("ib rate", f.read())
    time.sleep(5)
