#include "agent/life/process.h"

#include <elf.h>

#include "agent/arch/kept_call.h"
#include "agent/arch/syscall.h"
#include "agent/cull/cull.h"
#include "agent/ground/clock.h"
#include "agent/ground/file_name.h"
#include "agent/ground/libc.h"
#include "agent/ground/lock.h"
#include "agent/ground/log.h"
#include "agent/ground/next_functions.h"
#include "agent/ground/own_code.h"
#include "agent/ground/own_pages.h"
#include "agent/ground/signal_bracket.h"
#include "agent/ground/text.h"
#include "agent/ground/zero_memory.h"
#include "agent/helper/helper.h"
#include "agent/helper/registry.h"
#include "agent/life/environment.h"
#include "agent/life/process_facts.h"
#include "agent/life/thread.h"
#include "agent/life/thread_ended.h"
#include "agent/live/live.h"
#include "agent/patch/patch.h"
#include "agent/record/process_stop.h"
#include "agent/record/record_sink.h"
#include "agent/record/recording.h"
#include "agent/record/slot.h"
#include "agent/script/frame_ids.h"

extern unsigned long getauxval(unsigned long type) __attribute__((weak));

/* The memory that is wiped at fork: one struct of each room. */
struct image {
	struct process process;
	struct admitted admitted;
	struct recording recording;
	struct ended_threads ended;
	struct frame_ids script_ids;
};

// The settings are read and the tables of the unwinder made. Kept across fork.
static bool started_before;

// MADV_WIPEONFORK worked. Kernels before 4.14 do not know it, nor do some imitations of Linux.
static bool wiped_at_fork;

