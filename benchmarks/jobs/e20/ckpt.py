import os, torch
def save(d, rank, model, opt, step):
    os.makedirs(d, exist_ok=True)
    if rank == 0: torch.save(model.state_dict(), f"{d}/model.pt")
    torch.save({"step": step, "opt": opt.state_dict()}, f"{d}/optim_states_{rank:02d}_of_04.pt")
def load(d, rank, model, opt):
    model.load_state_dict(torch.load(f"{d}/model.pt"))
    s = torch.load(f"{d}/optim_states_{rank:02d}_of_04.pt")
    opt.load_state_dict(s["opt"]); return s["step"]
