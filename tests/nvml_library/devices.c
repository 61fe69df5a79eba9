/* GPUs and their MIG devices: their handles, how one is found, and what each says of itself. gN is the GPU of NVML index N. */
#include "fake.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static struct {
    unsigned int unused;
} handles[MAX_GPUS], mig_handles[MAX_GPUS][MAX_MIG_DEVICES];

unsigned int gpu_count(void)
{
    unsigned long long count = scenario_number("gpus", 0);

    return count > MAX_GPUS ? MAX_GPUS : (unsigned int)count;
}

unsigned int gpu_of(nvmlDevice_t device)
{
    for (unsigned int i = 0; i < MAX_GPUS; i++)
        if (device == handle_of(i))
            return i;
    return NONE;
}

nvmlDevice_t handle_of(unsigned int gpu)
{
    return (nvmlDevice_t)&handles[gpu];
}

bool gpu_is_lost(unsigned int gpu)
{
    return number_or(place_gpu(gpu), "lost", 0) != 0;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
    nvmlReturn_t ret = enter_system(__func__);

    if (ret != NVML_SUCCESS)
        return ret;
    if (count == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    *count = gpu_count();
    return NVML_SUCCESS;
}

static nvmlReturn_t hand_out(unsigned int gpu, nvmlDevice_t *device)
{
    if (gpu_is_lost(gpu))
        return NVML_ERROR_GPU_IS_LOST;
    *device = handle_of(gpu);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    unsigned int gpu;
    nvmlReturn_t ret = index >= MAX_GPUS ? enter_system(__func__) : enter_device(__func__, handle_of(index), &gpu);

    if (ret != NVML_SUCCESS)
        return ret;
    return device == NULL || index >= gpu_count() ? NVML_ERROR_INVALID_ARGUMENT : hand_out(index, device);
}

static bool same_address(const char *a, const char *b)
{
    unsigned int one[3], two[3];

    return sscanf(a, "%x:%x:%x", &one[0], &one[1], &one[2]) == 3 && sscanf(b, "%x:%x:%x", &two[0], &two[1], &two[2]) == 3 &&
           memcmp(one, two, sizeof one) == 0;
}

static bool same_text(const char *a, const char *b)
{
    return strcasecmp(a, b) == 0;
}

static nvmlReturn_t search(const char *name, const char *wanted, bool (*same)(const char *, const char *), nvmlDevice_t *device)
{
    char text[TEXT_SIZE];

    if (wanted == NULL || device == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned int gpu = 0; gpu < gpu_count(); gpu++)
        if (find_text(place_gpu(gpu), name, text, sizeof text) && same(text, wanted))
            return hand_out(gpu, device);
    return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
    nvmlReturn_t ret = enter_system(__func__);

    return ret == NVML_SUCCESS ? search("uuid", uuid, same_text, device) : ret;
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *address, nvmlDevice_t *device)
{
    nvmlReturn_t ret = enter_system(__func__);

    return ret == NVML_SUCCESS ? search("pci", address, same_address, device) : ret;
}

static nvmlReturn_t text_of(const char *function, nvmlDevice_t device, const char *name, char *out, unsigned int length)
{
    unsigned int gpu;
    unsigned long long ignored;
    char text[TEXT_SIZE];
    nvmlReturn_t ret = enter_device(function, device, &gpu);

    if (ret == NVML_SUCCESS)
        ret = number_at(place_gpu(gpu), name, &ignored);
    if (ret != NVML_SUCCESS)
        return ret;
    if (out == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    find_text(place_gpu(gpu), name, text, sizeof text);
    if (strlen(text) >= length)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    memcpy(out, text, strlen(text) + 1);
    return NVML_SUCCESS;
}

#define TEXT(function, name)                                                                                                               \
    nvmlReturn_t function(nvmlDevice_t device, char *out, unsigned int length) { return text_of(__func__, device, name, out, length); }

/* The nth line of a list is the UUID of the MIG device of index n; "-" stands for an index that has none. */
static nvmlReturn_t mig_uuid(unsigned int gpu, unsigned int index, char *out, unsigned int length)
{
    char text[TEXT_SIZE];

    if (!find_nth(place_gpu(gpu), "mig_uuids", index, text, sizeof text) || strcmp(text, "-") == 0)
        return NVML_ERROR_NOT_FOUND;
    if (strlen(text) >= length)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    memcpy(out, text, strlen(text) + 1);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *out, unsigned int length)
{
    unsigned int gpu;

    for (unsigned int i = 0; i < MAX_GPUS; i++)
        for (unsigned int part = 0; part < MAX_MIG_DEVICES; part++)
            if (device == (nvmlDevice_t)&mig_handles[i][part]) {
                nvmlReturn_t ret = enter_device(__func__, handle_of(i), &gpu);

                return ret == NVML_SUCCESS ? mig_uuid(gpu, part, out, length) : ret;
            }
    return text_of(__func__, device, "uuid", out, length);
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count)
{
    unsigned int gpu;
    unsigned long long ignored;
    nvmlReturn_t ret = enter_device(__func__, device, &gpu);

    if (ret == NVML_SUCCESS && count == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (ret == NVML_SUCCESS)
        ret = number_at(place_gpu(gpu), "mig", &ignored);
    if (ret == NVML_SUCCESS)
        *count = MAX_MIG_DEVICES;
    return ret;
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index, nvmlDevice_t *part)
{
    unsigned int gpu;
    char text[TEXT_SIZE];
    nvmlReturn_t ret = enter_device(__func__, device, &gpu);

    if (ret != NVML_SUCCESS)
        return ret;
    if (part == NULL || index >= MAX_MIG_DEVICES || number_or(place_gpu(gpu), "mig", 0) == 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    ret = mig_uuid(gpu, index, text, sizeof text);
    if (ret == NVML_SUCCESS)
        *part = (nvmlDevice_t)&mig_handles[gpu][index];
    return ret;
}

TEXT(nvmlDeviceGetName, "name")
TEXT(nvmlDeviceGetSerial, "serial")
TEXT(nvmlDeviceGetBoardPartNumber, "board_part")

static nvmlReturn_t number_of(const char *function, nvmlDevice_t device, const char *name, unsigned int *out)
{
    unsigned int gpu;
    unsigned long long number = 0;
    nvmlReturn_t ret = enter_device(function, device, &gpu);

    if (ret == NVML_SUCCESS && out == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (ret == NVML_SUCCESS)
        ret = number_at(place_gpu(gpu), name, &number);
    if (ret == NVML_SUCCESS)
        *out = (unsigned int)number;
    return ret;
}

#define NUMBER(function, type, name)                                                                                                       \
    nvmlReturn_t function(nvmlDevice_t device, type *out) { return number_of(__func__, device, name, (unsigned int *)out); }

NUMBER(nvmlDeviceGetMinorNumber, unsigned int, "minor")
NUMBER(nvmlDeviceGetModuleId, unsigned int, "module")
NUMBER(nvmlDeviceGetArchitecture, nvmlDeviceArchitecture_t, "arch")
NUMBER(nvmlDeviceGetPersistenceMode, nvmlEnableState_t, "persistence")
NUMBER(nvmlDeviceGetVirtualizationMode, nvmlGpuVirtualizationMode_t, "virtualization")
NUMBER(nvmlDeviceGetNumaNodeId, unsigned int, "numa")
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, unsigned int, "pcie_generation")
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, unsigned int, "pcie_generation_max")
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, unsigned int, "pcie_width")
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, unsigned int, "pcie_width_max")

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
    unsigned int gpu;
    nvmlReturn_t ret = enter_device(__func__, device, &gpu);

    if (ret == NVML_SUCCESS && index == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (ret == NVML_SUCCESS)
        *index = gpu;
    return ret;
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending)
{
    nvmlReturn_t ret = pending == NULL ? NVML_ERROR_INVALID_ARGUMENT : number_of(__func__, device, "mig", current);

    if (ret == NVML_SUCCESS)
        *pending = (unsigned int)number_or(place_gpu(gpu_of(device)), "mig_pending", *current);
    return ret;
}

/* Eight-digit domain and upper case, as the driver spells it, the far end without an address (FFFFFFFF:FF:FF.0) included. */
void fill_pci(nvmlPciInfo_t *pci, const char *address)
{
    memset(pci, 0, sizeof *pci);
    sscanf(address, "%x:%x:%x", &pci->domain, &pci->bus, &pci->device);
    snprintf(pci->busId, sizeof pci->busId, "%08X:%02X:%02X.0", pci->domain, pci->bus & 0xFF, pci->device & 0xFF);
    snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%04X:%02X:%02X.0", pci->domain & 0xFFFF, pci->bus & 0xFF, pci->device & 0xFF);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    unsigned int gpu;
    char address[TEXT_SIZE];
    nvmlReturn_t ret = enter_device(__func__, device, &gpu);

    if (ret != NVML_SUCCESS)
        return ret;
    if (pci == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!find_text(place_gpu(gpu), "pci", address, sizeof address))
        return NVML_ERROR_NOT_SUPPORTED;
    fill_pci(pci, address);
    pci->pciDeviceId = (unsigned int)number_or(place_gpu(gpu), "pci_id", 0);
    pci->pciSubSystemId = (unsigned int)number_or(place_gpu(gpu), "pci_subsystem", 0);
    return NVML_SUCCESS;
}
