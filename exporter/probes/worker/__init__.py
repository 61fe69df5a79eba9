"""What runs in the processes of a probe and nowhere else: CUDA, NCCL, one rank, copies between GPUs."""
