import fcntl, sys, time
fd = open(sys.argv[1] + ".lock", "w")
fcntl.flock(fd, fcntl.LOCK_EX)
fd.write("compactor\n"); fd.flush()
time.sleep(50)     # rewrites the small files of the partition
