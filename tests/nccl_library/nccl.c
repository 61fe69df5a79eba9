/* libnccl.so.2: non-blocking communicators. Every call that may be in progress is, once at least. */
#include "fake.h"

#include <sys/random.h>

typedef struct { char internal[128]; } ncclUniqueId;
typedef struct { /* nccl.h of 2.17; older ones end after `blocking` */
    size_t size;
    unsigned int magic, version;
    int blocking, cga_cluster_size, min_ctas, max_ctas;
    const char *net_name;
} ncclConfig_t;

static struct {
    int depth, number;
    struct transfer transfers[GROUP_MAX];
    struct communicator *comm;
    struct stream *stream;
} grouped;
static char last_error[256];
static bool connected;

size_t nccl_memory(void) {
    return connected ? (size_t)knob_number("FAKE_NCCL_MEMORY", 0) : 0;
}

static int version(void) {
    return (int)knob_number("FAKE_NCCL_VERSION", 22703);
}

static int polls(void) {
    return (int)knob_number("FAKE_POLLS", 1);
}

int ncclGetVersion(int *found) {
    called("ncclGetVersion", -1, " ");
    *found = version();
    return NCCL_OK;
}

const char *ncclGetErrorString(int code) {
    static const char *const texts[] = {"no error", "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
        "unhandled system error (run with NCCL_DEBUG=INFO for details)", "internal error - please report this issue to the NCCL developers",
        "invalid argument (run with NCCL_DEBUG=WARN for details)", "invalid usage (run with NCCL_DEBUG=WARN for details)",
        "remote process exited or there was a network error", "NCCL operation in progress"};
    return code >= 0 && code < 8 ? texts[code] : "unknown result code";
}

const char *ncclGetLastError(struct communicator *comm) {
    called("ncclGetLastError", comm ? comm->device : -1, " ");
    return last_error;
}

int ncclGetUniqueId(ncclUniqueId *id) {
    called("ncclGetUniqueId", -1, " ");
    if (knob("FAKE_NO_INTERFACE")) {
        snprintf(last_error, sizeof last_error, "Bootstrap : no socket interface found");
        return NCCL_USAGE;
    }
    static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789";
    unsigned char random[6];
    if (getrandom(random, sizeof random, 0) < 0) return NCCL_SYSTEM;
    memset(id, 0, sizeof *id);
    memcpy(id->internal, "nccl-", 5);
    for (int i = 0; i < 6; i++) id->internal[5 + i] = letters[random[i] % 32];
    id->internal[127] = '!'; /* all of it must arrive */
    return NCCL_OK;
}

static void attach(struct communicator *comm) {
    struct board *board = comm->board;
    comm->attached = true;
    atomic_store(&board->devices[comm->rank], comm->device + 1);
    if (atomic_fetch_add(&board->attached, 1) + 1 == comm->ranks) board_unlink(comm->name);
}

int ncclCommInitRankConfig(struct communicator **made, int ranks, ncclUniqueId id, int rank, ncclConfig_t *config) {
    called("ncclCommInitRankConfig", current_device(), "%d of %d, blocking %d, max_ctas %d", rank, ranks, config->blocking,
           config->size >= 32 ? config->max_ctas : -1);
    if (config->magic != 0xcafebeef || id.internal[127] != '!' || strncmp(id.internal, "nccl-", 5)) return NCCL_ARGUMENT;
    if (config->version > (unsigned)version() || ranks > RANKS_MAX || rank < 0 || rank >= ranks) return NCCL_ARGUMENT;
    if (current_device() < 0) return NCCL_CUDA;
    if (knob_hangs("init_call", rank, 0)) sleep_for_ever();
    if (knob_of("FAKE_INIT_ERROR", rank, 0) > 0) {
        snprintf(last_error, sizeof last_error, "Call to posix_fallocate failed : No space left on device");
        return (int)knob_of("FAKE_INIT_ERROR", rank, 0);
    }
    struct communicator *comm = calloc(1, sizeof *comm);
    snprintf(comm->name, sizeof comm->name, "%.60s", id.internal);
    comm->rank = rank, comm->ranks = ranks, comm->device = current_device(), comm->blocking = config->blocking != 0;
    comm->board = board_open(comm->name);
    if (!comm->board) {
        snprintf(last_error, sizeof last_error, "Error while creating shared memory segment");
        free(comm);
        return NCCL_SYSTEM;
    }
    nccl_began(comm);
    *made = comm;
    if (!knob_hangs("init", rank, 0)) attach(comm);
    return NCCL_IN_PROGRESS;
}

