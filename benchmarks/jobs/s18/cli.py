import sys, torch.distributed as dist
import spark
args = dict(zip(sys.argv[2::2], sys.argv[3::2]))
dist.init_process_group("gloo")
spark.Trainer(int(args["--max-epochs"])).fit(spark.Encoder(), spark.TextData(f"{args['--data']}/{dist.get_rank()}.txt", int(args["--bs"])))
dist.destroy_process_group()
