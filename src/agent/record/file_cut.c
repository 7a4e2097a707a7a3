#include "agent/record/file_cut.h"

#include "agent/arch/syscall.h"
#include "agent/event/thread.h"
#include "agent/ground/libc.h"
#include "agent/ground/lock.h"
#include "agent/ground/own_place.h"
#include "agent/ground/signal_bracket.h"
#include "agent/record/process_stop.h"
#include "agent/record/recording.h"
#include "agent/record/slot.h"

#define WAITS_MAX 1000 /* 0.1 s: a file system may hang */

/* Moves a copy of a mapping of the file to where that lies. */
static void make_private(void *memory, size_t size)
{
	void *copy = own_place_map_memory(size);

	if (!copy)
		return;
	memcpy(copy, memory, size);
	sys_mremap(copy, size, memory);
}

/* Waits for threads that append or change mappings. They see that the recording has stopped. */
static void wait_for_others(const struct file *file)
{
	static const struct kernel_time nap = {.tv_nsec = 100000};

	for (int i = 0; i < WAITS_MAX && __atomic_load_n(&file->changing, __ATOMIC_SEQ_CST); i++)
		sys_nanosleep(&nap);
}

static void detach_mappings(void *argument)
{
	struct file *file = &recording->file;
	const uint64_t *length = argument;
	struct thread *threads = __atomic_load_n(&process->threads, __ATOMIC_ACQUIRE);
	struct thread *thread;
	bool first;

	process_stop(TRACE_LOSS_FILE_REPLACED, "the program cuts the file; later events are lost");
	if (!lock_wait(&file->cutting))
		return;
	first = !file->cut;
	for (thread = threads; thread && first; thread = thread->all_next)
		slot_settle(thread);
	// From now on nobody writes to the file, nor is a slot of it used again.
	__atomic_store_n(&file->cut, true, __ATOMIC_SEQ_CST);
	wait_for_others(file);
	for (thread = threads; thread && first && !file->header_private; thread = thread->all_next)
		if (thread->chunk)
			make_private(thread->chunk, thread->slot_size);
	if (*length < TRACE_PAGE && !file->header_private && !file->header_cut) {
		make_private(process->header, TRACE_PAGE);
		file->header_cut = true;
	}
	lock_release(&file->cutting);
}

void file_cut_prepare(int directory, const char *path, uint64_t length)
{
	struct kernel_stat status = {0};
	struct file *file;

	if (!process || process_system_calls_forbidden())
		return;
	file = &recording->file;
	if (file->fd <= 0 || file->in_memory ||
	    sys_fstatat(directory, path ? path : "", &status, path ? 0 : AT_EMPTY_PATH) ||
	    status.st_ino != file->inode || status.st_dev != file->device ||
	    length >= (uint64_t)status.st_size)
		return;
	signal_bracket_run(detach_mappings, &length);
}
