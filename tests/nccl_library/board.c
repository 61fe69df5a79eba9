/* The board that the ranks of one communicator share: a file in the folder of shared memory, named as NCCL names its own. NCCL unlinks such
   a file once the peer has it; here the last rank to attach does, so that a run that is killed before leaves it behind as well. */
#include "fake.h"

#include <fcntl.h>
#include <sys/mman.h>

static void path_of(char *path, size_t size, const char *name) {
    snprintf(path, size, "%s/%s", knob("FAKE_SHM") ? knob("FAKE_SHM") : "/dev/shm", name);
}

struct board *board_open(const char *name) {
    char path[PATH_MAX];
    path_of(path, sizeof path, name);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof(struct board))) return NULL;
    void *found = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return found == MAP_FAILED ? NULL : found;
}

void board_close(struct board *board) {
    munmap(board, sizeof *board);
}

void board_unlink(const char *name) {
    char path[PATH_MAX];
    path_of(path, sizeof path, name);
    unlink(path);
}
