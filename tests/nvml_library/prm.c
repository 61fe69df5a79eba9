/* Port counters that firmware keeps: gN.portP.prmID, P being the local port exactly as the caller's structure names it. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>

static char *described(const nvmlPRMCounterList_v1_t *list)
{
    unsigned int count = list == NULL || list->counters == NULL ? 0 : list->numCounters;
    char *text = malloc(16 + (size_t)count * 24);
    char *at = text;

    if (text == NULL)
        abort();
    at += sprintf(at, "%u", count);
    for (unsigned int i = 0; i < count; i++)
        at += sprintf(at, " %u:%u", list->counters[i].counterId, list->counters[i].inData.localPort);
    return text;
}

nvmlReturn_t nvmlDeviceReadPRMCounters_v1(nvmlDevice_t device, nvmlPRMCounterList_v1_t *list)
{
    unsigned int gpu;
    char *detail = described(list);
    nvmlReturn_t ret = enter_with(__func__, device, detail, &gpu);

    free(detail);
    if (ret == NVML_SUCCESS && number_or(place_gpu(gpu), "prm", 0) == 0)
        ret = NVML_ERROR_NOT_SUPPORTED;
    if (ret != NVML_SUCCESS)
        return ret;
    if (list == NULL || list->counters == NULL || list->numCounters == 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned int i = 0; i < list->numCounters; i++) {
        nvmlPRMCounter_v1_t *one = &list->counters[i];
        struct place port = {gpu, ".port", one->inData.localPort};
        struct amount amount;

        one->counterValue.status = find(port, "prm", one->counterId, &amount) ? amount.ret : NVML_ERROR_INVALID_ARGUMENT;
        if (one->counterValue.status == NVML_SUCCESS)
            amount_put(&amount, &one->counterValue.outputType, &one->counterValue.outputValue);
    }
    return NVML_SUCCESS;
}
