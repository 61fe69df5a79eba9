/* Calls that would change a GPU for everybody on the node. They do nothing here and stand in the call log: a test proves by it that
 * nobody calls them. The deprecated readers of the utilisation counters are among them, since reading them presumes having set them.
 */
#include "fake.h"

#define CHANGE(device)                                                                                                                     \
    do {                                                                                                                                   \
        unsigned int gpu;                                                                                                                  \
        return enter_device(__func__, device, &gpu);                                                                                       \
    } while (0)

#define CHANGE_LINK(device, link)                                                                                                          \
    do {                                                                                                                                   \
        unsigned int gpu;                                                                                                                  \
        return enter_link(__func__, device, link, &gpu);                                                                                   \
    } while (0)

nvmlReturn_t nvmlDeviceResetNvLinkErrorCounters(nvmlDevice_t device, unsigned int link)
{
    CHANGE_LINK(device, link);
}

nvmlReturn_t nvmlDeviceSetNvLinkUtilizationControl(nvmlDevice_t device, unsigned int link, unsigned int counter,
                                                   nvmlNvLinkUtilizationControl_t *control, unsigned int reset)
{
    (void)counter, (void)control, (void)reset;
    CHANGE_LINK(device, link);
}

nvmlReturn_t nvmlDeviceGetNvLinkUtilizationControl(nvmlDevice_t device, unsigned int link, unsigned int counter,
                                                   nvmlNvLinkUtilizationControl_t *control)
{
    (void)counter, (void)control;
    CHANGE_LINK(device, link);
}

nvmlReturn_t nvmlDeviceGetNvLinkUtilizationCounter(nvmlDevice_t device, unsigned int link, unsigned int counter,
                                                   unsigned long long *received, unsigned long long *transmitted)
{
    (void)counter, (void)received, (void)transmitted;
    CHANGE_LINK(device, link);
}

nvmlReturn_t nvmlDeviceFreezeNvLinkUtilizationCounter(nvmlDevice_t device, unsigned int link, unsigned int counter, nvmlEnableState_t freeze)
{
    (void)counter, (void)freeze;
    CHANGE_LINK(device, link);
}

nvmlReturn_t nvmlDeviceResetNvLinkUtilizationCounter(nvmlDevice_t device, unsigned int link, unsigned int counter)
{
    (void)counter;
    CHANGE_LINK(device, link);
}

nvmlReturn_t nvmlDeviceSetNvLinkDeviceLowPowerThreshold(nvmlDevice_t device, nvmlNvLinkPowerThres_t *info)
{
    (void)info;
    CHANGE(device);
}

nvmlReturn_t nvmlDeviceSetNvlinkBwMode(nvmlDevice_t device, nvmlNvlinkSetBwMode_t *mode)
{
    (void)mode;
    CHANGE(device);
}

nvmlReturn_t nvmlDeviceSetNvlinkBwModeAsync_v1(nvmlDevice_t device, nvmlNvlinkSetBwModeAsync_v1_t *mode)
{
    (void)mode;
    CHANGE(device);
}

nvmlReturn_t nvmlDeviceClearFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
    (void)count, (void)values;
    CHANGE(device);
}

nvmlReturn_t nvmlDeviceReadWritePRM_v1(nvmlDevice_t device, nvmlPRMTLV_v1_t *buffer)
{
    (void)buffer;
    CHANGE(device);
}

nvmlReturn_t nvmlDeviceSetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t mode)
{
    (void)mode;
    CHANGE(device);
}

nvmlReturn_t nvmlDeviceSetCpuAffinity(nvmlDevice_t device)
{
    CHANGE(device);
}

nvmlReturn_t nvmlDeviceClearCpuAffinity(nvmlDevice_t device)
{
    CHANGE(device);
}

nvmlReturn_t nvmlSystemSetNvlinkBwMode(unsigned int mode)
{
    (void)mode;
    return enter_system(__func__);
}