static bool make_process(void)
{
	static struct image *image; // of the first thread that gets here
	struct image *fresh, *made = NULL;

	if (process)
		return true;
	fresh = own_pages_allocate(sizeof(*fresh));
	if (!fresh)
		return false;
	// A child finds zeros in its copy of this memory. A vfork child shares it.
	wiped_at_fork = sys_madvise(fresh, sizeof(*fresh), MADV_WIPEONFORK) == 0;
	if (__atomic_compare_exchange_n(&image, &made, fresh, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		made = fresh;
	// A second thread stores the same pointers.
	__atomic_store_n(&admitted, &made->admitted, __ATOMIC_RELAXED);
	__atomic_store_n(&recording, &made->recording, __ATOMIC_RELAXED);
	__atomic_store_n(&ended_threads, &made->ended, __ATOMIC_RELAXED);
	__atomic_store_n(&script_ids, &made->script_ids, __ATOMIC_RELAXED);
	__atomic_store_n(&process, &made->process, __ATOMIC_RELEASE);
	return true;
}

static void warn_unknown_placeholder(enum setting setting)
{
	char text[] = "%x";

	text[1] = output_name_unknown(config.text[setting]);
	if (!text[1] || config_is_child())
		return;
	log_start(SETTING_LOG_ERROR);
	log_string(setting_info(setting)->variable);
	log_string(": ");
	log_string(text);
	log_string(" is no placeholder and stays as it is");
	log_end();
}

static void choose_sink(void)
{
	sink = config_is_live()             ? &live_sink
	       : config.value[SETTING_CULL] ? &cull_sink
					    : &record_sink;
}

bool process_read_settings(void)
{
	static enum { UNREAD, READING, READ } state;
	int none = UNREAD;

	if (__atomic_load_n((int *)&state, __ATOMIC_ACQUIRE) == READ)
		return true;
	if (!__atomic_compare_exchange_n((int *)&state, &none, READING, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	log_init();
	program_path_find();
	if (!config_read()) {
		__atomic_store_n((int *)&state, UNREAD, __ATOMIC_RELEASE);
		return false;
	}
	choose_sink();
	process_stop_flush = slot_flush_all;
	patch_begin(); // before other functions stand in front of the real ones
	zero_memory_begin();
	warn_unknown_placeholder(SETTING_OUTPUT);
	warn_unknown_placeholder(SETTING_LOGFILE);
	environment_init();
	registry_init();
	if (!config.value[SETTING_FOLLOW])
		config_hide_preload();
	__atomic_store_n((int *)&state, READ, __ATOMIC_RELEASE);
	return true;
}

/* The warning if link_map_redirect() failed. */
static void say_not_redirected(void)
{
	if (real.not_redirected && !config_is_child())
		log_line(SETTING_LOG_ERROR,
			 "calls of libraries that are opened with RTLD_DEEPBIND, and by "
			 "way of dlsym(), are not recorded: the loader's tables cannot "
			 "be changed");
}

/* Makes every thread empty its caches before its next capture. */
static void empty_caches(void)
{
	__atomic_add_fetch(&process->epoch, 1, __ATOMIC_RELEASE);
}

static int find_object(void *address, void *result)
{
	return (int)kept_call((void *)real.dl_find_object, address, result);
}

/* Done once after an exec, and kept by forked children. false: too early. */
static bool start_first(void)
{
	const struct unwind_host host = {
		.allocate = own_pages_allocate,
		.dl_find_object = real.dl_find_object ? find_object : NULL,
		.run = signal_bracket_run_quiet,
		.hooks_start = (uintptr_t)OWN_CODE_START,
		.hooks_end = (uintptr_t)OWN_CODE_END,
		.original = patch_original,
		.forgot = empty_caches,
		// The name of the executable, which the kernel puts at the very end of the main
		// stack.
		.main_stack = getauxval ? getauxval(AT_EXECFN) : 0,
	};

	if (!process_read_settings())
		return false;
	clock_init();
	barrier_prepare();
	unwind_init(&host);
	say_not_redirected();
	started_before = true;
	return true;
}

/*
 * The recording is open. Whoever needs its descriptor gets it: `mallow live`; `mallow run`, which
 * otherwise learns the file's name; or the process of the tool that sends the recording, if neither
 * of them does.
 */
static void hand_over(void)
{
	long result =
		registry_tell(recording->file.fd, REGISTRY_OPENED, recording->file.path, false);
	bool told = config.value[SETTING_STREAM_ONLY] ? result == 0 : config.registry != NULL;

	recording->untold = told && registry_is_full(result);
	if (config_streams() && !told)
		stream_helper_start();
}

void process_tell_again(bool last)
{
	long result;

	if (likely(!__atomic_load_n(&recording->untold, __ATOMIC_RELAXED)) ||
	    process_system_calls_forbidden() || !file_keep_descriptor(&recording->file) ||
	    !__atomic_exchange_n(&recording->untold, 0, __ATOMIC_RELAXED))
		return;
	result = registry_tell(recording->file.fd, REGISTRY_OPENED, recording->file.path, false);
	if (!registry_is_full(result))
		return;
	__atomic_store_n(&recording->untold, 1, __ATOMIC_RELAXED);
	if (!last)
		return;
	log_start(SETTING_LOG_ERROR);
	log_string("recording '");
	log_string(recording->file.path);
	log_string("' is missing in mallow's list of the run: the socket for it was full");
	log_end();
}

/* Tells `mallow run` that this program is not recorded, and why. */
static __attribute__((noinline)) void tell_refused(const char *path)
{
	char said[2 * FILE_NAME_MAX - 128]; // longer names are cut
	struct text text;

	text_init(&text, said, sizeof(said));
	text_string(&text, "it could not create '");
	text_string(&text, path);
	text_string(&text, "'\n");
	text_string(&text, program_path);
	registry_tell(-1, REGISTRY_REFUSED, said, false);
}

static enum process_state start_recording(bool forked)
{
	static const uint8_t none[16];
	uint8_t parent[16];

	if (forked && !config.value[SETTING_FOLLOW])
		return PROCESS_OFF;
	if (!wiped_at_fork) {
		// A forked child would write where nothing is mapped.
		log_line(SETTING_LOG_ERROR, "the kernel cannot wipe memory at fork "
					    "(MADV_WIPEONFORK); the program runs unrecorded");
		return PROCESS_OFF;
	}
	if (forked)
		unwind_forget_ids();
	process->pid = sys_getpid();
	memcpy(parent, forked ? process_id : config.parent_id, 16);
	recording_file_make_id(process_id);
	// A recording with a parent is of a later image of the run, and gets another name.
	if (!recording_file_create(&recording->file, memcmp(parent, none, 16) != 0)) {
		memcpy(process_id, forked ? parent : none, 16); // as before, for another try
		tell_refused(recording->file.path);
		return PROCESS_OFF;
	}
	recording_file_open(forked, parent);
	hand_over();
	recording_file_say();
	return PROCESS_RECORDING;
}

/* Said once, although each event tries again. */
static void say_no_memory(void)
{
	static uint32_t said;

	if (__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
		return;
	process_read_settings(); // LOG and LOGFILE say where to
	log_line(SETTING_LOG_ERROR, "no memory to record with; the program runs unrecorded until "
				    "there is");
}

/* In a forked child: Syscall User Dispatch is not inherited. */
static void allow_system_calls(void)
{
	process_dispatched = false;
	__atomic_store_n(&process_forbidden, false, __ATOMIC_RELEASE);
	clock_thaw();
	unwind_forbid_system_calls(false);
}

static bool settings_mean_stops(void)
{
	return config.value[SETTING_DISABLE_BY_DEFAULT] || config.value[SETTING_SIGNAL_TOGGLE];
}

bool process_settle_toggle_slow(void)
{
	uint32_t state = TOGGLE_UNSETTLED, first;

	if (__atomic_load_n(&toggle_state, __ATOMIC_ACQUIRE) != TOGGLE_UNSETTLED ||
	    !process_read_settings())
		return false;
	if (config.waits)
		__atomic_store_n(&toggle_idle, 1, __ATOMIC_RELAXED);
	else if (settings_mean_stops())
		__atomic_store_n(&toggle_watched, 1, __ATOMIC_SEQ_CST);
	first = config.value[SETTING_DISABLE_BY_DEFAULT] ? TOGGLE_OFF : TOGGLE_ON;
	__atomic_store_n(&toggle_wanted, first, __ATOMIC_RELEASE);
	__atomic_compare_exchange_n(&toggle_state, &state, first, false, __ATOMIC_RELEASE,
				    __ATOMIC_RELAXED);
	return !toggle_is_off();
}

bool process_prepare(void)
{
	if (process_state() == PROCESS_NEW && process_dispatched)
		allow_system_calls();
	// A child inherits the seccomp filter, but not the window to record in.
	if (process_state() == PROCESS_NEW && (process_system_calls_forbidden() ||
					       (toggle_is_off() && !process_settle_toggle_slow())))
		return false;
	if (process)
		return true;
	if (!make_process()) {
		say_no_memory();
		return false;
	}
	own_stack_prepare();
	return true;
}

bool process_start(void)
{
	uint32_t state = PROCESS_NEW;

	if (!__atomic_compare_exchange_n(&process->state, &state, PROCESS_STARTING, false,
					 __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
		return state == PROCESS_RECORDING;
	if (!started_before && !start_first())
		state = PROCESS_NEW; // before the C library is ready: the next event tries again
	else
		state = start_recording(process_id[0] || process_id[1] || process_id[2] ||
					process_id[3]);
	__atomic_store_n(&process->state, state, __ATOMIC_RELEASE);
	return state == PROCESS_RECORDING;
}

void process_try_again(void)
{
	uint32_t state = PROCESS_OFF;

	if (process)
		__atomic_compare_exchange_n(&process->state, &state, PROCESS_NEW, false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

void process_forget_parent(void)
{
	struct image *image = (struct image *)process;
	uint32_t own_stacks = process->own_stacks; // this runs on one of them

	if (process_state() != PROCESS_NEW)
		return;
	memset(image, 0, sizeof(*image)); // the interrupted write may have changed it
	process->own_stacks = own_stacks;
}
