import torch.distributed as dist


class Topology:
    def __init__(self, tp, pp):
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.tp, self.pp = tp, pp
        self.tp_rank, self.pp_rank = self.rank % tp, self.rank // tp
        self.tp_groups = [dist.new_group(list(range(i * tp, (i + 1) * tp))) for i in range(pp)]
        self.first, self.last = self.pp_rank == 0, self.pp_rank == pp - 1

    def layers_of_stage(self, n):
        if n % self.pp:
            raise ValueError(f"num_layers={n} cannot be split evenly over pipeline_parallel_size={self.pp} stages")
        k = n // self.pp
        return list(range(self.pp_rank * k, (self.pp_rank + 1) * k))
