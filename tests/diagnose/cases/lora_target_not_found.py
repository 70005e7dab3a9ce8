FIRES = (
    "[rank3]: Traceback (most recent call last):\n[rank3]: ValueError: Target "
    "modules {'query_key_value'} not found in the base "
    "model. Please check the target modules and try again.\n",
)

SILENT = ("[rank3]: Traceback (most recent call last):\n[rank3]: ValueError: not found in the base\n",)
