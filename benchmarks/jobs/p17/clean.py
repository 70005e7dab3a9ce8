"""Nettoyage du crawl avant l'entraînement du tokenizer."""
import argparse, glob, gzip, json, logging, multiprocessing as mp, os, traceback
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(processName)s %(levelname)s %(message)s")
L = logging.getLogger("clean")
LANGS = {"en": 0, "fr": 1}
def one(args):
    path, dst = args; ok = bad = 0
    opener = gzip.open if path.endswith(".gz") else open
    try:
        with opener(path, "rb") as f, open(os.path.join(dst, os.path.basename(path) + ".txt"), "w") as o:
            for n, line in enumerate(f):
                try:
                    r = json.loads(line.decode("utf-8")); o.write(f"{LANGS.get(r['lang'], -1)}\t{r['text']}\n"); ok += 1
                except (ValueError, KeyError) as e:
                    bad += 1
                    if bad <= 6: L.exception("%s ligne %d rejetée", path, n + 1)
                    else: L.error("%s ligne %d rejetée : %s: %s", path, n + 1, type(e).__name__, e)
    except OSError:
        L.critical("fichier illisible : %s\n%s", path, traceback.format_exc()); return path, 0, -1
    return path, ok, bad
if __name__ == "__main__":
    ap = argparse.ArgumentParser(); ap.add_argument("src"); ap.add_argument("dst"); ap.add_argument("--workers", type=int); a = ap.parse_args()
    os.makedirs(a.dst, exist_ok=True); files = sorted(glob.glob(f"{a.src}/*"))
    with mp.Pool(a.workers) as pool:
        tot = 0; rej = 0; lost = []
        for p, ok, bad in pool.imap(one, [(f, a.dst) for f in files]):
            print(f"{p}: {ok} documents gardés, {'illisible' if bad < 0 else str(bad) + ' rejetés'}")
            tot += ok; rej += max(bad, 0); lost += [p] * (bad < 0)
    print(f"terminé : {tot} documents écrits dans {a.dst}, {rej} rejetés ({100 * rej / (tot + rej):.1f} %, seuil 20 %), fichiers perdus : {lost} (seuil 2)")
    if rej / (tot + rej) > .2 or len(lost) > 2: raise SystemExit("trop de rejets")
