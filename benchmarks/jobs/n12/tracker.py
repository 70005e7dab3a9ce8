import json, time, urllib.request, sys
class Run:
    def __init__(self, url, name):
        self.url, self.name, self.offline, self.rows = url, name, False, []
        for t in range(3):
            try:
                urllib.request.urlopen(url + "/init", timeout=2); return
            except OSError as e:
                print(f"tracker: ERROR Network error ({type(e).__name__}: {e}), retry {t+1}/3", file=sys.stderr, flush=True); time.sleep(.5)
        self.offline = True
        print("tracker: WARNING could not reach the server, switching to offline mode", file=sys.stderr)
    def log(self, **k): self.rows.append(k)
    def finish(self):
        json.dump(self.rows, open(f"{self.name}.offline.json", "w"))
        print(f"tracker: Run summary:\ntracker:   loss {self.rows[-1]['loss']:.4f}\ntracker: You can sync this run with: tracker sync ./{self.name}.offline.json\ntracker: Bye, see you next time!")
