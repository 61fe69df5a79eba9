/* Which processes are on a GPU, and how much of it they use: the lists gN.proc and gN.graphics_proc = "PID BYTES" or "PID na" (memory not told), as many lines as processes. */
#include "fake.h"

#include <stdio.h>

static nvmlReturn_t list(const char *function, nvmlDevice_t device, const char *name, unsigned int *count, nvmlProcessInfo_t *out)
{
    unsigned int gpu, pid, found = 0;
    char text[TEXT_SIZE];
    nvmlReturn_t ret = enter_device(function, device, &gpu);

    if (ret != NVML_SUCCESS)
        return ret;
    if (count == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (; find_nth(place_gpu(gpu), name, found, text, sizeof text); found++) {
        nvmlProcessInfo_t one = {0, (unsigned long long)NVML_VALUE_NOT_AVAILABLE, NONE, NONE};
        unsigned long long bytes;

        if (out == NULL || found >= *count)
            continue;
        if (sscanf(text, "%u %llu", &pid, &bytes) == 2)
            one.usedGpuMemory = bytes;
        sscanf(text, "%u", &one.pid);
        out[found] = one;
    }
    ret = found > *count || (out == NULL && found > 0) ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
    *count = found;
    return ret;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *out)
{
    return list(__func__, device, "proc", count, out);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *out)
{
    return list(__func__, device, "graphics_proc", count, out);
}

/* The same structure since its second version. */
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_v2_t *out)
{
    return list(__func__, device, "proc", count, (nvmlProcessInfo_t *)out);
}

nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *out)
{
    return list(__func__, device, "mps_proc", count, out);
}

static nvmlReturn_t asked(const char *function, nvmlDevice_t device, const char *name, unsigned long long *out)
{
    unsigned int gpu;
    nvmlReturn_t ret = enter_device(function, device, &gpu);

    return ret == NVML_SUCCESS ? number_at(place_gpu(gpu), name, out) : ret;
}

static unsigned long long total_of(nvmlDevice_t device)
{
    return number_or(place_gpu(gpu_of(device)), "memory_total", 85899345920ull);
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *out)
{
    unsigned long long used;
    nvmlReturn_t ret = asked(__func__, device, "memory_used", &used);

    if (ret == NVML_SUCCESS)
        *out = (nvmlMemory_t){.total = total_of(device), .free = total_of(device) - used, .used = used};
    return ret;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *out)
{
    unsigned long long used;
    nvmlReturn_t ret = asked(__func__, device, "memory_used", &used);

    if (ret == NVML_SUCCESS)
        *out = (nvmlMemory_v2_t){.version = out->version, .total = total_of(device), .free = total_of(device) - used, .used = used};
    return ret;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *out)
{
    unsigned long long percent;
    nvmlReturn_t ret = asked(__func__, device, "utilization", &percent);

    if (ret == NVML_SUCCESS)
        *out = (nvmlUtilization_t){.gpu = (unsigned int)percent, .memory = 0};
    return ret;
}

nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long *out)
{
    return asked(__func__, device, "clocks_event_reasons", out);
}

nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long *out)
{
    return asked(__func__, device, "clocks_event_reasons", out);
}

nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, nvmlComputeMode_t *out)
{
    unsigned long long mode;
    nvmlReturn_t ret = asked(__func__, device, "compute_mode", &mode);

    if (ret == NVML_SUCCESS)
        *out = (nvmlComputeMode_t)mode;
    return ret;
}
