"""A stand-in for libcuda.so.1 and libnccl.so.2 in C, one library under two names, loaded by the unmodified worker processes of a probe.

Ranks in several processes meet through a file in FAKE_SHM, named as NCCL names its own and unlinked once all are there, and exchange real
data: device memory is a memfd that the peers map. Time is virtual: a collective lasts latency + bus factor × size / bandwidth, begins when
its last rank has arrived, and shows in events only. Work moves on when its process asks how far it is. Knobs, all FAKE_…:

    GPUS=8 CUINIT=code CUDA_VERSION=12080 NCCL_VERSION=22703 P2P=1 WAIT_VALUE=1
    LATENCY=20e-6 BANDWIDTH=400e9                    seconds; bytes per second of bus bandwidth
    PEER_LATENCY=5e-6 PEER_BANDWIDTH=380e9           of copies from GPU to GPU
    JITTER=0.01 SEED=1 RANK_NOISE=1e-6               relative deviation of each time; seconds that ranks end apart
    SLOW_RANK="2:0.75"                               that GPU has this share of its bandwidth
    SLOW_PAIR="0>3:0.5"                              so has this way between two
    TAIL="1:50e-6"                                   that rank ends each collective of more than one number so much later
    CORRUPT="1:1000"                                 element 1000 of what rank 1 receives is one too great
    HANG="init:1 iteration:0:40 abort:2"             also init_call, context, copy, finalize; :40 from that collective on
    ASYNC_ERROR="1:6" ASYNC_ERROR_TURN=5             the code that rank 1 is told from its fifth collective on
    INIT_ERROR="1:2"                                 the code that rank 1's initialisation returns
    MEMORY="1:1e6 0:8e10" NCCL_MEMORY=3e8            bytes that a GPU has; bytes that NCCL takes
    NO_INTERFACE=1 NET=Socket VIA=SHM/direct ALGO=NVLS      what NCCL says
    POLLS=1                                          how often a call is "in progress" before its kernel is launched
    CALLS=file SHM=folder                            every call of every process; what stands for /dev/shm
"""

from tests.nccl_library.gpus import Call, FakeGpus
from tests.nccl_library.library import build, exported

__all__ = ["Call", "FakeGpus", "build", "exported"]
