/* What a collective does: real data between the ranks' device memories, and how long that takes in virtual time.

   The ranks arrive; once all are there each does its share of the data, writing into the peers' memory; once all have, it is over. The same
   collective on buffers that nobody wrote to since has its result in place already, and moves nothing. */
#include "fake.h"

static double bandwidth_of(const struct communicator *comm) { /* the ring is as fast as its slowest GPU */
    double slowest = 1;
    for (int rank = 0; rank < comm->ranks; rank++) {
        double factor = knob_of("FAKE_SLOW_RANK", comm->board->devices[rank] - 1, 1);
        if (factor < slowest) slowest = factor;
    }
    return knob_number("FAKE_BANDWIDTH", 400e9) * slowest;
}

static double with_jitter(double seconds, const struct communicator *comm, uint64_t turn, size_t bytes) {
    double own = (bytes > sizeof(float) ? knob_of("FAKE_TAIL", comm->rank, 0) : 0) + knob_number("FAKE_RANK_NOISE", 0) * (noise(turn, comm->rank) + 6);
    return seconds * (1 + knob_number("FAKE_JITTER", 0) * noise(turn, -1)) + own;
}

struct collective_work {
    struct work work;
    struct communicator *comm;
    int stage; /* 0 waits for the turn, 1 for the others to arrive, 2 for the others to finish */
    uint64_t turn, number;
    double end;
    struct offer offer;
    const uint8_t *send;
    uint8_t *receive;
};

static size_t whole_bytes(const struct communicator *comm, const struct offer *offer) {
    size_t bytes = offer->count * offer->element;
    return offer->kind == ALL_GATHER || offer->kind == REDUCE_SCATTER ? bytes * (size_t)comm->ranks : bytes;
}

static double lasting(const struct communicator *comm, const struct offer *offer) {
    double p = comm->ranks, bytes = (double)whole_bytes(comm, offer);
    double factor = offer->kind == ALL_REDUCE ? 2 * (p - 1) / p : offer->kind == BROADCAST ? (p > 1) : (p - 1) / p;
    return knob_number("FAKE_LATENCY", 20e-6) + factor * bytes / bandwidth_of(comm);
}

static void sum_up(float *target, struct communicator *comm, size_t first, size_t count) {
    for (int rank = 0; rank < comm->ranks; rank++) {
        const float *from = (const float *)mapped(comm->board->offers[rank].send);
        if (!from) return;
        for (size_t k = 0; k < count; k++) target[k] = rank ? target[k] + from[first + k] : from[first + k];
    }
}

static void put(struct communicator *comm, const void *from, size_t offset, size_t bytes) {
    for (int rank = 0; rank < comm->ranks; rank++) {
        uint8_t *to = mapped(comm->board->offers[rank].receive);
        if (to) memmove(to + offset, from, bytes);
    }
}

static void my_share(struct collective_work *own) {
    struct communicator *comm = own->comm;
    const struct offer *offer = &own->offer;
    size_t bytes = offer->count * offer->element, rank = (size_t)comm->rank, ranks = (size_t)comm->ranks;
    if (offer->kind == ALL_GATHER) put(comm, own->send, rank * bytes, bytes);
    if (offer->kind == BROADCAST && comm->rank == offer->root) put(comm, own->send, 0, bytes);
    if (offer->kind == REDUCE_SCATTER) sum_up((float *)own->receive, comm, rank * offer->count, offer->count);
    if (offer->kind == ALL_REDUCE) {
        size_t first = offer->count * rank / ranks, behind = offer->count * (rank + 1) / ranks;
        float *sums = malloc((behind - first) * sizeof *sums + 1);
        sum_up(sums, comm, first, behind - first);
        put(comm, sums, first * sizeof *sums, (behind - first) * sizeof *sums);
        free(sums);
    }
}

