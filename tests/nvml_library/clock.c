/* Two times: the fake clock (eight bytes of FAKE_NVML_CLOCK, mapped, nanoseconds) and the real one that a waiting caller spends. */
#include "fake.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mapping = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(_Atomic uint64_t *) mapped;

static _Atomic uint64_t *map_clock(void)
{
    const char *path = getenv("FAKE_NVML_CLOCK");
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    struct stat state;
    void *at = MAP_FAILED;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &state) == 0 && state.st_size >= (off_t)sizeof(uint64_t))
        at = mmap(NULL, sizeof(uint64_t), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    return at == MAP_FAILED ? NULL : at;
}

uint64_t clock_ns(void)
{
    if (mapped == NULL) {
        pthread_mutex_lock(&mapping);
        if (mapped == NULL)
            mapped = map_clock();
        pthread_mutex_unlock(&mapping);
    }
    return mapped == NULL ? 0 : atomic_load(mapped);
}

uint64_t real_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void real_pause_ms(unsigned int milliseconds)
{
    struct timespec pause = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};

    nanosleep(&pause, NULL);
}
