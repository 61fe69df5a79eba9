/* Streams: work is done in order, each piece at its virtual time. Knows no kind of work. */
#include "fake.h"

struct stream {
    int device;
    double now;
    struct work *first, *last;
};

struct stream *stream_new(int device) {
    struct stream *stream = calloc(1, sizeof *stream);
    stream->device = device;
    return stream;
}

static void pop(struct stream *stream) {
    struct work *done = stream->first;
    stream->first = done->next;
    if (!stream->first) stream->last = NULL;
    if (done->forget) done->forget(done);
    else free(done);
}

void stream_free(struct stream *stream) {
    while (stream->first) pop(stream);
    free(stream);
}

void stream_add(struct stream *stream, struct work *work) {
    work->next = NULL;
    if (stream->last) stream->last->next = work;
    else stream->first = work;
    stream->last = work;
}

bool stream_idle(struct stream *stream) {
    while (stream->first && stream->first->advance(stream->first, &stream->now)) pop(stream);
    return !stream->first;
}
