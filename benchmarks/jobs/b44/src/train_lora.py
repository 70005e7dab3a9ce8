print("lora")
