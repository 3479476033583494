/* Makes each flush of a process GUARD_BENCH_FLUSH_US microseconds longer, as on a slower disk. For tests/bench/stores.py --delays. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static void longer(void) {
    const char *given = getenv("GUARD_BENCH_FLUSH_US");
    if (given && atoi(given) > 0) usleep(atoi(given));
}

int fdatasync(int handle) {
    int (*real)(int) = dlsym(RTLD_NEXT, "fdatasync");
    longer();
    return real(handle);
}

int fsync(int handle) {
    int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
    longer();
    return real(handle);
}
