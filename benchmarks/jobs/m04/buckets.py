import random

class TokenBudgetExceeded(Exception):
    def __init__(self, length, budget):
        super().__init__(f"sequence of {length} tokens does not fit a budget of {budget}")

class BatchSampler:
    """packs sequences until the token budget is full"""
    def __init__(self, total, world, rank, budget):
        rng = random.Random(21)
        self.lengths = [rng.randint(20, 60) for _ in range(total)]
        self.lengths[340] = 311
        self.lengths = self.lengths[rank::world]
        self.budget = budget
    def __iter__(self):
        batch, used = [], 0
        for n in self.lengths:
            if n > self.budget:
                raise TokenBudgetExceeded(n, self.budget)
            if used + n > self.budget:
                yield batch
                batch, used = [], 0
            batch.append(n); used += n