static int initialising(struct communicator *comm) {
    if (comm->board->aborted) return NCCL_REMOTE;
    if (!comm->attached || atomic_load(&comm->board->attached) < comm->ranks) return NCCL_IN_PROGRESS;
    for (int one = 0; one < comm->ranks; one++)
        for (int two = 0; two < one; two++)
            if (comm->board->devices[one] == comm->board->devices[two] && !getenv("NCCL_MULTI_RANK_GPU_ENABLE")) {
                snprintf(last_error, sizeof last_error, "Multiple Ranks are using the same GPU/Partition. Set NCCL_MULTI_RANK_GPU_ENABLE=1 "
                         "to allow it (rank %d and rank %d)", two, one);
                return NCCL_USAGE;
            }
    if (comm->polls == 0) {
        nccl_connected(comm);
        connected = true;
        comm->polls = -1;
    }
    return NCCL_OK;
}

int ncclCommGetAsyncError(struct communicator *comm, int *state) {
    polled("ncclCommGetAsyncError", comm->device);
    *state = NCCL_OK;
    double code = knob_of("FAKE_ASYNC_ERROR", comm->rank, 0);
    if (code > 0 && comm->turns >= (uint64_t)knob_number("FAKE_ASYNC_ERROR_TURN", 5)) {
        snprintf(last_error, sizeof last_error, "NET/IB: Got completion from peer 192.0.2.31<41002> with status=12 opcode=0 len=0 vendor err 129");
        *state = (int)code;
        return NCCL_OK;
    }
    if (comm->polls >= 0 && !comm->launching && comm->turns == 0) {
        *state = initialising(comm);
        return NCCL_OK;
    }
    if (comm->board->aborted) {
        *state = NCCL_REMOTE;
        return NCCL_OK;
    }
    if (comm->finalizing) {
        if (knob_hangs("finalize", comm->rank, 0) || atomic_load(&comm->board->finalized) < comm->ranks) *state = NCCL_IN_PROGRESS;
        return NCCL_OK;
    }
    if (comm->launching) { /* NCCL's own thread launches what a call only noted */
        if (comm->polls-- > 0) {
            *state = NCCL_IN_PROGRESS;
            return NCCL_OK;
        }
        stream_add(comm->launching_on, comm->launching);
        comm->launching = NULL;
        comm->polls = -1;
    }
    return NCCL_OK;
}

static int launch(struct communicator *comm, struct work *work, struct stream *stream) {
    if (comm->launching) abort(); /* the caller did not wait for the call before */
    comm->launching = work;
    comm->launching_on = stream;
    comm->polls = polls();
    if (comm->polls > 0) return NCCL_IN_PROGRESS;
    stream_add(stream, work);
    comm->launching = NULL;
    comm->polls = -1;
    return NCCL_OK;
}

static int begin(const char *name, int kind, const void *send, void *receive, size_t count, int type, struct communicator *comm,
                 struct stream *stream, int root) {
    size_t element = type == 7 ? 4 : 1, bytes = count * element;
    called(name, comm->device, "%zu", bytes);
    size_t ranks = (size_t)comm->ranks;
    if (type != 7) return NCCL_ARGUMENT;
    if (!memory_at(send, kind == REDUCE_SCATTER ? bytes * ranks : bytes)) return NCCL_ARGUMENT;
    if (!memory_at(receive, kind == ALL_GATHER ? bytes * ranks : bytes)) return NCCL_ARGUMENT;
    nccl_tuned(comm, name + 4, bytes); /* as NCCL counts: of one rank for all-gather and reduce-scatter */
    return launch(comm, collective(comm, kind, send, receive, count, element, root), stream);
}

