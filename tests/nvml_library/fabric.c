/* What a GPU knows of the fabric and rack it is part of: fabric state in its four versions, platform, NVLink firmware, bandwidth modes, C2C.
 *
 * gN.fabric.state, .status, .cluster_uuid, .clique, .health_mask, .summary, and for version 4 the list .clique_entry = "TYPE ID".
 * fabric.reject = "3 4": the versions that this driver does not know.
 */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool rejects(unsigned int version)
{
    char text[TEXT_SIZE] = "";
    const char *at = text;

    scenario_text("fabric.reject", text, sizeof text);
    for (char *end; *at != '\0'; at = end)
        if (strtoul(at, &end, 10) == version)
            return true;
        else if (end == at)
            return false;
    return false;
}

static nvmlReturn_t read_fabric(unsigned int gpu, nvmlGpuFabricInfo_v3_t *out)
{
    struct place place = place_gpu(gpu);
    unsigned long long state = 0;
    nvmlReturn_t ret = number_at(place, "fabric.state", &state);

    if (ret != NVML_SUCCESS)
        return ret;
    memset(out, 0, sizeof *out);
    find_bytes(place, "fabric.cluster_uuid", out->clusterUuid, sizeof out->clusterUuid);
    out->state = (nvmlGpuFabricState_t)state;
    out->status = (nvmlReturn_t)number_or(place, "fabric.status", NVML_SUCCESS);
    out->cliqueId = (unsigned int)number_or(place, "fabric.clique", 0);
    out->healthMask = (unsigned int)number_or(place, "fabric.health_mask", 0);
    out->healthSummary = (unsigned char)number_or(place, "fabric.summary", 0);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *info)
{
    unsigned int gpu;
    nvmlGpuFabricInfo_v3_t all;
    nvmlReturn_t ret = enter_device(__func__, device, &gpu);

    if (ret == NVML_SUCCESS && info == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (ret == NVML_SUCCESS)
        ret = rejects(1) ? NVML_ERROR_NOT_SUPPORTED : read_fabric(gpu, &all);
    if (ret != NVML_SUCCESS)
        return ret;
    memcpy(info->clusterUuid, all.clusterUuid, sizeof info->clusterUuid);
    info->status = all.status;
    info->cliqueId = all.cliqueId;
    info->state = all.state;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t *info)
{
    unsigned int gpu, version;
    nvmlGpuFabricInfo_v3_t all;
    nvmlReturn_t ret = enter_device(__func__, device, &gpu);

    if (ret != NVML_SUCCESS)
        return ret;
    if (info == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    version = info->version;
    if ((version != nvmlGpuFabricInfo_v2 && version != nvmlGpuFabricInfo_v3) || rejects(version >> 24))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    ret = read_fabric(gpu, &all);
    all.version = version;
    if (ret == NVML_SUCCESS)
        memcpy(info, &all, version & 0xFFFFFF);
    return ret;
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfo_v4(nvmlDevice_t device, nvmlGpuFabricInfo_v4_t *info)
{
    unsigned int gpu, type, id;
    char text[TEXT_SIZE];
    nvmlGpuFabricInfo_v3_t all;
    nvmlReturn_t ret = enter_device(__func__, device, &gpu);

    if (ret == NVML_SUCCESS && info == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (ret == NVML_SUCCESS)
        ret = rejects(4) ? NVML_ERROR_ARGUMENT_VERSION_MISMATCH : read_fabric(gpu, &all);
    if (ret != NVML_SUCCESS)
        return ret;
    memset(info, 0, sizeof *info);
    memcpy(info->clusterUuid, all.clusterUuid, sizeof info->clusterUuid);
    info->status = all.status;
    info->state = all.state;
    info->healthMask = all.healthMask;
    info->healthSummary = all.healthSummary;
    while (info->numCliques < NVML_GPU_FABRIC_CLIQUE_MAX &&
           find_nth(place_gpu(gpu), "fabric.clique_entry", info->numCliques, text, sizeof text) && sscanf(text, "%u %u", &type, &id) == 2)
        info->cliques[info->numCliques++] = (nvmlGpuFabricClique_v1_t){(unsigned char)type, id};
    return NVML_SUCCESS;
}

/* Versions 1 and 2 are one layout: the 16 bytes after the GUID are the rack's GUID in the first, the chassis serial in the second. */
nvmlReturn_t nvmlDeviceGetPlatformInfo(nvmlDevice_t device, nvmlPlatformInfo_t *info)
{
    unsigned int gpu;
    unsigned long long slot = 0;
    char serial[TEXT_SIZE] = "";
    nvmlReturn_t ret = enter_device(__func__, device, &gpu);
    struct place place = place_gpu(gpu);

    if (ret == NVML_SUCCESS)
        ret = number_at(place, "platform.slot", &slot);
    if (ret != NVML_SUCCESS)
        return ret;
    if (info == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (info->version != nvmlPlatformInfo_v1 && info->version != nvmlPlatformInfo_v2)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    find_bytes(place, "platform.ib_guid", info->ibGuid, sizeof info->ibGuid);
    find_bytes(place, "platform.rack_guid", info->chassisSerialNumber, sizeof info->chassisSerialNumber);
    if (info->version == nvmlPlatformInfo_v2 && find_text(place, "platform.chassis_serial", serial, sizeof serial))
        memcpy(info->chassisSerialNumber, serial, strnlen(serial, sizeof info->chassisSerialNumber));
    info->slotNumber = (unsigned char)slot;
    info->trayIndex = (unsigned char)number_or(place, "platform.tray", 0);
    info->hostId = (unsigned char)number_or(place, "platform.host", 0);
    info->peerType = (unsigned char)number_or(place, "platform.peer_type", 0);
    info->moduleId = (unsigned char)number_or(place, "platform.module", 0);
    return NVML_SUCCESS;
}

/* gN.nvle, and for version 2 the list gN.firmware = "UCODE MAJOR MINOR SUBMINOR". */
nvmlReturn_t nvmlDeviceGetNvLinkInfo(nvmlDevice_t device, nvmlNvLinkInfo_t *info)
{
    unsigned int gpu, part[4];
    unsigned long long encrypted = 0;
    char text[TEXT_SIZE];
    nvmlNvlinkFirmwareInfo_t *firmware;
    nvmlReturn_t ret = enter_device(__func__, device, &gpu);

    if (ret == NVML_SUCCESS)
        ret = number_at(place_gpu(gpu), "nvle", &encrypted);
    if (ret != NVML_SUCCESS)
        return ret;
    if (info == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (info->version != nvmlNvLinkInfo_v1 && info->version != nvmlNvLinkInfo_v2)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    info->isNvleEnabled = (unsigned int)encrypted;
    if (info->version == nvmlNvLinkInfo_v1)
        return NVML_SUCCESS;
    firmware = &info->firmwareInfo;
    firmware->numValidEntries = 0;
    while (firmware->numValidEntries < NVML_NVLINK_FIRMWARE_VERSION_LENGTH &&
           find_nth(place_gpu(gpu), "firmware", firmware->numValidEntries, text, sizeof text) &&
           sscanf(text, "%u %u %u %u", &part[0], &part[1], &part[2], &part[3]) == 4)
        firmware->firmwareVersion[firmware->numValidEntries++] =
            (nvmlNvlinkFirmwareVersion_t){(unsigned char)part[0], part[1], part[2], part[3]};
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvlinkBwMode(nvmlDevice_t device, nvmlNvlinkGetBwMode_t *mode)
{
    unsigned int gpu;
    unsigned long long number = 0;
    nvmlReturn_t ret = enter_device(__func__, device, &gpu);

    if (ret == NVML_SUCCESS)
        ret = number_at(place_gpu(gpu), "bw_mode", &number);
    if (ret != NVML_SUCCESS)
        return ret;
    if (mode == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (mode->version != nvmlNvlinkGetBwMode_v1)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    mode->bwMode = (unsigned char)number;
    mode->bIsBest = (unsigned int)number_or(place_gpu(gpu), "bw_best", 0);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvlinkSupportedBwModes(nvmlDevice_t device, nvmlNvlinkSupportedBwModes_t *modes)
{
    unsigned int gpu;
    char text[TEXT_SIZE];
    char *at = text, *end;
    nvmlReturn_t ret = enter_device(__func__, device, &gpu);

    if (ret != NVML_SUCCESS)
        return ret;
    if (modes == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!find_text(place_gpu(gpu), "bw_modes", text, sizeof text))
        return NVML_ERROR_NOT_SUPPORTED;
    if (modes->version != nvmlNvlinkSupportedBwModes_v1)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    for (modes->totalBwModes = 0; modes->totalBwModes < NVML_NVLINK_TOTAL_SUPPORTED_BW_MODES; at = end) {
        unsigned long number = strtoul(at, &end, 10);
        if (end == at)
            break;
        modes->bwModes[modes->totalBwModes++] = (unsigned char)number;
    }
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetC2cModeInfoV(nvmlDevice_t device, nvmlC2cModeInfo_v1_t *info)
{
    unsigned int gpu;
    unsigned long long enabled = 0;
    nvmlReturn_t ret = enter_device(__func__, device, &gpu);

    if (ret == NVML_SUCCESS && info == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (ret == NVML_SUCCESS)
        ret = number_at(place_gpu(gpu), "c2c", &enabled);
    if (ret == NVML_SUCCESS)
        info->isC2cEnabled = (unsigned int)enabled;
    return ret;
}
