#include "agent/ground/clock.h"

#include <sys/prctl.h>

#include "agent/arch/machine.h"
#include "agent/arch/syscall.h"
#include "agent/ground/libc.h"
#include "agent/ground/link_map.h"

bool clock_use_tsc;
int (*clock_of_kernel)(clockid_t clock, struct kernel_time *ret);

// Where the vDSO lies. Its data is in the pages before it, of which no kernel has more.
#define KERNEL_DATA (6 * arch_page())
static uint64_t kernel_start, kernel_end;

// 0: not frozen.
static uint64_t frozen_at;
static bool frozen_tsc;

/* A kernel that distrusts the counter uses one of these clocks. */
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
	struct kernel_time now;
	int mode = 0;
	void *found;

	clock_use_tsc =
		arch_counter_is_steady() &&
		!(sys_prctl(PR_GET_TSC, (unsigned long)&mode) == 0 && mode == PR_TSC_SIGSEGV) &&
		!kernel_distrusts_tsc();
	// Not the C library's function, which the program may have replaced.
	found = link_map_find_kernels(ARCH_KERNELS_CLOCK, &kernel_start, &kernel_end);
	*(void **)&clock_of_kernel = found;
	if (found && clock_of_kernel(CLOCK_MONOTONIC_COARSE, &now))
		clock_of_kernel = NULL;
}

static uint64_t read_clock(int clock)
{
	struct kernel_time now = {0};

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

/* Never the same twice: so it always seems that time has passed. */
static int clock_without_kernel(clockid_t clock, struct kernel_time *ret)
{
	uint64_t ticks = clock_ticks();

	*ret = (struct kernel_time){.tv_sec = (time_t)(ticks >> 32), .tv_nsec = (uint32_t)ticks};
	return -1;
}

void clock_memory_leaves(uint64_t start, uint64_t length)
{
	if (clock_of_kernel && start < kernel_end && start + length > kernel_start - KERNEL_DATA)
		__atomic_store_n(&clock_of_kernel, clock_without_kernel, __ATOMIC_RELEASE);
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
