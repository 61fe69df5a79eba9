/* nvmlDeviceGetFieldValues: gN.fID for the GPU, gN.lM.fID for scope M, gN.all.fID for scope UINT_MAX; and the ways a batch goes wrong.
 *
 * fields.batch_max = N: more values than N fail the call. fields.poison_inactive = 1: a link that is not up, in a batch of throughput
 * fields, fails the call. fields.poison = ID: beside that field no other is supported. fields.known_max = ID: an older driver that takes
 * greater ids for invalid. fields.timestamp = none: values without a time; fields.latency_us: what a value says it took.
 */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_throughput(unsigned int id)
{
    return (id >= NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX && id <= NVML_FI_DEV_NVLINK_THROUGHPUT_RAW_RX) ||
           id == NVML_FI_DEV_NVLINK_COUNT_XMIT_BYTES || id == NVML_FI_DEV_NVLINK_COUNT_RCV_BYTES;
}

/* "COUNT ID:SCOPE ID:SCOPE …" for the call log. */
static char *described(int count, const nvmlFieldValue_t *values)
{
    int listed = values == NULL || count < 0 ? 0 : count;
    char *text = malloc(16 + (size_t)listed * 24);
    char *at = text;

    if (text == NULL)
        abort();
    at += sprintf(at, "%d", count);
    for (int i = 0; i < listed; i++)
        at += sprintf(at, " %u:%u", values[i].fieldId, values[i].scopeId);
    return text;
}

static bool holds_inactive_link(unsigned int gpu, int count, const nvmlFieldValue_t *values)
{
    for (int i = 0; i < count; i++)
        if (is_throughput(values[i].fieldId) && values[i].scopeId != NONE && !link_is_active(gpu, values[i].scopeId))
            return true;
    return false;
}

static bool is_poisoned(int count, const nvmlFieldValue_t *values, unsigned long long poison)
{
    for (int i = 0; i < count; i++)
        if (values[i].fieldId == poison)
            return true;
    return false;
}

/* A field of the GPU ignores the scope, as the driver does; a field of links refuses a link that is not there. */
static bool found(unsigned int gpu, unsigned int id, unsigned int scope, struct amount *amount)
{
    if (scope == NONE)
        return find((struct place){gpu, ".all", NONE}, "f", id, amount);
    if (scope < link_count(gpu) && find(place_link(gpu, scope), "f", id, amount))
        return true;
    if (find(place_gpu(gpu), "f", id, amount))
        return true;
    if (!find(place_link(gpu, 0), "f", id, amount))
        return false;
    amount->ret = scope < link_count(gpu) ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT;
    return true;
}

/* What the scenario says of the whole batch, looked up once. */
struct batch {
    long long timestamp_us;
    long long latency_us;
    unsigned long long known_max;
    unsigned long long poison;
    bool poisoned;
};

static struct batch batch_of(int count, const nvmlFieldValue_t *values)
{
    char text[TEXT_SIZE];
    bool timeless = scenario_text("fields.timestamp", text, sizeof text) && strcmp(text, "none") == 0;
    struct batch batch = {
        .timestamp_us = timeless ? 0 : (long long)(clock_ns() / 1000 + scenario_number("clock.epoch_us", 0)),
        .latency_us = (long long)scenario_number("fields.latency_us", 0),
        .known_max = scenario_number("fields.known_max", NVML_FI_MAX - 1),
        .poison = scenario_number("fields.poison", NONE),
    };

    batch.poisoned = is_poisoned(count, values, batch.poison);
    return batch;
}

static void fill(unsigned int gpu, const struct batch *batch, nvmlFieldValue_t *value)
{
    struct amount amount;

    value->timestamp = batch->timestamp_us;
    value->latencyUsec = batch->latency_us;
    if (value->fieldId > batch->known_max)
        value->nvmlReturn = NVML_ERROR_INVALID_ARGUMENT;
    else if ((batch->poisoned && value->fieldId != batch->poison) || !found(gpu, value->fieldId, value->scopeId, &amount))
        value->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
    else
        value->nvmlReturn = amount.ret;
    if (value->nvmlReturn == NVML_SUCCESS)
        amount_put(&amount, &value->valueType, &value->value);
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
    unsigned int gpu;
    struct batch batch;
    char *detail = described(count, values);
    nvmlReturn_t ret = enter_with(__func__, device, detail, &gpu);

    free(detail);
    if (ret != NVML_SUCCESS)
        return ret;
    if (values == NULL || count <= 0 || (unsigned int)count > scenario_number("fields.batch_max", NONE))
        return NVML_ERROR_INVALID_ARGUMENT;
    if (scenario_number("fields.poison_inactive", 0) && holds_inactive_link(gpu, count, values))
        return NVML_ERROR_INVALID_ARGUMENT;
    batch = batch_of(count, values);
    for (int i = 0; i < count; i++)
        fill(gpu, &batch, &values[i]);
    return NVML_SUCCESS;
}
