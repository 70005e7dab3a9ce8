import os
print("  metrics.jsonl :", "present" if os.path.exists("metrics.jsonl") else "absent")
print("  out/latest    :", open("out/latest").read() if os.path.exists("out/latest") else "absent")
print("  nothing to report to the team channel, see the log of the stage pretrain")
