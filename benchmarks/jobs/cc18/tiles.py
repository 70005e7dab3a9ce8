import csv, random
random.seed(9)
with open("tiles.csv", "w", newline="") as f:
    w = csv.writer(f); w.writerow(["tile", "region", "cloud", "season"])
    for i in range(1200):
        w.writerow([f"T{i:05d}", ["north", "south", "east", "west"][i % 4], round(random.random(), 3), random.choice(["spring", "summer", "autumn"]) if not (i % 4 == 3 and i > 700) else random.choice(["summer", "monsoon"])])
print("tiles.csv written")
