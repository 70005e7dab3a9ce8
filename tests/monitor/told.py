"""Runs told second by second, for the tests of this room."""

from __future__ import annotations

from allranks.core import Event, Finding
from allranks.monitor import Watch

WAITS = [
    ["/u/train.py", 30, "<module>"],
    ["/x/site-packages/torch/distributed/distributed_c10d.py", 9, "all_reduce"],
]
WORKS = [["/u/train.py", 58, "<module>"], ["/u/export.py", 7, "merge_and_push"]]
LOADS = [
    ["/u/train.py", 12, "<module>"],
    ["/x/site-packages/torch/utils/data/dataloader.py", 9, "__next__"],
]
MERGES = [["/u/train.py", 58, "<module>"], ["/u/export.py", 7, "merge"]]


class Run:
    """`nodes` nodes with `per_node` ranks each; `clocks` holds how far each node's clock is ahead of the head's."""

    def __init__(self, nodes=3, per_node=1, **expect):
        ranks = nodes * per_node
        self.watch = Watch({"world_size": ranks, **expect})
        self.ranks, self.per_node, self.said, self.clocks = range(ranks), per_node, [], {}
        for node in range(nodes):
            self.event(0.0, "joined", node)
            self.event(0.0, "supervisor", node, process={"boot_id": f"b{node}"})
        for rank in self.ranks:
            self.event(0.1, "start", rank // per_node, rank, pid=100 + rank, start_time=1)

    def event(self, at, kind, node, rank=None, **data):
        """What happens at `at` by the head's clock, told by the node's clock, heard at once."""
        told = Event(at + self.clocks.get(node, 0.0), kind, f"n{node}", rank, data)
        self._keep(at, self.watch.add(told, received=at))

    def beat(self, at, rank, step, moved=True, phase="training", loss=3.0, total=1000, seconds=1.0):
        steps = [[step, loss, seconds, 0.0, 1, 1e-5]] if moved else []
        beat = {"phase": phase, "step": step, "total_steps": total, "steps": steps}
        self.event(at, "beat", rank // self.per_node, rank, **beat)

    def second(self, at, step, moved=True, but=(), dark=(), **beat):
        """One second of the whole run; the ranks in `but` are not heard, of the nodes in `dark` nothing is."""
        for rank in self.ranks:
            node = rank // self.per_node
            if node not in dark:
                self.watch.heard(f"n{node}", at)
                if rank not in but and self.watch.run.rank(rank).alive:
                    self.beat(at, rank, step, moved, **beat)
        self.tick(at)

    def tick(self, at):
        self._keep(at, self.watch.tick(at))

    def train(self, first, last, step=0, moved=True, **beat):
        """Seconds `first` to `last`, one step each where it moves; the last step."""
        for at in range(first, last + 1):
            step += 1 if moved else 0
            self.second(float(at), step, moved, **beat)
        return step

    def alarms(self, *names):
        return [
            (at, f.id, f.verdict, f.where.node, f.where.rank)
            for at, f in self.said
            if f.id in names or not names
        ]

    def _keep(self, at, statements):
        self.said += [(at, f) for f in statements if isinstance(f, Finding)]
        assert not self.watch.faulty


def leaves(run, at, rank, step, code: int | None = 0):
    """As a script ends; a `code` of None: by os._exit, reaped before anybody looked."""
    node = rank // run.per_node
    if code is not None:
        run.event(at, "beat", node, rank, phase="done", step=step)
        run.event(at + 0.1, "end", node, rank, code=code)
    run.event(at + 0.2, "rank-gone", node, rank, pid=100 + rank, code=code)


def answers(run, at, stacks, **about):
    run.event(at, "evidence", 0, why="rank-exited-early", **about)
    for rank, frames in stacks.items():
        run.event(at + 0.5, "stack", rank // run.per_node, rank, frames=frames, by="inside")


class Stall:
    """`nodes` of `per_node` ranks that take a step a second until 50; the keeper asks at 63."""

    asked = 63.0

    def __init__(self, nodes=3, per_node=1, steps=1000):
        self.watch = Watch({"world_size": nodes * per_node, "steps": steps})
        self.nodes, self.per_node, self.world = nodes, per_node, nodes * per_node
        self.said = []
        for node in range(nodes):
            self.watch.add(Event(0.0, "joined", f"n{node}"))
        for rank in range(self.world):
            start = {"pid": 100 + rank, "start_time": 1, "world_size": self.world}
            self.tell(0.1, "start", rank, **start)
        for second in range(1, 51):
            self.second(second, second)

    def tell(self, at, kind, rank, **data):
        node = f"n{rank // self.per_node}"
        self.said += [(at, f) for f in self.watch.add(Event(float(at), kind, node, rank, data))]

    def second(self, at, step, ranks=None):
        for node in range(self.nodes):
            self.watch.heard(f"n{node}", float(at))
        for rank in range(self.world) if ranks is None else ranks:
            steps = [[step, 3.0, 1.0, 0, 1, 1e-5]] if step == at else []
            self.tell(at, "beat", rank, phase="training", step=step, steps=steps, total_steps=None)
        self.said += [(at, f) for f in self.watch.tick(float(at))]

    def wait(self, first, last, ranks=None, each=1):
        for second in range(first, last, each):
            self.second(second, 50, ranks)

    def ask(self, at=None):
        self.watch.add(Event(at or self.asked, "evidence", "n0", None, {"why": "no-progress"}))

    def flight(self, rank, *groups, at=0.5):
        rows = [
            {"group": str(g), "sequence": n, "operation": o, "sizes": [[4]], **(more[0] if more else {})}
            for g, n, o, *more in groups
        ]
        self.tell(self.asked + at, "flight", rank, **rows[-1], groups=rows)

    def stack(self, rank, frames, at=0.4):
        self.tell(self.asked + at, "stack", rank, frames=frames, by="inside" if frames else None)

    def look(self, rank, state="S", wchan=None, sockets=()):
        data = {"pid": 100 + rank, "state": state, "wchan": wchan, "sockets": list(sockets)}
        self.tell(self.asked + 0.1, "process", rank, **data)

    def named(self, name):
        return [(at, f) for at, f in self.said if f.id == name]


def stalled(*stacks, nodes=None, **more):
    """Stalled, asked, and answered by these stacks."""
    stall = Stall(nodes or len(stacks), len(stacks) // (nodes or len(stacks)), **more)
    stall.wait(51, 63)
    stall.ask()
    for rank, frames in enumerate(stacks):
        if frames is not None:
            stall.stack(rank, frames)
    return stall
