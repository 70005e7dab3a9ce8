import argparse, csv, os, random
p = argparse.ArgumentParser(); p.add_argument("--out"); p.add_argument("--n", type=int); a = p.parse_args()
os.makedirs(os.path.dirname(a.out), exist_ok=True)
random.seed(4)
topics = ["invoice", "login", "shipping label", "refund", "password reset", "broken zipper", "late parcel"]
with open(a.out, "w", newline="") as f:
    w = csv.DictWriter(f, ["ticket_id", "lang", "customer_text", "agent_reply"]); w.writeheader()
    for i in range(a.n):
        t = random.choice(topics)
        w.writerow(dict(ticket_id=88000 + i, lang="en", customer_text=f"Hello, I have a problem with my {t}, order {random.randint(1000,9999)}.",
                        agent_reply=f"Dear customer, thank you for your message about the {t}. We are looking into it."))
print("wrote", a.n, "tickets to", a.out)
