FIRES = (
    "[rank3]: Traceback (most recent call last):\n"
    "[rank3]: RuntimeError: CUDA error: device-side assert triggered\n",
    "/pytorch/aten/src/ATen/native/cuda/Indexing.cu:1290: indexSelectLargeIndex: block: "
    "[7,0,0], thread: [3,0,0] Assertion `srcIndex < srcSelectDimSize` failed.\n",
)

SILENT = (
    "[rank3]: Traceback (most recent call last):\n"
    "[rank3]: RuntimeError: CUDA error: an illegal memory access was encountered\n",
)
