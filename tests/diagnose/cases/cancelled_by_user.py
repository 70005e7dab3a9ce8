FIRES = ("step 9 loss 2.1\nslurmstepd: error: *** JOB 4242 ON gpu1 CANCELLED AT 2026-01-05T10:11:12 ***\n",)

SILENT = ("slurmstepd: error: *** JOB 4242 ON gpu1 CANCELLED AT 2026-01-05T10:11:12 DUE TO TIME LIMIT ***\n",)
