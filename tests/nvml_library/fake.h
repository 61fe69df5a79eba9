/* What the files of this stand-in for libnvidia-ml.so.1 share.
 *
 * The library answers what a scenario file says (README in __init__.py has its statements) and nothing else: what no statement
 * mentions is NotSupported. Structures, numbers and prototypes come from the real nvml.h; compile with NVML_NO_UNVERSIONED_FUNC_DEFS.
 */
#ifndef FAKE_H
#define FAKE_H

#include <nvml.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TEXT_SIZE = 512, MAX_GPUS = 64, MAX_MIG_DEVICES = 7 };

#define ANY 0xFFFFFFFEu  /* an index that a key spells "*" */
#define NONE 0xFFFFFFFFu /* no index; as a gpu: the call names none */

/* amount.c: a value of the scenario, perhaps rising with the fake clock. */
struct amount {
    bool is_number;       /* false: text, or a return code alone */
    nvmlReturn_t ret;     /* other than NVML_SUCCESS: the answer is this code and nothing else */
    nvmlValueType_t type; /* unsigned long long unless the statement says */
    __int128 base;
    __int128 per_second;
    double real;
    double real_per_second;
};

bool amount_parse(const char *text, struct amount *out, const char **problem);
__int128 amount_now(const struct amount *amount);
double amount_real_now(const struct amount *amount);
void amount_put(const struct amount *amount, nvmlValueType_t *type, nvmlValue_t *value);

/* clock.c: nanoseconds that only a test moves; 0 without FAKE_NVML_CLOCK. And real time, for what a caller waits. */
uint64_t clock_ns(void);
uint64_t real_ms(void);
void real_pause_ms(unsigned int milliseconds);

/* scenario.c: the statements of FAKE_NVML_SCENARIO. */
void scenario_refresh(void);
bool scenario_amount(const char *key, struct amount *out);
bool scenario_text(const char *key, char *out, size_t size);
bool scenario_nth(const char *key, unsigned int nth, char *out, size_t size);
bool scenario_injects_calls(void);
unsigned long long scenario_number(const char *key, unsigned long long otherwise);

/* place.c: statements about one GPU, link, port or pair, the more special one first: g0.l3.x, g0.l*.x, g*.l3.x, g*.l*.x. */
struct place {
    unsigned int gpu;
    const char *kind; /* ".l", ".port", ".g", ".all", or "" for the GPU itself */
    unsigned int item;
};

struct place place_gpu(unsigned int gpu);
struct place place_link(unsigned int gpu, unsigned int link);
bool find(struct place place, const char *name, unsigned int number, struct amount *out);
bool find_text(struct place place, const char *name, char *out, size_t size);
bool find_nth(struct place place, const char *name, unsigned int nth, char *out, size_t size);
nvmlReturn_t number_at(struct place place, const char *name, unsigned long long *out);
unsigned long long number_or(struct place place, const char *name, unsigned long long otherwise);
size_t find_bytes(struct place place, const char *name, unsigned char *out, size_t size);

/* call_log.c: one line a call, appended to FAKE_NVML_LOG. */
void call_log(const char *function, unsigned int gpu, const char *detail);

/* calls.c: what every call does first; other than NVML_SUCCESS is what the function must return. */
nvmlReturn_t enter_system(const char *function);
nvmlReturn_t enter_device(const char *function, nvmlDevice_t device, unsigned int *gpu);
nvmlReturn_t enter_link(const char *function, nvmlDevice_t device, unsigned int link, unsigned int *gpu);
nvmlReturn_t enter_with(const char *function, nvmlDevice_t device, const char *detail, unsigned int *gpu);
nvmlReturn_t enter_unstarted(const char *function);

/* system.c */
bool system_is_started(void);

/* devices.c */
unsigned int gpu_count(void);
unsigned int gpu_of(nvmlDevice_t device); /* NONE if the handle is none of ours */
nvmlDevice_t handle_of(unsigned int gpu);
bool gpu_is_lost(unsigned int gpu);
void fill_pci(nvmlPciInfo_t *pci, const char *address);

/* links.c */
unsigned int link_count(unsigned int gpu);
bool link_is_active(unsigned int gpu, unsigned int link);

#endif
