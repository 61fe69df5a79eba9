/* What every exported function does first: read the scenario again, log the call, then fail, wait or crash where the scenario says so.
 *
 * call.FUNCTION.WHAT or gN.call.FUNCTION.WHAT, FUNCTION "*" for all; WHAT is ret (a code), sleep_ms (a number or "forever": the call
 * returns only when the statement is taken back) or abort.
 */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const unsigned int SLICE_MS = 5;

static bool injected(const char *function, unsigned int gpu, const char *what, char *out, size_t size)
{
    const char *functions[] = {function, "*"};
    char key[TEXT_SIZE];

    for (unsigned int i = 0; scenario_injects_calls() && i < 2; i++) {
        snprintf(key, sizeof key, "call.%s.%s", functions[i], what);
        if ((gpu != NONE && find_text(place_gpu(gpu), key, out, size)) || scenario_text(key, out, size))
            return true;
    }
    return false;
}

static void wait_as_told(const char *function, unsigned int gpu)
{
    uint64_t started = real_ms();
    char text[TEXT_SIZE];

    while (injected(function, gpu, "sleep_ms", text, sizeof text)) {
        if (strcmp(text, "forever") != 0 && real_ms() - started > strtoull(text, NULL, 10))
            return;
        real_pause_ms(SLICE_MS);
        scenario_refresh();
    }
}

static void crash_as_told(const char *function, unsigned int gpu)
{
    const struct rlimit no_core = {0, 0};
    char text[TEXT_SIZE];

    if (!injected(function, gpu, "abort", text, sizeof text) || strcmp(text, "0") == 0)
        return;
    setrlimit(RLIMIT_CORE, &no_core);
    abort();
}

static nvmlReturn_t enter(const char *function, unsigned int gpu, const char *detail)
{
    char text[TEXT_SIZE];

    scenario_refresh();
    call_log(function, gpu, detail);
    crash_as_told(function, gpu);
    wait_as_told(function, gpu);
    return injected(function, gpu, "ret", text, sizeof text) ? (nvmlReturn_t)strtol(text, NULL, 10) : NVML_SUCCESS;
}

/* For the calls that work before nvmlInit. */
nvmlReturn_t enter_unstarted(const char *function)
{
    return enter(function, NONE, "");
}

nvmlReturn_t enter_system(const char *function)
{
    nvmlReturn_t ret = enter(function, NONE, "");

    return system_is_started() ? ret : NVML_ERROR_UNINITIALIZED;
}

nvmlReturn_t enter_with(const char *function, nvmlDevice_t device, const char *detail, unsigned int *gpu)
{
    nvmlReturn_t ret;

    *gpu = gpu_of(device);
    ret = enter(function, *gpu, detail);
    if (!system_is_started())
        return NVML_ERROR_UNINITIALIZED;
    if (*gpu >= gpu_count())
        return NVML_ERROR_INVALID_ARGUMENT;
    return gpu_is_lost(*gpu) ? NVML_ERROR_GPU_IS_LOST : ret;
}

nvmlReturn_t enter_device(const char *function, nvmlDevice_t device, unsigned int *gpu)
{
    return enter_with(function, device, "", gpu);
}

/* As enter_device; a link beyond the ports of the GPU is InvalidArgument, or what links.beyond.ret says. */
nvmlReturn_t enter_link(const char *function, nvmlDevice_t device, unsigned int link, unsigned int *gpu)
{
    char detail[16];
    nvmlReturn_t ret;

    snprintf(detail, sizeof detail, "l%u", link);
    ret = enter_with(function, device, detail, gpu);
    if (ret == NVML_SUCCESS && link >= link_count(*gpu))
        return (nvmlReturn_t)scenario_number("links.beyond.ret", NVML_ERROR_INVALID_ARGUMENT);
    return ret;
}
