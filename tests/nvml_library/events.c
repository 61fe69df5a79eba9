/* Events of GPUs and of the system. "ev = 12.5 g1 xid 149" happens at that second of the fake clock; "ev = 20 g1 unbind" (or "bind") is a
 * system event. Statements stand in the order of their times, and later ones are appended. A set hears each event once, none from before
 * its GPU was registered; a lost GPU makes the whole set fail. Waiting spends real time.
 */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SETS = 32 };

struct event {
    uint64_t at_ns;
    unsigned int gpu;
    unsigned long long type;
    unsigned long long data;
    bool of_system;
};

struct listener {
    bool used;
    bool of_system;
    unsigned long long types[MAX_GPUS];
    uint64_t since_ns[MAX_GPUS];
    uint64_t heard_ns;    /* time of the last event that was heard … */
    unsigned int heard;   /* … and how many statements of that time are behind */
};

static struct listener listeners[MAX_SETS];

static bool nth_event(unsigned int nth, struct event *event)
{
    char text[TEXT_SIZE], kind[16];
    double seconds;

    if (!scenario_nth("ev", nth, text, sizeof text))
        return false;
    event->data = 0;
    if (sscanf(text, "%lf g%u %15s %llu", &seconds, &event->gpu, kind, &event->data) < 3 || event->gpu >= MAX_GPUS) {
        fprintf(stderr, "fake NVML: \"ev = %s\" is not \"ev = SECONDS gN xid NUMBER\"\n", text);
        abort();
    }
    event->at_ns = (uint64_t)(seconds * 1e9 + 0.5);
    event->of_system = strcmp(kind, "xid") != 0;
    event->type = nvmlEventTypeXidCriticalError;
    if (event->of_system)
        event->type = strcmp(kind, "bind") == 0 ? nvmlSystemEventTypeGpuDriverBind : nvmlSystemEventTypeGpuDriverUnbind;
    return true;
}

static bool hears(const struct listener *set, const struct event *event)
{
    return event->of_system == set->of_system && (set->types[event->gpu] & event->type) && event->at_ns >= set->since_ns[event->gpu];
}

static bool next_event(struct listener *set, struct event *event)
{
    unsigned int same = 0;
    uint64_t before_ns = 0, now_ns = clock_ns();

    for (unsigned int nth = 0; nth_event(nth, event) && event->at_ns <= now_ns; nth++) {
        same = event->at_ns == before_ns ? same + 1 : 1;
        before_ns = event->at_ns;
        if (event->at_ns < set->heard_ns || (event->at_ns == set->heard_ns && same <= set->heard) || !hears(set, event))
            continue;
        set->heard_ns = event->at_ns;
        set->heard = same;
        return true;
    }
    return false;
}

static bool any_lost(const struct listener *set)
{
    for (unsigned int gpu = 0; gpu < gpu_count(); gpu++)
        if (set->types[gpu] != 0 && gpu_is_lost(gpu))
            return true;
    return false;
}

static nvmlReturn_t wait_for(struct listener *set, unsigned int timeout_ms, struct event *event)
{
    uint64_t started = real_ms();

    do {
        scenario_refresh();
        if (!set->of_system && any_lost(set))
            return NVML_ERROR_GPU_IS_LOST;
        if (next_event(set, event))
            return NVML_SUCCESS;
        real_pause_ms(timeout_ms < 5 ? timeout_ms : 5);
    } while (real_ms() - started < timeout_ms);
    return NVML_ERROR_TIMEOUT;
}

static struct listener *new_set(bool of_system)
{
    for (unsigned int i = 0; i < MAX_SETS; i++)
        if (!listeners[i].used) {
            memset(&listeners[i], 0, sizeof listeners[i]);
            listeners[i].used = true;
            listeners[i].of_system = of_system;
            return &listeners[i];
        }
    return NULL;
}

static struct listener *known(const void *set)
{
    for (unsigned int i = 0; i < MAX_SETS; i++)
        if (set == &listeners[i] && listeners[i].used)
            return &listeners[i];
    return NULL;
}

static void listen_to(struct listener *set, unsigned int gpu, unsigned long long types)
{
    if (set->types[gpu] == 0)
        set->since_ns[gpu] = clock_ns();
    set->types[gpu] |= types;
}

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
    nvmlReturn_t ret = enter_system(__func__);

    if (ret != NVML_SUCCESS)
        return ret;
    if (set == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    *set = (nvmlEventSet_t)new_set(false);
    return *set == NULL ? NVML_ERROR_MEMORY : NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
    nvmlReturn_t ret = enter_system(__func__);

    if (ret != NVML_SUCCESS || known(set) == NULL)
        return ret == NVML_SUCCESS ? NVML_ERROR_INVALID_ARGUMENT : ret;
    known(set)->used = false;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long *types)
{
    unsigned int gpu;
    nvmlReturn_t ret = enter_device(__func__, device, &gpu);

    if (ret == NVML_SUCCESS && types == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    return ret == NVML_SUCCESS ? number_at(place_gpu(gpu), "event_types", types) : ret;
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set)
{
    unsigned int gpu;
    nvmlReturn_t ret = enter_device(__func__, device, &gpu);

    if (ret != NVML_SUCCESS)
        return ret;
    if (known(set) == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (types & ~number_or(place_gpu(gpu), "event_types", 0))
        return NVML_ERROR_NOT_SUPPORTED;
    listen_to(known(set), gpu, types);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout_ms)
{
    struct event event;
    nvmlReturn_t ret = enter_system(__func__);

    if (ret == NVML_SUCCESS && (known(set) == NULL || data == NULL))
        return NVML_ERROR_INVALID_ARGUMENT;
    if (ret == NVML_SUCCESS)
        ret = wait_for(known(set), timeout_ms, &event);
    if (ret == NVML_SUCCESS)
        *data = (nvmlEventData_t){handle_of(event.gpu), event.type, event.data, NONE, NONE};
    return ret;
}

nvmlReturn_t nvmlSystemEventSetCreate(nvmlSystemEventSetCreateRequest_t *request)
{
    nvmlReturn_t ret = enter_system(__func__);

    if (ret != NVML_SUCCESS)
        return ret;
    if (request == NULL || request->version != nvmlSystemEventSetCreateRequest_v1)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    request->set = (nvmlSystemEventSet_t)new_set(true);
    return request->set == NULL ? NVML_ERROR_MEMORY : NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemEventSetFree(nvmlSystemEventSetFreeRequest_t *request)
{
    nvmlReturn_t ret = enter_system(__func__);

    if (ret != NVML_SUCCESS)
        return ret;
    if (request == NULL || known(request->set) == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    known(request->set)->used = false;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemRegisterEvents(nvmlSystemRegisterEventRequest_t *request)
{
    nvmlReturn_t ret = enter_system(__func__);

    if (ret != NVML_SUCCESS)
        return ret;
    if (request == NULL || known(request->set) == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned int gpu = 0; gpu < MAX_GPUS; gpu++)
        listen_to(known(request->set), gpu, request->eventTypes);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemEventSetWait(nvmlSystemEventSetWaitRequest_t *request)
{
    struct event event;
    nvmlReturn_t ret = enter_system(__func__);

    if (ret != NVML_SUCCESS)
        return ret;
    if (request == NULL || known(request->set) == NULL || request->data == NULL || request->dataSize == 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    ret = wait_for(known(request->set), request->timeoutms, &event);
    request->numEvent = ret == NVML_SUCCESS;
    if (ret == NVML_SUCCESS)
        request->data[0] = (nvmlSystemEventData_v1_t){event.type, event.gpu};
    return ret;
}
