/* Which processes compute on a GPU: the list gN.proc = "PID BYTES" or "PID na" (memory not told), as many lines as processes. */
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

/* The same structure since its second version. */
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_v2_t *out)
{
    return list(__func__, device, "proc", count, (nvmlProcessInfo_t *)out);
}

nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *out)
{
    return list(__func__, device, "mps_proc", count, out);
}
