"""Mini NCCL probes: short collectives that an idle node runs on itself or with a partner: what latency and bandwidth do they really get?"""
