/* Preloaded: a process's wall clock is off by the seconds in the file $FALSE_CLOCKS/PID. Monotonic clocks are not. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static double off(void) {
    const char *folder = getenv("FALSE_CLOCKS");
    char path[512], text[64] = "";
    if (!folder) return 0.0;
    snprintf(path, sizeof path, "%s/%d", folder, (int)getpid());
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0.0;
    ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    return size > 0 ? atof(text) : 0.0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int answer = (int)syscall(SYS_clock_gettime, clock, now);
    if (answer == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += (time_t)off();
    return answer;
}

int gettimeofday(struct timeval *now, void *zone) {
    int answer = (int)syscall(SYS_gettimeofday, now, zone);
    if (answer == 0) now->tv_sec += (time_t)off();
    return answer;
}

time_t time(time_t *place) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (place) *place = now.tv_sec;
    return now.tv_sec;
}
