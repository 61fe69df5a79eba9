/* How GPUs lie to each other and to the processors: gN.gM.ancestor, gN.gM.p2pK (either order; the first as asked wins), gN.cpus and
 * gN.memory_nodes as lists of numbers ("0-31,64-95").
 */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static nvmlReturn_t pair_number(const char *function, nvmlDevice_t one, nvmlDevice_t two, const char *name, unsigned int *out)
{
    unsigned int a, b = gpu_of(two);
    unsigned long long number = 0;
    char detail[16];
    nvmlReturn_t ret;

    snprintf(detail, sizeof detail, "g%u", b);
    ret = enter_with(function, one, detail, &a);
    if (ret != NVML_SUCCESS)
        return ret;
    if (b >= gpu_count() || out == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (gpu_is_lost(b))
        return NVML_ERROR_GPU_IS_LOST;
    ret = number_at((struct place){a, ".g", b}, name, &number);
    if (ret == NVML_ERROR_NOT_SUPPORTED)
        ret = number_at((struct place){b, ".g", a}, name, &number);
    if (ret == NVML_SUCCESS)
        *out = (unsigned int)number;
    return ret;
}

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t one, nvmlDevice_t two, nvmlGpuTopologyLevel_t *level)
{
    return pair_number(__func__, one, two, "ancestor", (unsigned int *)level);
}

nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t one, nvmlDevice_t two, nvmlGpuP2PCapsIndex_t index, nvmlGpuP2PStatus_t *status)
{
    char name[16];

    snprintf(name, sizeof name, "p2p%u", (unsigned int)index);
    return pair_number(__func__, one, two, name, (unsigned int *)status);
}

static void set_bits(const char *list, unsigned int words, unsigned long *out)
{
    const unsigned long bits = 8 * sizeof *out;

    memset(out, 0, words * sizeof *out);
    while (*list != '\0') {
        char *end;
        unsigned long from = strtoul(list, &end, 10), to = from;
        if (end == list)
            return;
        if (*end == '-')
            to = strtoul(end + 1, &end, 10);
        for (unsigned long bit = from; bit <= to && bit / bits < words; bit++)
            out[bit / bits] |= 1ul << (bit % bits);
        list = end + strspn(end, ", ");
    }
}

static nvmlReturn_t set_of(const char *function, nvmlDevice_t device, const char *name, unsigned int words, unsigned long *out)
{
    unsigned int gpu;
    char list[TEXT_SIZE];
    nvmlReturn_t ret = enter_device(function, device, &gpu);

    if (ret != NVML_SUCCESS)
        return ret;
    if (out == NULL || words == 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!find_text(place_gpu(gpu), name, list, sizeof list))
        return NVML_ERROR_NOT_SUPPORTED;
    set_bits(list, words, out);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCpuAffinityWithinScope(nvmlDevice_t device, unsigned int words, unsigned long *set, nvmlAffinityScope_t scope)
{
    (void)scope;
    return set_of(__func__, device, "cpus", words, set);
}

nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned int words, unsigned long *set)
{
    return set_of(__func__, device, "cpus", words, set);
}

nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t device, unsigned int words, unsigned long *set, nvmlAffinityScope_t scope)
{
    (void)scope;
    return set_of(__func__, device, "memory_nodes", words, set);
}