static void corrupt(const struct collective_work *own) {
    double element = knob_of("FAKE_CORRUPT", own->comm->rank, -1);
    size_t bytes = own->offer.kind == REDUCE_SCATTER ? own->offer.count * own->offer.element : whole_bytes(own->comm, &own->offer);
    if (element >= 0 && ((size_t)element + 1) * sizeof(float) <= bytes) ((float *)own->receive)[(size_t)element] += 1;
}

static bool arrive(struct collective_work *own) {
    struct communicator *comm = own->comm;
    struct board *board = comm->board;
    for (int rank = 0; rank < comm->ranks; rank++)
        if (board->offers[rank].finished + 1 < own->number) return false; /* somebody still reads what we offered last */
    struct offer *place = &board->offers[comm->rank];
    struct memory *send = memory_at(own->send, 1), *receive = memory_at(own->receive, 1);
    if (!send || !receive) abort();
    own->offer.unchanged = receive->signature == own->offer.signature && receive->source_version == send->version;
    receive->signature = own->offer.signature;
    receive->source_version = send->version;
    receive->version++;
    place->send = own->offer.send, place->receive = own->offer.receive, place->at = own->offer.at;
    place->unchanged = own->offer.unchanged, place->signature = own->offer.signature;
    atomic_store(&place->arrived, own->number);
    return true;
}

static bool all_there(struct collective_work *own) {
    struct communicator *comm = own->comm;
    double start = 0;
    bool unchanged = !knob("FAKE_CORRUPT");
    for (int rank = 0; rank < comm->ranks; rank++) {
        struct offer *offer = &comm->board->offers[rank];
        if (atomic_load(&offer->arrived) < own->number) return false;
        if (offer->at > start) start = offer->at;
        unchanged = unchanged && offer->unchanged;
    }
    if (!unchanged) my_share(own);
    own->end = start + with_jitter(lasting(comm, &own->offer), comm, own->turn, whole_bytes(comm, &own->offer));
    atomic_store(&comm->board->offers[comm->rank].finished, own->number);
    return true;
}

static bool advance_collective(struct work *work, double *now) {
    struct collective_work *own = (struct collective_work *)work;
    struct communicator *comm = own->comm;
    if (comm->board->aborted || knob_hangs("iteration", comm->rank, own->turn)) return false;
    if (own->stage == 0) {
        own->offer.at = *now;
        if (!arrive(own)) return false;
        own->stage = 1;
    }
    if (own->stage == 1) {
        if (!all_there(own)) return false;
        own->stage = 2;
    }
    for (int rank = 0; rank < comm->ranks; rank++)
        if (atomic_load(&comm->board->offers[rank].finished) < own->number) return false;
    corrupt(own);
    *now = own->end;
    return true;
}

struct work *collective(struct communicator *comm, int kind, const void *send, void *receive, size_t count, size_t element, int root) {
    struct collective_work *own = calloc(1, sizeof *own);
    own->work.advance = advance_collective;
    own->comm = comm;
    own->turn = ++comm->turns;
    own->number = ++comm->collectives;
    own->send = send;
    own->receive = receive;
    own->offer.kind = kind, own->offer.root = root, own->offer.count = count, own->offer.element = element;
    own->offer.send = reference_to(send, 1);
    own->offer.receive = reference_to(receive, 1);
    own->offer.signature = (uint64_t)kind + 1 + 8 * (count + 1000003 * (own->offer.send.serial + 1000003 * own->offer.send.offset));
    return &own->work;
}

struct group_work {
    struct work work;
    struct communicator *comm;
    int number, stage;
    uint64_t turn;
    struct transfer transfers[GROUP_MAX];
    double start, end;
};

static bool lane_free(const struct group_work *own) {
    for (int i = 0; i < own->number; i++) {
        const struct transfer *one = &own->transfers[i];
        if (one->sends && own->comm->board->lanes[own->comm->rank][one->peer].taken + 1 < one->turn) return false;
    }
    return true;
}

