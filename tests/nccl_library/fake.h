/* One library that stands for libcuda.so.1 and libnccl.so.2: what its parts know of each other. No device, no network, no real time. */
#ifndef FAKE_NCCL_H
#define FAKE_NCCL_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS_MAX = 16, GPUS_MAX = 16, GROUP_MAX = 2 * RANKS_MAX };
enum { CUDA_OK = 0, CUDA_INVALID = 1, CUDA_OUT_OF_MEMORY = 2, CUDA_NOT_INITIALIZED = 3, CUDA_NO_DEVICE = 100, CUDA_INVALID_DEVICE = 101,
       CUDA_INVALID_CONTEXT = 201, CUDA_NOT_READY = 600 };
enum { NCCL_OK = 0, NCCL_CUDA = 1, NCCL_SYSTEM = 2, NCCL_ARGUMENT = 4, NCCL_USAGE = 5, NCCL_REMOTE = 6, NCCL_IN_PROGRESS = 7 };

/* knobs.c: what the environment says, see __init__.py. A knob that is not set has its default. */
const char *knob(const char *name);
double knob_number(const char *name, double otherwise);
double knob_of(const char *name, int who, double otherwise); /* "1:0.5 3:0.8": the number for `who` */
double knob_of_pair(const char *name, int from, int to, double otherwise); /* "0>1:0.5" */
bool knob_hangs(const char *where, int who, uint64_t turn); /* FAKE_HANG="iteration:1:40 abort:0"; a turn before the given one is free */
double noise(uint64_t turn, int who); /* mean 0, deviation 1, the same for the same seed */

/* call_log.c */
void called(const char *name, int device, const char *format, ...) __attribute__((format(printf, 3, 4)));
void polled(const char *name, int device); /* a call that repeats: only the first of a row is logged */
void sleep_for_ever(void);

/* memory.c: device memory is a memfd that other processes can map through /proc/PID/fd. */
struct memory {
    struct memory *next;
    uint8_t *base;
    size_t size;
    int device, fd;
    uint64_t serial, version, signature, source_version; /* see exchange.c */
};
struct reference { /* how another process finds a piece of it */
    int pid, fd;
    uint64_t serial, offset, size;
};
struct memory *memory_at(const void *address, size_t size);
struct memory *memory_new(int device, size_t size);
void memory_free(struct memory *memory);
size_t memory_used(int device);
void memory_written(const void *address, size_t size);
struct reference reference_to(const void *address, size_t size);
uint8_t *mapped(struct reference reference);

/* stream.c: a queue of work in virtual time. Work moves on only when somebody asks how far it is. */
struct stream;
struct work {
    struct work *next;
    /* true once it is done; sets *now (seconds) to when it ended */
    bool (*advance)(struct work *work, double *now);
    void (*forget)(struct work *work); /* NULL: free() is enough */
};
struct stream *stream_new(int device);
void stream_free(struct stream *stream);
void stream_add(struct stream *stream, struct work *work);
bool stream_idle(struct stream *stream);
int current_device(void); /* of the context that is set; -1 without one */

/* board.c: what the ranks of a communicator share. */
struct offer { /* one rank's part in a collective */
    _Atomic uint64_t arrived, finished;
    double at;
    uint64_t signature;
    bool unchanged;
    struct reference send, receive;
    int kind, root;
    size_t count, element;
};
struct lane { /* from one rank to another */
    _Atomic uint64_t sent, ready, taken;
    double sent_at, ready_at;
    struct reference send;
    size_t bytes;
};
struct board {
    _Atomic int attached, aborted, finalized;
    _Atomic int devices[RANKS_MAX]; /* + 1 */
    struct offer offers[RANKS_MAX];
    struct lane lanes[RANKS_MAX][RANKS_MAX]; /* [from][to] */
};
struct board *board_open(const char *name);
void board_close(struct board *board);
void board_unlink(const char *name);

/* exchange.c */
enum { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST };
struct communicator {
    struct board *board;
    char name[64];
    int rank, ranks, device;
    uint64_t turns; /* collectives and groups begun */
    uint64_t collectives, sent[RANKS_MAX], received[RANKS_MAX];
    bool attached, finalizing, blocking;
    int polls; /* how often ncclCommGetAsyncError will yet say "in progress" */
    struct work *launching;
    struct stream *launching_on;
};
struct transfer {
    bool sends;
    int peer;
    uint8_t *address;
    size_t bytes;
    uint64_t turn;
};
struct work *collective(struct communicator *comm, int kind, const void *send, void *receive, size_t count, size_t element, int root);
struct work *group(struct communicator *comm, const struct transfer *transfers, int number);

size_t nccl_memory(void); /* nccl.c: bytes that its communicators have taken on the GPU */

/* nccl_log.c: NCCL_DEBUG_FILE */
void nccl_info(struct communicator *comm, const char *format, ...) __attribute__((format(printf, 2, 3)));
void nccl_began(struct communicator *comm);
void nccl_connected(struct communicator *comm);
void nccl_tuned(struct communicator *comm, const char *name, size_t bytes);

#endif
