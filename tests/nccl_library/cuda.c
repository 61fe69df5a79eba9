/* libcuda.so.1: devices, contexts, memory, streams and events, as far as a probe needs them. */
#include "fake.h"

typedef struct { char bytes[16]; } CUuuid;

struct context {
    int device;
    bool held;
};
static struct context contexts[GPUS_MAX];
static struct context *current;
static bool initialized;

static int gpus(void) {
    int count = (int)knob_number("FAKE_GPUS", 8);
    return count > GPUS_MAX ? GPUS_MAX : count;
}

int current_device(void) {
    return current ? current->device : -1;
}

int cuInit(unsigned int flags) {
    called("cuInit", -1, "%u", flags);
    if (knob("FAKE_CUINIT")) return (int)knob_number("FAKE_CUINIT", 0);
    initialized = true;
    return gpus() ? CUDA_OK : CUDA_NO_DEVICE;
}

int cuDriverGetVersion(int *version) {
    called("cuDriverGetVersion", -1, " ");
    *version = (int)knob_number("FAKE_CUDA_VERSION", 12080);
    return CUDA_OK;
}

int cuDeviceGetCount(int *count) {
    called("cuDeviceGetCount", -1, " ");
    *count = gpus();
    return initialized ? CUDA_OK : CUDA_NOT_INITIALIZED;
}

int cuDeviceGet(int *device, int ordinal) {
    called("cuDeviceGet", ordinal, " ");
    *device = ordinal;
    return ordinal >= 0 && ordinal < gpus() ? CUDA_OK : CUDA_INVALID_DEVICE;
}

int cuDeviceGetUuid(CUuuid *uuid, int device) {
    called("cuDeviceGetUuid", device, " ");
    memset(uuid, 0, sizeof *uuid);
    memcpy(uuid->bytes, "FAKE", 4);
    uuid->bytes[15] = (char)device;
    return CUDA_OK;
}

int cuDeviceGetName(char *name, int length, int device) {
    called("cuDeviceGetName", device, " ");
    snprintf(name, (size_t)length, "NVIDIA Fake GPU");
    return CUDA_OK;
}

int cuDeviceCanAccessPeer(int *can, int device, int peer) {
    called("cuDeviceCanAccessPeer", device, "%d", peer);
    *can = device != peer && knob_number("FAKE_P2P", 1) > 0;
    return CUDA_OK;
}

int cuDevicePrimaryCtxRetain(struct context **context, int device) {
    called("cuDevicePrimaryCtxRetain", device, " ");
    if (device < 0 || device >= gpus()) return CUDA_INVALID_DEVICE;
    if (knob_hangs("context", device, 0)) sleep_for_ever();
    contexts[device] = (struct context){device, true};
    *context = &contexts[device];
    return CUDA_OK;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
    called("cuDevicePrimaryCtxRelease", device, " ");
    contexts[device].held = false;
    return CUDA_OK;
}

int cuCtxSetCurrent(struct context *context) {
    called("cuCtxSetCurrent", context ? context->device : -1, " ");
    current = context;
    return CUDA_OK;
}

int cuCtxEnablePeerAccess(struct context *peer, unsigned int flags) {
    called("cuCtxEnablePeerAccess", current_device(), "%d %u", peer->device, flags);
    return CUDA_OK;
}

static size_t memory_of(int device) {
    return (size_t)knob_of("FAKE_MEMORY", device, 80e9);
}

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    called("cuMemGetInfo", current_device(), " ");
    if (!current) return CUDA_INVALID_CONTEXT;
    *total = memory_of(current->device);
    size_t used = memory_used(current->device) + nccl_memory();
    *free_bytes = used < *total ? *total - used : 0;
    return CUDA_OK;
}

int cuMemAlloc_v2(uint64_t *address, size_t size) {
    called("cuMemAlloc", current_device(), "%zu", size);
    if (!current) return CUDA_INVALID_CONTEXT;
    if (memory_used(current->device) + size > memory_of(current->device)) return CUDA_OUT_OF_MEMORY;
    *address = (uint64_t)memory_new(current->device, size)->base;
    return CUDA_OK;
}

int cuMemFree_v2(uint64_t address) {
    called("cuMemFree", current_device(), " ");
    struct memory *memory = memory_at((void *)address, 1);
    if (!memory) return CUDA_INVALID;
    memory_free(memory);
    return CUDA_OK;
}

int cuMemHostAlloc(void **address, size_t size, unsigned int flags) {
    called("cuMemHostAlloc", current_device(), "%zu %u", size, flags);
    *address = calloc(1, size);
    return CUDA_OK;
}

int cuMemFreeHost(void *address) {
    called("cuMemFreeHost", current_device(), " ");
    free(address);
    return CUDA_OK;
}

int cuMemsetD32_v2(uint64_t address, unsigned int value, size_t count) {
    called("cuMemsetD32", current_device(), "%x %zu", value, count);
    if (!memory_at((void *)address, count * 4)) return CUDA_INVALID;
    for (size_t k = 0; k < count; k++) ((uint32_t *)address)[k] = value;
    memory_written((void *)address, count * 4);
    return CUDA_OK;
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size) {
    called("cuMemcpyHtoD", current_device(), "%zu", size);
    if (!memory_at((void *)to, size)) return CUDA_INVALID;
    memcpy((void *)to, from, size);
    memory_written((void *)to, size);
    return CUDA_OK;
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size) {
    called("cuMemcpyDtoH", current_device(), "%zu", size);
    if (!memory_at((void *)from, size)) return CUDA_INVALID;
    memcpy(to, (void *)from, size);
    return CUDA_OK;
}

