/* The call log: one line a call, "PID NAME DEVICE DETAIL". Written whole, by any number of processes. */
#include "fake.h"

#include <fcntl.h>
#include <stdarg.h>

static int log_file(void) {
    static int file = -2;
    if (file == -2) file = knob("FAKE_CALLS") ? open(knob("FAKE_CALLS"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644) : -1;
    return file;
}

static const char *last_poll = "";

static void write_line(const char *name, int device, const char *detail) {
    char line[512];
    int length = snprintf(line, sizeof line, "%d %s %d %s\n", (int)getpid(), name, device, detail);
    if (log_file() >= 0 && write(log_file(), line, (size_t)length) < 0) _exit(99);
}

void called(const char *name, int device, const char *format, ...) {
    char detail[400];
    va_list rest;
    va_start(rest, format);
    vsnprintf(detail, sizeof detail, format, rest);
    va_end(rest);
    last_poll = "";
    write_line(name, device, detail);
}

void polled(const char *name, int device) {
    if (last_poll == name) return;
    last_poll = name;
    write_line(name, device, "");
}

void sleep_for_ever(void) {
    for (;;) pause();
}
