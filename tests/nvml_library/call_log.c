/* The call log: "PID function gpu detail", one line a call, one write a line, so that lines of several processes never mix.
 * gpu is "-" where the call names none. Written before the call does anything: a call that hangs or crashes stands in it.
 */
#include "fake.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void call_log(const char *function, unsigned int gpu, const char *detail)
{
    static int fd = -1;
    const char *path = getenv("FAKE_NVML_LOG");
    char number[12] = "-";
    char *line = NULL;
    int length;

    if (fd < 0 && path != NULL)
        fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    if (gpu != NONE)
        snprintf(number, sizeof number, "%u", gpu);
    length = asprintf(&line, "%d %s %s%s%s\n", (int)getpid(), function, number, *detail == '\0' ? "" : " ", detail);
    if (length > 0 && write(fd, line, (size_t)length) != length)
        fprintf(stderr, "fake NVML: cannot write to %s\n", path);
    if (length >= 0)
        free(line);
}