/* Streams and events */

struct event {
    bool recorded, done;
    double at;
};

int cuStreamCreate(struct stream **stream, unsigned int flags) {
    called("cuStreamCreate", current_device(), "%u", flags);
    *stream = stream_new(current_device());
    return CUDA_OK;
}

int cuStreamDestroy_v2(struct stream *stream) {
    called("cuStreamDestroy", current_device(), " ");
    stream_free(stream);
    return CUDA_OK;
}

int cuStreamQuery(struct stream *stream) {
    polled("cuStreamQuery", current_device());
    return !stream || stream_idle(stream) ? CUDA_OK : CUDA_NOT_READY; /* work of the default stream is done at once */
}

int cuEventCreate(struct event **event, unsigned int flags) {
    called("cuEventCreate", current_device(), "%u", flags);
    *event = calloc(1, sizeof **event);
    return CUDA_OK;
}

int cuEventDestroy_v2(struct event *event) {
    called("cuEventDestroy", current_device(), " ");
    free(event);
    return CUDA_OK;
}

struct recording {
    struct work work;
    struct event *event;
};

static bool advance_recording(struct work *work, double *now) {
    struct event *event = ((struct recording *)work)->event;
    event->at = *now;
    event->done = true;
    return true;
}

int cuEventRecord(struct event *event, struct stream *stream) {
    called("cuEventRecord", current_device(), " ");
    struct recording *recording = calloc(1, sizeof *recording);
    recording->work.advance = advance_recording;
    recording->event = event;
    event->recorded = true;
    event->done = false;
    stream_add(stream, &recording->work);
    return CUDA_OK;
}

int cuEventElapsedTime(float *milliseconds, struct event *start, struct event *end) {
    called("cuEventElapsedTime", current_device(), " ");
    if (!start->recorded || !end->recorded) return 400;
    if (!start->done || !end->done) return CUDA_NOT_READY;
    *milliseconds = (float)((end->at - start->at) * 1e3);
    return CUDA_OK;
}

struct waiting {
    struct work work;
    volatile uint32_t *address;
    uint32_t value;
};

static bool advance_waiting(struct work *work, double *now) {
    struct waiting *own = (struct waiting *)work;
    (void)now;
    return *own->address >= own->value;
}

int cuStreamWaitValue32_v2(struct stream *stream, uint64_t address, uint32_t value, unsigned int flags) {
    called("cuStreamWaitValue32", current_device(), "%u %u", value, flags);
    if (knob_number("FAKE_WAIT_VALUE", 1) < 1) return 801;
    struct waiting *own = calloc(1, sizeof *own);
    own->work.advance = advance_waiting;
    own->address = (uint32_t *)address;
    own->value = value;
    stream_add(stream, &own->work);
    return CUDA_OK;
}

struct copying {
    struct work work;
    void *to;
    const void *from;
    size_t size;
    double seconds;
};

static bool advance_copying(struct work *work, double *now) {
    struct copying *own = (struct copying *)work;
    if (knob_hangs("copy", current_device(), 0)) return false;
    memcpy(own->to, own->from, own->size);
    *now += own->seconds;
    return true;
}

int cuMemcpyPeerAsync(uint64_t to, struct context *target, uint64_t from, struct context *source, size_t size, struct stream *stream) {
    called("cuMemcpyPeerAsync", source->device, "%d %zu", target->device, size);
    if (!memory_at((void *)to, size) || !memory_at((void *)from, size)) return CUDA_INVALID;
    static uint64_t turns;
    struct copying *own = calloc(1, sizeof *own);
    double mine = knob_of("FAKE_SLOW_RANK", source->device, 1), other = knob_of("FAKE_SLOW_RANK", target->device, 1);
    double speed = knob_number("FAKE_PEER_BANDWIDTH", 380e9) * (mine < other ? mine : other);
    speed *= knob_of_pair("FAKE_SLOW_PAIR", source->device, target->device, 1);
    *own = (struct copying){{.advance = advance_copying}, (void *)to, (void *)from, size, 0};
    own->seconds = (knob_number("FAKE_PEER_LATENCY", 5e-6) + (double)size / speed) * (1 + knob_number("FAKE_JITTER", 0) * noise(++turns, -2));
    memory_written((void *)to, size);
    stream_add(stream, &own->work);
    return CUDA_OK;
}

int cuGetErrorName(int error, const char **name) {
    static const struct { int code; const char *name; } names[] = {
        {CUDA_OK, "CUDA_SUCCESS"}, {CUDA_INVALID, "CUDA_ERROR_INVALID_VALUE"}, {CUDA_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
        {CUDA_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"}, {CUDA_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
        {CUDA_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"}, {CUDA_NOT_READY, "CUDA_ERROR_NOT_READY"},
        {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"}, {801, "CUDA_ERROR_NOT_SUPPORTED"}, {999, "CUDA_ERROR_UNKNOWN"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == error) {
            *name = names[i].name;
            return CUDA_OK;
        }
    *name = NULL;
    return CUDA_INVALID;
}
