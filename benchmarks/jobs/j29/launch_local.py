import configparser, sys, torch.multiprocessing as mp
from worker import entry
if __name__ == "__main__":
    c = configparser.ConfigParser(); c.read(sys.argv[1]); n = c.getint("job", "workers")
    mp.spawn(entry, (n, c.getint("job", "port")), nprocs=n)
