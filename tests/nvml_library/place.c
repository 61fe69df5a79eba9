/* How keys about a GPU, its links, ports and neighbours are spelt, and which of several statements wins. */
#include "fake.h"

#include <stdio.h>
#include <string.h>

struct key {
    char text[TEXT_SIZE];
};

static char *put_text(char *at, const char *text)
{
    size_t length = strlen(text);

    memcpy(at, text, length);
    return at + length;
}

static char *put_number(char *at, unsigned int number)
{
    char digits[12];
    size_t length = 0;

    if (number == ANY)
        return put_text(at, "*");
    do
        digits[length++] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    while (length > 0)
        *at++ = digits[--length];
    return at;
}

/* By hand, not by snprintf: a pass asks for thousands of values. */
static void spell(struct key *key, struct place place, const char *name, unsigned int number)
{
    char *at = put_number(put_text(key->text, "g"), place.gpu);

    at = put_text(at, place.kind);
    if (place.item != NONE)
        at = put_number(at, place.item);
    at = put_text(put_text(at, "."), name);
    if (number != NONE)
        at = put_number(at, number);
    *at = '\0';
}

struct place place_gpu(unsigned int gpu)
{
    return (struct place){gpu, "", NONE};
}

struct place place_link(unsigned int gpu, unsigned int link)
{
    return (struct place){gpu, ".l", link};
}

/* The nth most special key there can be for the place; false when there is none left. */
static bool candidate(struct key *key, struct place place, const char *name, unsigned int number, unsigned int nth)
{
    bool has_item = place.item != NONE;

    if (nth >= (has_item ? 4u : 2u))
        return false;
    if (has_item ? nth & 1 : 0)
        place.item = ANY;
    if (has_item ? nth & 2 : nth & 1)
        place.gpu = ANY;
    spell(key, place, name, number);
    return true;
}

bool find(struct place place, const char *name, unsigned int number, struct amount *out)
{
    struct key key;

    for (unsigned int nth = 0; candidate(&key, place, name, number, nth); nth++)
        if (scenario_amount(key.text, out))
            return true;
    return false;
}

bool find_text(struct place place, const char *name, char *out, size_t size)
{
    struct key key;

    for (unsigned int nth = 0; candidate(&key, place, name, NONE, nth); nth++)
        if (scenario_text(key.text, out, size))
            return true;
    return false;
}

/* Of a list (a key that stands several times) the nth line, under the place's own key only. */
bool find_nth(struct place place, const char *name, unsigned int nth, char *out, size_t size)
{
    struct key key;

    spell(&key, place, name, NONE);
    return scenario_nth(key.text, nth, out, size);
}

/* NVML_SUCCESS and the number, the code that the statement holds, or NotSupported without one. */
nvmlReturn_t number_at(struct place place, const char *name, unsigned long long *out)
{
    struct amount amount;

    if (!find(place, name, NONE, &amount))
        return NVML_ERROR_NOT_SUPPORTED;
    if (amount.ret == NVML_SUCCESS)
        *out = (unsigned long long)amount_now(&amount);
    return amount.ret;
}

unsigned long long number_or(struct place place, const char *name, unsigned long long otherwise)
{
    unsigned long long number;

    return number_at(place, name, &number) == NVML_SUCCESS ? number : otherwise;
}

/* Bytes written as hexadecimal digits, dashes skipped; the rest of `out` is zero. How many there were. */
size_t find_bytes(struct place place, const char *name, unsigned char *out, size_t size)
{
    char text[TEXT_SIZE] = "";
    size_t count = 0;
    unsigned int byte;

    memset(out, 0, size);
    find_text(place, name, text, sizeof text);
    for (const char *at = text; *at != '\0' && count < size; at += 2) {
        at += strspn(at, "-");
        if (sscanf(at, "%2x", &byte) != 1)
            break;
        out[count++] = (unsigned char)byte;
    }
    return count;
}
