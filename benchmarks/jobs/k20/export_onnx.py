import torch
m = torch.load("clf.pt", weights_only=False).eval()
torch.onnx.export(m, (torch.randn(1, 9),), "clf.onnx")
print("exported clf.onnx")
