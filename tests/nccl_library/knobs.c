/* Knobs from the environment. Knows no call. */
#include "fake.h"

const char *knob(const char *name) {
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

double knob_number(const char *name, double otherwise) {
    const char *text = knob(name);
    return text ? strtod(text, NULL) : otherwise;
}

double knob_of(const char *name, int who, double otherwise) {
    for (const char *at = knob(name); at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL) {
        int whose;
        double number;
        if (sscanf(at, "%d:%lf", &whose, &number) == 2 && whose == who) return number;
    }
    return otherwise;
}

double knob_of_pair(const char *name, int from, int to, double otherwise) {
    for (const char *at = knob(name); at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL) {
        int first, second;
        double number;
        if (sscanf(at, "%d>%d:%lf", &first, &second, &number) == 3 && first == from && second == to) return number;
    }
    return otherwise;
}

bool knob_hangs(const char *where, int who, uint64_t turn) {
    for (const char *at = knob("FAKE_HANG"); at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL) {
        char place[32] = "";
        int whose = -1;
        unsigned long from = 0;
        if (sscanf(at, "%31[a-z_]:%d:%lu", place, &whose, &from) >= 2 && !strcmp(place, where) && whose == who && turn >= from) return true;
    }
    return false;
}

static uint64_t scrambled(uint64_t x) { /* splitmix64 */
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

double noise(uint64_t turn, int who) {
    uint64_t state = scrambled((uint64_t)knob_number("FAKE_SEED", 1)) ^ scrambled(turn * 1000003u + (uint64_t)(who + 1));
    double sum = 0; /* twelve uniform numbers: nearly normal, and never beyond 6 */
    for (int i = 0; i < 12; i++) sum += (double)((state = scrambled(state)) >> 11) / 9007199254740992.0;
    return sum - 6;
}
