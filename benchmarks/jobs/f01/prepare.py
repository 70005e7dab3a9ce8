import csv, random
random.seed(3)
words = "the red fox runs over a low hill and sees the dog near old barn".split()
with open("data/train.csv", "w") as f:
    f.write("id,text,label\n")
    for i in range(2600):
        t = " ".join(random.choices(words, k=7))
        if i == 1873:
            t = t + ", " + t + ", so they say"
        f.write(f"{i},{t},{i % 2}\n")
print("wrote data/train.csv")
