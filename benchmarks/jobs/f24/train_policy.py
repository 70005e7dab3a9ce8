import torch
net = torch.nn.Linear(4, 2); opt = torch.optim.Adam(net.parameters(), 0.01)
for i in range(50):
    x = torch.randn(32, 4); l = (net(x) - x[:, :2]).square().mean(); opt.zero_grad(); l.backward(); opt.step()
    if i % 10 == 0: print(f"bc iter {i} loss {l.item():.4f}")
torch.save(net.state_dict(), "policy.pt")
print("behaviour cloning done -> policy.pt")
