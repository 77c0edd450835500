/* Loaded into a server under test (LD_PRELOAD): moves its wall clock, and fills its disk.
 *
 * MACHINE names a file of two numbers: the seconds by which the wall clock is ahead, and 1 while the disk is full.
 * MACHINE_DISK is the folder, with a slash at its end, in whose files nothing can be written
 * then, as on file systems that copy what is written over. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *machine;
static const char *disk;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("MACHINE");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *numbers = file < 0 ? MAP_FAILED : mmap(NULL, 16, PROT_READ, MAP_SHARED, file, 0);
    disk = getenv("MACHINE_DISK");
    if (numbers != MAP_FAILED && disk)
        machine = numbers;
}

int clock_gettime(clockid_t clock, struct timespec *at)
{
    int done = (int)syscall(SYS_clock_gettime, clock, at);
    if (done == 0 && machine && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        at->tv_sec += machine[0];
    return done;
}

int gettimeofday(struct timeval *at, void *zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at)
        *at = now.tv_sec;
    return now.tv_sec;
}

static int is_on_disk(int file)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    return length >= (ssize_t)strlen(disk) && strncmp(path, disk, strlen(disk)) == 0;
}

static int is_full(int file)
{
    if (!machine || !machine[1] || !is_on_disk(file))
        return 0;
    errno = ENOSPC;
    return 1;
}

ssize_t write(int file, const void *from, size_t count)
{
    return is_full(file) ? -1 : syscall(SYS_write, file, from, count);
}

ssize_t pwrite(int file, const void *from, size_t count, off_t at)
{
    return is_full(file) ? -1 : syscall(SYS_pwrite64, file, from, count, at);
}

ssize_t pwrite64(int file, const void *from, size_t count, off_t at)
{
    return pwrite(file, from, count, at);
}