static void publish(struct group_work *own) {
    for (int i = 0; i < own->number; i++) {
        struct transfer *one = &own->transfers[i];
        struct communicator *comm = own->comm;
        struct lane *lane = one->sends ? &comm->board->lanes[comm->rank][one->peer] : &comm->board->lanes[one->peer][comm->rank];
        if (one->sends) {
            lane->send = reference_to(one->address, one->bytes);
            lane->bytes = one->bytes;
            lane->sent_at = own->start;
            atomic_store(&lane->sent, one->turn);
        } else {
            lane->ready_at = own->start;
            atomic_store(&lane->ready, one->turn);
        }
    }
}

static double seconds_for(const struct communicator *comm, const struct transfer *one) {
    if (one->peer == comm->rank) return 0;
    int me = comm->board->devices[comm->rank] - 1, peer = comm->board->devices[one->peer] - 1;
    double mine = knob_of("FAKE_SLOW_RANK", me, 1), other = knob_of("FAKE_SLOW_RANK", peer, 1);
    double pair = one->sends ? knob_of_pair("FAKE_SLOW_PAIR", me, peer, 1) : knob_of_pair("FAKE_SLOW_PAIR", peer, me, 1);
    return (double)one->bytes / (knob_number("FAKE_BANDWIDTH", 400e9) * (mine < other ? mine : other) * pair);
}

static bool exchange(struct group_work *own) {
    struct communicator *comm = own->comm;
    double in = 0, out = 0;
    for (int i = 0; i < own->number; i++) {
        struct transfer *one = &own->transfers[i];
        struct lane *lane = one->sends ? &comm->board->lanes[comm->rank][one->peer] : &comm->board->lanes[one->peer][comm->rank];
        if (atomic_load(one->sends ? &lane->ready : &lane->sent) < one->turn) return false;
    }
    for (int i = 0; i < own->number; i++) {
        struct transfer *one = &own->transfers[i];
        struct lane *lane = one->sends ? &comm->board->lanes[comm->rank][one->peer] : &comm->board->lanes[one->peer][comm->rank];
        double there = one->sends ? lane->ready_at : lane->sent_at;
        if (there > own->start) own->start = there;
        *(one->sends ? &out : &in) += seconds_for(comm, one);
        if (one->sends) continue;
        const uint8_t *from = mapped(lane->send);
        if (from) memcpy(one->address, from, one->bytes < lane->bytes ? one->bytes : lane->bytes);
        double element = knob_of("FAKE_CORRUPT", comm->rank, -1);
        if (element >= 0 && ((size_t)element + 1) * sizeof(float) <= one->bytes) ((float *)one->address)[(size_t)element] += 1;
        memory_written(one->address, one->bytes);
        atomic_store(&lane->taken, one->turn);
    }
    own->end = own->start + with_jitter(knob_number("FAKE_LATENCY", 20e-6) + (in > out ? in : out), comm, own->turn, own->transfers[0].bytes);
    return true;
}

static bool advance_group(struct work *work, double *now) {
    struct group_work *own = (struct group_work *)work;
    struct communicator *comm = own->comm;
    if (comm->board->aborted || knob_hangs("iteration", comm->rank, own->turn)) return false;
    if (own->stage == 0) {
        if (!lane_free(own)) return false;
        own->start = *now;
        publish(own);
        own->stage = 1;
    }
    if (own->stage == 1) {
        if (!exchange(own)) return false;
        own->stage = 2;
    }
    for (int i = 0; i < own->number; i++) {
        const struct transfer *one = &own->transfers[i];
        if (one->sends && atomic_load(&comm->board->lanes[comm->rank][one->peer].taken) < one->turn) return false;
    }
    *now = own->end;
    return true;
}

struct work *group(struct communicator *comm, const struct transfer *transfers, int number) {
    struct group_work *own = calloc(1, sizeof *own);
    own->work.advance = advance_group;
    own->comm = comm;
    own->number = number;
    own->turn = ++comm->turns;
    memcpy(own->transfers, transfers, (size_t)number * sizeof *transfers);
    for (int i = 0; i < number; i++) {
        struct transfer *one = &own->transfers[i];
        one->turn = one->sends ? ++comm->sent[one->peer] : ++comm->received[one->peer];
    }
    return &own->work;
}
