import json, os, signal, time, glob
slots = json.load(open("slots.json"))
end = time.time() + 50
while time.time() < end:
    time.sleep(0.5)
    for f in glob.glob("run/*.pid"):
        rank = os.path.basename(f)[:-4]
        if time.time() - os.path.getmtime(f) > slots[rank]:
            os.kill(int(open(f).read()), signal.SIGTERM)
            os.remove(f)
