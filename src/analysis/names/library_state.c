#include "analysis/names/library_state.h"

/* Functions of the C library below which all that stays is its own. */
static const char *const keepers[] = {
	"_IO_file_doallocate", // a stream's buffer: fclose() frees it, and stdout has none
	"__GI__IO_file_doallocate",
	"_IO_wfile_doallocate",
	"_dl_allocate_tls", // a thread's: with its stack, which is used again
	"setlocale",
	"tzset",
	"ctime",
	"ctime_r",
	"localtime",
	"localtime_r",
	"mktime",
	"strftime",
	"__add_to_environ",
	"setenv",
	"putenv",
	"atexit",
	"__cxa_atexit",
	"__cxa_thread_atexit_impl",
	"on_exit",
};

static bool keeps(const struct named_frame *frame)
{
	for (size_t i = 0; frame->plumbing && i < sizeof(keepers) / sizeof(keepers[0]); i++)
		if (strcmp(frame->function, keepers[i]) == 0)
			return true;
	return false;
}

struct err *library_state_has(struct symbolized *symbolized, uint32_t stack, bool *ret)
{
	uint32_t unused;
	const struct stack_node *nodes =
		recording_stacks(symbolized_recording(symbolized), &unused);

	for (uint32_t node = stack; node != RECORDING_NONE; node = nodes[node].parent) {
		const struct named_frame *lines;
		size_t count;
		struct err *err = symbolized_frame(symbolized, nodes[node].frame, &lines, &count);

		if (err)
			return err;
		for (size_t i = 0; i < count; i++) {
			bool own = !lines[i].plumbing; // or perhaps: it may have no name

			// The main that calls Rust's start is not the reader's.
			if (!own && !keeps(&lines[i]) && !named_frame_is_rust_start(&lines[i]))
				continue;
			*ret = !own;
			return NULL;
		}
	}
	*ret = stack != RECORDING_NONE;
	return NULL;
}
