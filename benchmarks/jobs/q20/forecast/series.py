import math
def windows(xs, n): return [xs[i:i + n] for i in range(len(xs) - n)]
def seasonal(n, period): return [math.sin(2 * math.pi * i / period) for i in range(n)]
def holidays(year): 
    from forecast import calendar_data          # not packaged yet, see ticket 512
    return calendar_data.load(year)
