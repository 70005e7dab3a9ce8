"""The sizes of the models of lockstep_worker.py, for tests that import no torch."""

WIDTH, INNER, EXPERTS, CHOSEN, LAYERS, WORDS, LENGTH = 64, 32, 32, 2, 3, 128, 24
EXPERT_ELEMENTS = 3 * WIDTH * INNER


def steps_of(kind: str, at_once: int):
    """The models as the planner describes them; `at_once` 0 for leaves."""
    from allranks.plan.steps import Node, Param, Steps

    params: list[Param] = []

    def add(*sizes: int, frozen: bool = True, **of) -> Node:
        first = len(params)
        params.extend(Param(size, False, frozen) for size in sizes)
        return Node(tuple(range(first, len(params))), **of)

    feed = (WIDTH * INNER,) * 3
    trains = kind == "experts-train"

    def fused() -> Node:
        router, tensors = add(WIDTH * EXPERTS), (EXPERTS * 2 * INNER * WIDTH, EXPERTS * WIDTH * INNER)
        counts = [min(at_once, EXPERTS - first) for first in range(0, EXPERTS, at_once or EXPERTS)]
        slices = Node(group=True, slices=tuple(2 * EXPERT_ELEMENTS * count for count in counts), pieces=2)
        experts = slices if at_once else add(*tensors, leaf=True)
        return Node((), [router, experts, Node((), [add(size) for size in feed])])

    def block() -> Node:
        if kind == "fused":
            return fused()
        shared = feed if kind != "bare" else ()
        if not at_once:
            parts = (
                add(WIDTH * EXPERTS).params,
                add(*feed * EXPERTS, frozen=not trains).params,
                add(*shared).params,
            )
            return Node(sum(parts, ()), leaf=True)
        router = add(WIDTH * EXPERTS)
        groups = [
            add(*feed * at_once, frozen=not trains, leaf=True, group=True) for _ in range(EXPERTS // at_once)
        ]
        beside = [Node((), [add(size) for size in shared])] if shared else []
        return Node((), [router, *groups, *beside])

    root = Node((), [add(WORDS * WIDTH)])
    for _ in range(LAYERS):
        norm, mix = add(WIDTH, WIDTH), add(WIDTH * WIDTH, frozen=False)
        root.inside.append(Node((), [norm, mix, block()], layer=True))
    root.inside.append(add(WIDTH * WORDS))
    return Steps(params, root)
