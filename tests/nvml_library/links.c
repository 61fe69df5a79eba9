/* The calls about one NVLink: gN.lM.state, .version, .capability, .remote_type, .remote_pci, .counterK (K: nvmlNvLinkErrorCounter_t). */
#include "fake.h"

#include <stdio.h>

/* Ports that the calls know: gN.links, else what field 91 answers. */
unsigned int link_count(unsigned int gpu)
{
    struct amount amount;
    unsigned long long count;

    if (number_at(place_gpu(gpu), "links", &count) == NVML_SUCCESS)
        return (unsigned int)count;
    return find(place_gpu(gpu), "f", NVML_FI_DEV_NVLINK_LINK_COUNT, &amount) && amount.is_number ? (unsigned int)amount_now(&amount) : 0;
}

bool link_is_active(unsigned int gpu, unsigned int link)
{
    return number_or(place_link(gpu, link), "state", 0) != 0;
}

static nvmlReturn_t link_number(const char *function, nvmlDevice_t device, unsigned int link, const char *name, unsigned int *out)
{
    unsigned int gpu;
    unsigned long long number = 0;
    nvmlReturn_t ret = enter_link(function, device, link, &gpu);

    if (ret == NVML_SUCCESS && out == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (ret == NVML_SUCCESS)
        ret = number_at(place_link(gpu, link), name, &number);
    if (ret == NVML_SUCCESS)
        *out = (unsigned int)number;
    return ret;
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link, nvmlEnableState_t *state)
{
    return link_number(__func__, device, link, "state", (unsigned int *)state);
}

nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t device, unsigned int link, unsigned int *version)
{
    return link_number(__func__, device, link, "version", version);
}

nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned int link, nvmlIntNvLinkDeviceType_t *type)
{
    return link_number(__func__, device, link, "remote_type", (unsigned int *)type);
}

/* TRUE up to gN.links_max, which real drivers put far beyond the ports there are; a statement for one link and kind wins. */
nvmlReturn_t nvmlDeviceGetNvLinkCapability(nvmlDevice_t device, unsigned int link, nvmlNvLinkCapability_t capability, unsigned int *result)
{
    unsigned int gpu;
    char name[32], detail[16];
    nvmlReturn_t ret;

    snprintf(detail, sizeof detail, "l%u", link);
    ret = enter_with(__func__, device, detail, &gpu);
    if (ret != NVML_SUCCESS)
        return ret;
    if (result == NULL || link >= number_or(place_gpu(gpu), "links_max", link_count(gpu)))
        return NVML_ERROR_INVALID_ARGUMENT;
    snprintf(name, sizeof name, "capability%u", (unsigned int)capability);
    *result = (unsigned int)number_or(place_link(gpu, link), name, 1);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned int link, nvmlPciInfo_t *pci)
{
    unsigned int gpu;
    unsigned long long ignored;
    char address[TEXT_SIZE];
    nvmlReturn_t ret = enter_link(__func__, device, link, &gpu);

    if (ret == NVML_SUCCESS)
        ret = number_at(place_link(gpu, link), "remote_pci", &ignored);
    if (ret != NVML_SUCCESS)
        return ret;
    if (pci == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    find_text(place_link(gpu, link), "remote_pci", address, sizeof address);
    fill_pci(pci, address);
    pci->pciSubSystemId = 0xA5A5A5A5u; /* the header calls it undefined */
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t device, unsigned int link, nvmlNvLinkErrorCounter_t counter,
                                             unsigned long long *value)
{
    unsigned int gpu;
    struct amount amount;
    nvmlReturn_t ret = enter_link(__func__, device, link, &gpu);

    if (ret != NVML_SUCCESS)
        return ret;
    if (value == NULL || counter >= NVML_NVLINK_ERROR_COUNT)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!find(place_link(gpu, link), "counter", counter, &amount))
        return NVML_ERROR_NOT_SUPPORTED;
    if (amount.ret == NVML_SUCCESS)
        *value = (unsigned long long)amount_now(&amount);
    return amount.ret;
}
