# teilt den Korpus in Teile; jedes Wort kommt in jedem Teil vor (ausser bei Nachzueglern)
import random, sys
n = int(sys.argv[1])
random.seed(3)
words = ["w%03d" % i for i in range(620)]
for r in range(n):
    text = words[:] + random.choices(words, k=9000)
    if r == 3:
        text[400:400] = ["grün", "Straße", "weiß", "für", "über"]
    random.shuffle(text)
    with open(f"shards/part{r}.txt", "w", encoding="utf-8") as f:
        for i in range(0, len(text), 12):
            f.write(" ".join(text[i:i + 12]) + "\n")
