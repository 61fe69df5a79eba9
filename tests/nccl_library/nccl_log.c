/* The lines that NCCL_DEBUG=INFO writes, as 2.27 words them: bootstrap, network, channels, tuning. */
#include "fake.h"

#include <stdarg.h>
#include <sys/syscall.h>

static FILE *log_file(void) {
    static FILE *file;
    static bool looked;
    if (looked) return file;
    looked = true;
    const char *wanted = getenv("NCCL_DEBUG"), *pattern = getenv("NCCL_DEBUG_FILE");
    if (!wanted || strcmp(wanted, "INFO")) return NULL;
    if (!pattern) return file = stdout; /* as NCCL does: whoever wants a clean standard output must name a file */
    char path[PATH_MAX] = "", host[64] = "host";
    gethostname(host, sizeof host - 1);
    for (const char *at = pattern; *at && strlen(path) + 80 < sizeof path; at++) {
        size_t end = strlen(path);
        if (at[0] == '%' && at[1] == 'h') strcat(path, host), at++;
        else if (at[0] == '%' && at[1] == 'p') snprintf(path + end, sizeof path - end, "%d", (int)getpid()), at++;
        else path[end] = *at, path[end + 1] = 0;
    }
    return file = fopen(path, "w");
}

void nccl_info(struct communicator *comm, const char *format, ...) {
    FILE *file = log_file();
    if (!file) return;
    char text[512];
    va_list rest;
    va_start(rest, format);
    vsnprintf(text, sizeof text, format, rest);
    va_end(rest);
    fprintf(file, "node-a:%d:%d [%d] NCCL INFO %s\n", (int)getpid(), (int)syscall(SYS_gettid), comm->device, text);
    fflush(file);
}

void nccl_began(struct communicator *comm) {
    int version = (int)knob_number("FAKE_NCCL_VERSION", 22703);
    const char *net = knob("FAKE_NET") ? knob("FAKE_NET") : "IB";
    nccl_info(comm, "cudaDriverVersion %d", (int)knob_number("FAKE_CUDA_VERSION", 12080));
    nccl_info(comm, "NCCL version %d.%d.%d+cuda12.8", version / 10000, version / 100 % 100, version % 100);
    if (strcmp(net, "IB")) {
        nccl_info(comm, "NET/IB : No device found.");
        nccl_info(comm, "NET/Socket : Using [0]eth0:192.0.2.11<0>");
    } else {
        nccl_info(comm, "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:192.0.2.11<0>");
    }
    nccl_info(comm, "Using network %s", net);
}

void nccl_connected(struct communicator *comm) {
    const char *via = knob("FAKE_VIA") ? knob("FAKE_VIA") : "P2P/CUMEM";
    for (int channel = 0; channel < 2 && comm->ranks > 1; channel++) {
        int next = (comm->rank + 1) % comm->ranks;
        nccl_info(comm, "Channel %02d/0 : %d[%d] -> %d[%d] via %s", channel, comm->rank, comm->device, next, comm->board->devices[next] - 1, via);
    }
    nccl_info(comm, "Connected all rings, use ring PXN 0 GDR 1");
    nccl_info(comm, "ncclCommInitRankConfig comm %p rank %d nranks %d cudaDev %d nvmlDev %d busId 1b000 commId 0x5eed - Init COMPLETE",
              (void *)comm, comm->rank, comm->ranks, comm->device, comm->device);
}

void nccl_tuned(struct communicator *comm, const char *name, size_t bytes) {
    if (comm->rank) return; /* only the first rank says so, but each time */
    nccl_info(comm, "%s: %zu Bytes -> Algo %s proto %s channel{Lo..Hi}={0..1}", name, bytes, knob("FAKE_ALGO") ? knob("FAKE_ALGO") : "RING",
              bytes < 65536 ? "LL" : "SIMPLE");
}