int ncclAllReduce(const void *send, void *receive, size_t count, int type, int operation, struct communicator *comm, struct stream *stream) {
    if (operation != 0) return NCCL_ARGUMENT;
    return begin("ncclAllReduce", ALL_REDUCE, send, receive, count, type, comm, stream, 0);
}

int ncclAllGather(const void *send, void *receive, size_t count, int type, struct communicator *comm, struct stream *stream) {
    return begin("ncclAllGather", ALL_GATHER, send, receive, count, type, comm, stream, 0);
}

int ncclReduceScatter(const void *send, void *receive, size_t count, int type, int operation, struct communicator *comm,
                      struct stream *stream) {
    if (operation != 0) return NCCL_ARGUMENT;
    return begin("ncclReduceScatter", REDUCE_SCATTER, send, receive, count, type, comm, stream, 0);
}

int ncclBroadcast(const void *send, void *receive, size_t count, int type, int root, struct communicator *comm, struct stream *stream) {
    return begin("ncclBroadcast", BROADCAST, send, receive, count, type, comm, stream, root);
}

int ncclGroupStart(void) {
    called("ncclGroupStart", current_device(), " ");
    grouped.depth++;
    return NCCL_OK;
}

static int transfer(const char *name, bool sends, uint8_t *address, size_t count, int type, int peer, struct communicator *comm,
                    struct stream *stream) {
    called(name, comm->device, "%d %zu", peer, count * 4);
    if (type != 7 || peer < 0 || peer >= comm->ranks || !grouped.depth || grouped.number == GROUP_MAX) return NCCL_ARGUMENT;
    if (!memory_at(address, count * 4)) return NCCL_ARGUMENT;
    grouped.transfers[grouped.number++] = (struct transfer){sends, peer, address, count * 4, 0};
    grouped.comm = comm;
    grouped.stream = stream;
    return NCCL_OK;
}

int ncclSend(const void *address, size_t count, int type, int peer, struct communicator *comm, struct stream *stream) {
    return transfer("ncclSend", true, (uint8_t *)address, count, type, peer, comm, stream);
}

int ncclRecv(void *address, size_t count, int type, int peer, struct communicator *comm, struct stream *stream) {
    return transfer("ncclRecv", false, address, count, type, peer, comm, stream);
}

int ncclGroupEnd(void) {
    called("ncclGroupEnd", current_device(), " ");
    if (--grouped.depth || !grouped.number) return NCCL_OK;
    struct work *work = group(grouped.comm, grouped.transfers, grouped.number);
    grouped.number = 0;
    return launch(grouped.comm, work, grouped.stream);
}

int ncclCommFinalize(struct communicator *comm) {
    called("ncclCommFinalize", comm->device, " ");
    comm->finalizing = true;
    atomic_fetch_add(&comm->board->finalized, 1);
    return NCCL_IN_PROGRESS;
}

static void drop(struct communicator *comm) {
    board_close(comm->board);
    free(comm);
}

int ncclCommDestroy(struct communicator *comm) {
    called("ncclCommDestroy", comm->device, " ");
    drop(comm);
    return NCCL_OK;
}

int ncclCommAbort(struct communicator *comm) {
    called("ncclCommAbort", comm->device, " ");
    if (knob_hangs("abort", comm->rank, 0)) sleep_for_ever();
    atomic_store(&comm->board->aborted, 1);
    board_unlink(comm->name);
    return NCCL_OK; /* its streams may still hold work that looks at it */
}
