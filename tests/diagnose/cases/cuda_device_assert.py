FIRES = (
    "/work/aten/src/ATen/native/cuda/IndexKernel.cu:142: operator(): block: [3,0,0], thread: [44,0,0] Assertion "
    'index >= -sizes[i] && index < sizes[i] && "index out of bounds" failed.\n',
    "[rank3]: Traceback (most recent call last):\n"
    "[rank3]: RuntimeError: CUDA error: device-side assert triggered\n",
    "/pytorch/aten/src/ATen/native/cuda/Indexing.cu:1290: indexSelectLargeIndex: block: "
    "[7,0,0], thread: [3,0,0] Assertion `srcIndex < srcSelectDimSize` failed.\n",
    "训练时 Assertion `index >= -sizes[i] && index < sizes[i]` failed.\n",
    "Token ids out of range, indexing assertion errors during training\n",
)

SILENT = (
    "[rank3]: Traceback (most recent call last):\n"
    "[rank3]: RuntimeError: CUDA error: an illegal memory access was encountered\n",
)
