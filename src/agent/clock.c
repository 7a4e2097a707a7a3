#include "agent/clock.h"

#include <cpuid.h>
#include <sys/prctl.h>

#include "agent/libc.h"
#include "agent/link_map.h"
#include "agent/syscall.h"

bool clock_use_tsc;
int (*clock_of_kernel)(clockid_t clock, struct timespec *ret);

// 0: not frozen.
static uint64_t frozen_at;
static bool frozen_tsc;

/* Kernels that distrust the counter themselves fall back to one of these. */
static bool kernel_distrusts_tsc(void)
{
	char name[16] = "";
	int fd = sys_open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
			  O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return false;
	sys_read(fd, name, sizeof(name) - 1);
	sys_close(fd);
	return !strncmp(name, "hpet", 4) || !strncmp(name, "acpi_pm", 7) ||
	       !strncmp(name, "jiffies", 7);
}

void clock_init(void)
{
	unsigned int a, b, c, d;
	int mode = 0;

	// Bit 8 of leaf 0x80000007: the counter runs at one rate in all power states.
	clock_use_tsc =
		__get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8) &&
		!(sys_prctl(PR_GET_TSC, (unsigned long)&mode) == 0 && mode == PR_TSC_SIGSEGV) &&
		!kernel_distrusts_tsc();
	// Not the C library's, which the program may have replaced.
	clock_of_kernel = link_map_find_in("linux-vdso.so", "__vdso_clock_gettime");
}

static uint64_t read_clock(int clock)
{
	struct timespec now = {0};

	sys_clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t clock_realtime_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

uint64_t clock_ticks_slow(void)
{
	uint64_t frozen = __atomic_load_n(&frozen_at, __ATOMIC_ACQUIRE);

	return frozen ? frozen : clock_monotonic_ns();
}

void clock_freeze(void)
{
	if (frozen_at)
		return;
	frozen_tsc = clock_use_tsc;
	__atomic_store_n(&frozen_at, clock_ticks(), __ATOMIC_RELEASE);
	__atomic_store_n(&clock_use_tsc, false, __ATOMIC_RELEASE);
}

void clock_thaw(void)
{
	if (!frozen_at)
		return;
	__atomic_store_n(&clock_use_tsc, frozen_tsc, __ATOMIC_RELEASE);
	__atomic_store_n(&frozen_at, 0, __ATOMIC_RELEASE);
}
