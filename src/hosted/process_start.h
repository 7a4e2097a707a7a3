/* When a process started: with its PID, this tells it from a later one with the same PID. */
#ifndef MALLOW_HOSTED_PROCESS_START_H
#define MALLOW_HOSTED_PROCESS_START_H

#include <stdint.h>

/*
 * Field 22 of /proc/PID/stat: ticks since the machine was started. 0: there is no such process, or
 * it has ended, and its parent has not taken its exit status yet.
 */
uint64_t process_start_time(uint32_t pid);

#endif
