"""Cliente minimo de nuestro servidor de experimentos."""
import os
import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry


class Run:
    def __init__(self, project, config):
        self.url = os.environ["EXP_TRACKER_URL"]
        self.s = requests.Session()
        self.s.mount("http://", HTTPAdapter(max_retries=Retry(total=3, backoff_factor=0.5)))
        r = self.s.post(f"{self.url}/api/runs", json={"project": project, "config": config}, timeout=10)
        r.raise_for_status()
        self.id = r.json()["id"]

    def log(self, **kw):
        self.s.post(f"{self.url}/api/runs/{self.id}/metrics", json=kw, timeout=10).raise_for_status()
