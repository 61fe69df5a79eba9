/* The library itself: start, end, versions, error text. While started it holds FAKE_NVML_DEVICE open, as a driver's files are held:
 * who still holds the GPUs can be seen in /proc.
 */
#include "fake.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static unsigned int starts;
static int device_file = -1;

bool system_is_started(void)
{
    return starts > 0;
}

static nvmlReturn_t start(nvmlReturn_t ret)
{
    const char *path = getenv("FAKE_NVML_DEVICE");

    if (ret == NVML_SUCCESS)
        ret = (nvmlReturn_t)scenario_number("init.ret", NVML_SUCCESS);
    if (ret != NVML_SUCCESS)
        return ret;
    pthread_mutex_lock(&starting);
    if (starts++ == 0 && path != NULL)
        device_file = open(path, O_RDONLY | O_CLOEXEC);
    pthread_mutex_unlock(&starting);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlInit_v2(void)
{
    return start(enter_unstarted(__func__));
}

nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
    (void)flags;
    return start(enter_unstarted(__func__));
}

nvmlReturn_t nvmlShutdown(void)
{
    nvmlReturn_t ret = enter_system(__func__);

    if (ret != NVML_SUCCESS)
        return ret;
    pthread_mutex_lock(&starting);
    if (--starts == 0 && device_file >= 0) {
        close(device_file);
        device_file = -1;
    }
    pthread_mutex_unlock(&starting);
    return NVML_SUCCESS;
}

const char *nvmlErrorString(nvmlReturn_t result)
{
    static _Thread_local char text[48];

    snprintf(text, sizeof text, "fake NVML code %d", (int)result);
    return text;
}

static nvmlReturn_t copy_text(nvmlReturn_t ret, const char *key, char *out, unsigned int length)
{
    char text[TEXT_SIZE];

    if (ret != NVML_SUCCESS)
        return ret;
    if (out == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!scenario_text(key, text, sizeof text))
        return NVML_ERROR_NOT_SUPPORTED;
    if (strlen(text) >= length)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    memcpy(out, text, strlen(text) + 1);
    return NVML_SUCCESS;
}

static nvmlReturn_t copy_number(nvmlReturn_t ret, const char *key, unsigned int *out)
{
    struct amount amount;

    if (ret != NVML_SUCCESS)
        return ret;
    if (out == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!scenario_amount(key, &amount))
        return NVML_ERROR_NOT_SUPPORTED;
    if (amount.ret == NVML_SUCCESS)
        *out = (unsigned int)amount_now(&amount);
    return amount.ret;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
    return copy_text(enter_system(__func__), "driver", version, length);
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
    return copy_text(enter_unstarted(__func__), "nvml", version, length);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version)
{
    return copy_number(enter_unstarted(__func__), "cuda", (unsigned int *)version);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    return copy_number(enter_unstarted(__func__), "cuda", (unsigned int *)version);
}

/* Root only on real Hopper machines: "bw_mode = ret 4". */
nvmlReturn_t nvmlSystemGetNvlinkBwMode(unsigned int *mode)
{
    return copy_number(enter_system(__func__), "bw_mode", mode);
}
