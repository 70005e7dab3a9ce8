import json, logging, os, time
log = logging.getLogger("vocab")

def build(path, texts):
    lock = path + ".lock"
    t = time.time()
    while True:
        try:
            fd = os.open(lock, os.O_CREAT | os.O_EXCL)
            break
        except FileExistsError:
            log.info("%s is held, retrying", lock)
            time.sleep(4)
    words = sorted({w for t in texts for w in t.split()})
    json.dump(words, open(path, "w"))
    os.close(fd); os.unlink(lock)
