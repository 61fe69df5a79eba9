/* How a value is written in the scenario and what it is at the fake clock's time. Knows no keys. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

static const char *const TYPES[] = {
    [NVML_VALUE_TYPE_DOUBLE] = "double",          [NVML_VALUE_TYPE_UNSIGNED_INT] = "uint",
    [NVML_VALUE_TYPE_UNSIGNED_LONG] = "ulong",    [NVML_VALUE_TYPE_UNSIGNED_LONG_LONG] = "ull",
    [NVML_VALUE_TYPE_SIGNED_LONG_LONG] = "sll",   [NVML_VALUE_TYPE_SIGNED_INT] = "int",
    [NVML_VALUE_TYPE_UNSIGNED_SHORT] = "ushort",
};

static const char *next_word(const char **at, size_t *length)
{
    const char *start = *at + strspn(*at, " \t");

    *length = strcspn(start, " \t");
    *at = start + *length;
    return start;
}

static bool is_word(const char *word, size_t length, const char *expected)
{
    return strlen(expected) == length && strncmp(word, expected, length) == 0;
}

/* Exact up to 128 bits: 2^53+1 and 2^64-1 must come back as they are. */
static bool parse_whole(const char *word, size_t length, __int128 *out)
{
    bool negative = length > 1 && word[0] == '-';
    bool hex = length > 2 && word[0] == '0' && word[1] == 'x';
    size_t from = hex ? 2 : negative;
    __int128 sum = 0;

    if (length == 0 || length > 34)
        return false;
    for (size_t i = from; i < length; i++) {
        const char *digits = "0123456789abcdef";
        const char *found = memchr(digits, word[i], hex ? 16 : 10);
        if (found == NULL)
            return false;
        sum = sum * (hex ? 16 : 10) + (found - digits);
    }
    *out = negative ? -sum : sum;
    return true;
}

static bool parse_number(const char *word, size_t length, struct amount *amount, bool is_rate)
{
    if (amount->type == NVML_VALUE_TYPE_DOUBLE) {
        char *end = NULL;
        *(is_rate ? &amount->real_per_second : &amount->real) = strtod(word, &end);
        return length > 0 && end == word + length;
    }
    return parse_whole(word, length, is_rate ? &amount->per_second : &amount->base);
}

static bool parse_type(const char *word, size_t length, nvmlValueType_t *type)
{
    for (unsigned int i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (is_word(word, length, TYPES[i])) {
            *type = (nvmlValueType_t)i;
            return true;
        }
    return false;
}

static bool parse_rate(const char *at, struct amount *out, const char **problem)
{
    size_t length;
    const char *word = next_word(&at, &length);

    if (length == 0)
        return true;
    *problem = "after the number only \"rate NUMBER\" or \"rate NUMBER per second\" may stand";
    if (!is_word(word, length, "rate"))
        return false;
    word = next_word(&at, &length);
    if (!parse_number(word, length, out, true))
        return false;
    at += strspn(at, " \t");
    return *at == '\0' || strcmp(at, "per second") == 0;
}

/* "ull 5 rate 2 per second", "ret 3", a bare number, or text (is_number stays false). False and a problem if it is none. */
bool amount_parse(const char *text, struct amount *out, const char **problem)
{
    const char *at = text;
    size_t length;
    const char *word = next_word(&at, &length);
    __int128 code;
    bool typed;

    memset(out, 0, sizeof *out);
    out->type = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
    if (is_word(word, length, "ret")) {
        word = next_word(&at, &length);
        *problem = "after \"ret\" one return code must stand";
        if (!parse_whole(word, length, &code) || at[strspn(at, " \t")] != '\0')
            return false;
        out->ret = (nvmlReturn_t)code;
        return true;
    }
    typed = parse_type(word, length, &out->type);
    if (typed)
        word = next_word(&at, &length);
    out->is_number = parse_number(word, length, out, false);
    if (!out->is_number) {
        *problem = "after a type a number must stand";
        return !typed;
    }
    if (parse_rate(at, out, problem))
        return true;
    out->is_number = false;
    return !typed;
}

/* Whole numbers fall to the lower one, as a counter does between two increments. */
__int128 amount_now(const struct amount *amount)
{
    __int128 risen = amount->per_second * (__int128)clock_ns();

    if (amount->type == NVML_VALUE_TYPE_DOUBLE)
        return (__int128)amount_real_now(amount);
    return amount->base + (risen - ((risen % 1000000000 + 1000000000) % 1000000000)) / 1000000000;
}

double amount_real_now(const struct amount *amount)
{
    return amount->real + amount->real_per_second * ((double)clock_ns() / 1e9);
}

/* Writes the member of its type and no byte more, as a driver does: who forgot to zero the union reads rubbish. */
void amount_put(const struct amount *amount, nvmlValueType_t *type, nvmlValue_t *value)
{
    __int128 now = amount_now(amount);

    *type = amount->type;
    switch (amount->type) {
    case NVML_VALUE_TYPE_DOUBLE: value->dVal = amount_real_now(amount); break;
    case NVML_VALUE_TYPE_UNSIGNED_INT: value->uiVal = (unsigned int)now; break;
    case NVML_VALUE_TYPE_UNSIGNED_LONG: value->ulVal = (unsigned long)now; break;
    case NVML_VALUE_TYPE_SIGNED_LONG_LONG: value->sllVal = (long long)now; break;
    case NVML_VALUE_TYPE_SIGNED_INT: value->siVal = (int)now; break;
    case NVML_VALUE_TYPE_UNSIGNED_SHORT: value->usVal = (unsigned short)now; break;
    default: value->ullVal = (unsigned long long)now; break;
    }
}
