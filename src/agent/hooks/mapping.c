/* mmap and its family, as the program calls them. The C library's own calls do not come here: no
 * preloaded library sees them. The unwinder is told which memory may be gone. */
#include <stdarg.h>
#include <sys/mman.h>

#include "agent/arch/syscall.h"
#include "agent/ground/clock.h"
#include "agent/hooks/guard.h"
#include "agent/hooks/hooks.h"
#include "agent/record/fact_here.h"
#include "agent/unwind/unwind.h"

static struct fact_record mapping_record(enum trace_record kind)
{
	return (struct fact_record){.kind = kind, .has_time = true, .ticks = clock_ticks()};
}

static void write_out(struct thread *thread, struct guard_call *call,
		      const struct fact_record *record)
{
	if (thread) {
		thread_begin_record(thread);
		fact_here_write(thread, record, &call->state);
		thread_end_record(thread);
	} else if (call->pending_in) {
		process_count_loss(TRACE_LOSS_REENTERED); // only allocations and frees can wait
	}
	guard_leave(thread, call);
}

typedef void *map_function(void *, size_t, int, int, int, int64_t);

static void *map_as(struct guard_call *call, map_function *behind, void *address, size_t length,
		    int protection, int flags, int fd, int64_t offset)
{
	struct thread *thread = guard_enter(call);
	size_t replaced = flags & MAP_FIXED ? length : 0;
	struct fact_record record;
	void *result;

	clock_memory_leaves((uintptr_t)address, replaced);
	unwind_memory_changes((uintptr_t)address, replaced);
	result = behind(address, length, protection, flags, fd, offset);
	unwind_memory_changed((uintptr_t)address, replaced);
	record = mapping_record(TRACE_RECORD_MMAP);
	fact_record_add(&record, (uintptr_t)address);
	fact_record_add(&record, (uintptr_t)result);
	fact_record_add(&record, length);
	fact_record_add(&record, (uint64_t)(uint32_t)protection);
	fact_record_add(&record, arch_mapping_flags((uint32_t)flags));
	fact_record_add_signed(&record, fd);
	fact_record_add(&record, (uint64_t)offset);
	if (result != MAP_FAILED)
		write_out(thread, call, &record);
	else
		guard_leave(thread, call);
	return result;
}

void *hook_mmap(void *address, size_t length, int protection, int flags, int fd,
		OFFSET_PARAMETER(offset))
{
	GUARD_CALL(call);

	hooks_resolve();
	return map_as(&call, NEXT_WIDE(mmap), address, length, protection, flags, fd,
		      OFFSET_GIVEN(offset));
}

void *hook_mmap64(void *address, size_t length, int protection, int flags, int fd, int64_t offset)
{
	GUARD_CALL(call);

	hooks_resolve();
	return map_as(&call, real.mmap64 ?: NEXT_WIDE(mmap), address, length, protection, flags, fd,
		      offset);
}

int hook_munmap(void *address, size_t length)
{
	GUARD_CALL(call);
	struct fact_record record = mapping_record(TRACE_RECORD_MUNMAP);
	struct thread *thread;
	int result;

	hooks_resolve();
	thread = guard_enter(&call);
	clock_memory_leaves((uintptr_t)address, length);
	unwind_memory_changes((uintptr_t)address, length);
	result = real.munmap(address, length);
	unwind_memory_changed((uintptr_t)address, length);
	fact_record_add(&record, (uintptr_t)address);
	fact_record_add(&record, length);
	if (result == 0)
		write_out(thread, &call, &record);
	else
		guard_leave(thread, &call);
	return result;
}

void *hook_mremap(void *address, size_t old_length, size_t length, int flags, ...)
{
	GUARD_CALL(call);
	struct fact_record record;
	struct thread *thread;
	size_t replaced = flags & MREMAP_FIXED ? length : 0;
	va_list arguments;
	void *target;
	void *result;

	// The target may be given with other flags than MREMAP_FIXED, too, as a hint.
	va_start(arguments, flags);
	target = va_arg(arguments, void *);
	va_end(arguments);
	hooks_resolve();
	thread = guard_enter(&call);
	record = mapping_record(TRACE_RECORD_MREMAP);
	clock_memory_leaves((uintptr_t)address, old_length);
	clock_memory_leaves((uintptr_t)target, replaced);
	unwind_memory_changes((uintptr_t)address, old_length);
	unwind_memory_changes((uintptr_t)target, replaced);
	result = real.mremap(address, old_length, length, flags, target);
	unwind_memory_changed((uintptr_t)address, old_length);
	unwind_memory_changed((uintptr_t)target, replaced);
	fact_record_add(&record, (uintptr_t)address);
	fact_record_add(&record, old_length);
	fact_record_add(&record, (uintptr_t)result);
	fact_record_add(&record, length);
	fact_record_add(&record, (uint64_t)(uint32_t)flags);
	if (result != MAP_FAILED)
		write_out(thread, &call, &record);
	else
		guard_leave(thread, &call);
	return result;
}

int hook_mprotect(void *address, size_t length, int protection)
{
	size_t taken = protection & PROT_READ ? 0 : length;
	long result;

	hooks_resolve();
	unwind_memory_changes((uintptr_t)address, taken);
	if (real.mprotect)
		result = real.mprotect(address, length, protection);
	else
		result = next_functions_return(
			syscall6(SYS_mprotect, (long)address, (long)length, protection, 0, 0, 0));
	unwind_memory_changed((uintptr_t)address, taken);
	return (int)result;
}

/* With a key, memory may become unreadable at any time, by an instruction. */
int hook_pkey_mprotect(void *address, size_t length, int protection, int key)
{
	long result;

	hooks_resolve();
	unwind_memory_changes((uintptr_t)address, length);
	if (real.pkey_mprotect)
		result = real.pkey_mprotect(address, length, protection, key);
	else
		result = next_functions_return(syscall6(SYS_pkey_mprotect, (long)address,
							(long)length, protection, key, 0, 0));
	unwind_memory_changed((uintptr_t)address, length);
	return (int)result;
}

static void write_break(struct thread *thread, struct guard_call *call, long increment,
			uint64_t new_break)
{
	struct fact_record record = mapping_record(TRACE_RECORD_BRK);

	fact_record_add_signed(&record, increment);
	fact_record_add(&record, new_break);
	write_out(thread, call, &record);
}

int hook_brk(void *address)
{
	GUARD_CALL(call);
	struct thread *thread;
	void *before;
	int result;

	hooks_resolve();
	thread = guard_enter(&call);
	before = real.sbrk ? real.sbrk(0) : address; // the C library's malloc moves it, too
	result = real.brk(address);
	if (result == 0)
		write_break(thread, &call, (char *)address - (char *)before, (uintptr_t)address);
	else
		guard_leave(thread, &call);
	return result;
}

void *hook_sbrk(long increment)
{
	GUARD_CALL(call);
	struct thread *thread;
	void *result;

	hooks_resolve();
	thread = guard_enter(&call);
	result = real.sbrk(increment);
	// sbrk(0) only asks.
	if (result != (void *)-1 && increment)
		write_break(thread, &call, increment, (uintptr_t)result + (uint64_t)increment);
	else
		guard_leave(thread, &call);
	return result;
}
