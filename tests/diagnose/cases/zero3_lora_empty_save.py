FIRES = (
    "# The adapter saved under ZeRO-3 has empty weights\n",
    "        size mismatch for decoder.layers.3.fc.weight: copying a param with shape torch.Size([1]) from checkpoint, "
    "the shape in current model is torch.Size([512, 512]).\n",
    "size mismatch for model.embed_tokens.weight: copying a param with shape torch.Size([0]) from "
    "checkpoint, the shape in current model is torch.Size([32002, 4096]).\n",
    "[rank0] training done\n-rw-r--r-- 1 ubuntu ubuntu 40 Nov 20 10:00 out/adapter_model.safetensors\n",
    "# The stored adapter of LoRA is empty, only 443 bytes\n",
)

SILENT = (
    "        size mismatch for head.scale: copying a param with shape torch.Size([1]) from checkpoint, "
    "the shape in current model is torch.Size([8]).\n",
    "-rw-r--r-- 1 ubuntu ubuntu 194013440 Nov 20 10:00 out/adapter_model.safetensors\n[rank0] step 1 loss 3\n",
)
