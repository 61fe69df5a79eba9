/* The scenario file: flat statements "key = value", one a line, "#" begins a comment line. Read again whenever mtime, size or inode
 * changed; while it cannot be read, the last one holds. A line that cannot be understood ends the process: a test must not pass by it.
 * Where a key stands twice, the last one counts, except for keys that are lists (scenario_nth). Knows no meaning of any key.
 */
#include "fake.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct statement {
    char *key;
    char *text;
    struct amount amount;
};

static pthread_mutex_t reading = PTHREAD_MUTEX_INITIALIZER;
static struct statement *statements;
static size_t statement_count;
static unsigned int *slots; /* open addressing: number of the statement + 1, or 0 */
static size_t slot_mask;
static char *content;
static bool injects_calls;
static struct stat known;

static size_t hash(const char *key)
{
    uint64_t sum = 1469598103934665603u;

    for (; *key != '\0'; key++)
        sum = (sum ^ (unsigned char)*key) * 1099511628211u;
    return (size_t)(sum ^ (sum >> 29));
}

static unsigned int *slot_of(const char *key)
{
    size_t at = hash(key) & slot_mask;

    while (slots[at] != 0 && strcmp(statements[slots[at] - 1].key, key) != 0)
        at = (at + 1) & slot_mask;
    return &slots[at];
}

static _Noreturn void give_up(const char *path, unsigned int line, const char *problem)
{
    fprintf(stderr, "fake NVML: %s:%u: %s\n", path, line, problem);
    abort();
}

static char *trimmed(char *text)
{
    char *end = text + strlen(text);

    text += strspn(text, " \t");
    while (end > text && strchr(" \t\r", end[-1]) != NULL)
        *--end = '\0';
    return text;
}

static void parse_line(const char *path, unsigned int number, char *line)
{
    struct statement *one = &statements[statement_count];
    char *equals = strchr(line, '=');
    const char *problem = "";

    line = trimmed(line);
    if (*line == '\0' || *line == '#')
        return;
    if (equals == NULL)
        give_up(path, number, "no \"=\" in the statement");
    *equals = '\0';
    one->key = trimmed(line);
    one->text = trimmed(equals + 1);
    if (strlen(one->text) >= TEXT_SIZE)
        give_up(path, number, "the value is too long");
    if (!amount_parse(one->text, &one->amount, &problem))
        give_up(path, number, problem);
    injects_calls = injects_calls || strstr(one->key, "call.") != NULL;
    statement_count++;
}

static void parse(const char *path)
{
    size_t lines = 1;
    unsigned int number = 0;

    for (const char *at = content; *at != '\0'; at++)
        lines += *at == '\n';
    statements = calloc(lines, sizeof *statements);
    for (slot_mask = 64; slot_mask < lines * 2; slot_mask *= 2)
        ;
    slots = calloc(slot_mask--, sizeof *slots);
    if (statements == NULL || slots == NULL)
        give_up(path, 0, "no memory");
    for (char *line = content, *next; line != NULL; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        parse_line(path, ++number, line);
    }
    for (unsigned int i = 0; i < statement_count; i++)
        *slot_of(statements[i].key) = i + 1;
}

static char *read_whole(FILE *file, size_t size)
{
    char *text = malloc(size + 1);

    if (text != NULL)
        text[fread(text, 1, size, file)] = '\0';
    return text;
}

static bool is_known(const struct stat *now)
{
    return now->st_ino == known.st_ino && now->st_size == known.st_size && now->st_mtim.tv_sec == known.st_mtim.tv_sec &&
           now->st_mtim.tv_nsec == known.st_mtim.tv_nsec;
}

static void read_again(const char *path, const struct stat *now)
{
    FILE *file = fopen(path, "re");
    char *text = file == NULL ? NULL : read_whole(file, (size_t)now->st_size);

    if (file != NULL)
        fclose(file);
    if (text == NULL)
        return;
    free(content);
    free(statements);
    free(slots);
    content = text;
    known = *now;
    statement_count = 0;
    injects_calls = false;
    parse(path);
}

void scenario_refresh(void)
{
    const char *path = getenv("FAKE_NVML_SCENARIO");
    struct stat now;

    if (path == NULL || stat(path, &now) != 0)
        return;
    pthread_mutex_lock(&reading);
    if (!is_known(&now))
        read_again(path, &now);
    pthread_mutex_unlock(&reading);
}

static const struct statement *statement_of(const char *key)
{
    unsigned int number = slots == NULL ? 0 : *slot_of(key);

    return number == 0 ? NULL : &statements[number - 1];
}

bool scenario_amount(const char *key, struct amount *out)
{
    const struct statement *one;

    pthread_mutex_lock(&reading);
    one = statement_of(key);
    if (one != NULL)
        *out = one->amount;
    pthread_mutex_unlock(&reading);
    return one != NULL;
}

bool scenario_text(const char *key, char *out, size_t size)
{
    const struct statement *one;

    pthread_mutex_lock(&reading);
    one = statement_of(key);
    if (one != NULL)
        snprintf(out, size, "%s", one->text);
    pthread_mutex_unlock(&reading);
    return one != NULL;
}

bool scenario_nth(const char *key, unsigned int nth, char *out, size_t size)
{
    bool found = false;

    pthread_mutex_lock(&reading);
    for (size_t i = 0; statement_of(key) != NULL && i < statement_count && !found; i++)
        if (strcmp(statements[i].key, key) == 0 && nth-- == 0) {
            snprintf(out, size, "%s", statements[i].text);
            found = true;
        }
    pthread_mutex_unlock(&reading);
    return found;
}

bool scenario_injects_calls(void)
{
    return injects_calls;
}

unsigned long long scenario_number(const char *key, unsigned long long otherwise)
{
    struct amount amount;

    return scenario_amount(key, &amount) && amount.is_number ? (unsigned long long)amount_now(&amount) : otherwise;
}
