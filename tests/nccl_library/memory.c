/* Device memory: lazily committed, visible to the peers' processes as real peer memory is, gone with the process. */
#include "fake.h"

#include <sys/mman.h>
#include <fcntl.h>

static struct memory *all;
static uint64_t serials;

struct memory *memory_at(const void *address, size_t size) {
    const uint8_t *first = address;
    for (struct memory *one = all; one; one = one->next)
        if (first >= one->base && first + size <= one->base + one->size) return one;
    return NULL;
}

size_t memory_used(int device) {
    size_t used = 0;
    for (struct memory *one = all; one; one = one->next)
        if (one->device == device) used += one->size;
    return used;
}

struct memory *memory_new(int device, size_t size) {
    struct memory *one = calloc(1, sizeof *one);
    one->fd = memfd_create("device", MFD_CLOEXEC);
    if (one->fd < 0 || ftruncate(one->fd, (off_t)size)) abort();
    one->base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, one->fd, 0);
    if (one->base == MAP_FAILED) abort();
    one->size = size;
    one->device = device;
    one->serial = ++serials;
    one->next = all;
    return all = one;
}

void memory_free(struct memory *memory) {
    for (struct memory **at = &all; *at; at = &(*at)->next)
        if (*at == memory) {
            *at = memory->next;
            break;
        }
    munmap(memory->base, memory->size);
    close(memory->fd);
    free(memory);
}

void memory_written(const void *address, size_t size) {
    struct memory *one = memory_at(address, size);
    if (!one) return;
    one->version++;
    one->signature = 0;
}

struct reference reference_to(const void *address, size_t size) {
    struct memory *one = memory_at(address, size);
    if (!one) return (struct reference){.fd = -1};
    return (struct reference){(int)getpid(), one->fd, one->serial, (uint64_t)((const uint8_t *)address - one->base), one->size};
}

struct mapping {
    struct mapping *next;
    int pid;
    uint64_t serial;
    uint8_t *base;
};

uint8_t *mapped(struct reference reference) {
    static struct mapping *known;
    for (struct mapping *one = known; one; one = one->next)
        if (one->pid == reference.pid && one->serial == reference.serial) return one->base + reference.offset;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", reference.pid, reference.fd);
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return NULL; /* its owner is gone */
    struct mapping *one = malloc(sizeof *one);
    *one = (struct mapping){known, reference.pid, reference.serial, NULL};
    one->base = mmap(NULL, reference.size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (one->base == MAP_FAILED) {
        free(one);
        return NULL;
    }
    known = one;
    return one->base + reference.offset;
}
