#include "agent/helper/stream_helper.h"

#include <errno.h>
#include <stdint.h>
#include <sys/wait.h>

#include "agent/arch/syscall.h"
#include "agent/ground/config.h"
#include "agent/ground/log.h"
#include "agent/ground/text.h"
#include "agent/helper/tool.h"
#include "agent/record/recording.h"

#define STACK_SIZE 8192
#define LAST_FD    2

/* Static, because stacks are small, and one thread at a time begins a recording. */
static struct {
	struct tool tool;
	long result; /* of vfork */
	char descriptor[16];
	const char *arguments[5];
	char stack[STACK_SIZE] __attribute__((aligned(16)));
} starting;

/* The keeper. All signals are blocked. */
static void run_keeper(void *argument)
{
	starting.result = tool_vfork(&starting.tool);
	for (;;)
		syscall_raw(SYS_exit, 0, 0, 0, 0, 0, 0);
}

static void fill_keeper(void)
{
	struct text text;

	text_init(&text, starting.descriptor, sizeof(starting.descriptor));
	text_number(&text, (uint64_t)recording->file.fd);
	starting.arguments[0] = tool_path();
	starting.arguments[1] = "stream-recording";
	starting.arguments[2] = "--fd";
	starting.arguments[3] = starting.descriptor;
	starting.tool = (struct tool){
		.arguments = starting.arguments,
		.fd = recording->file.fd,
		.output = -1,
		.stderr_is_own = log_stderr_is_own(),
		.alone = true,
	};
	starting.result = -ECHILD;
}

/* Returns 0 or the error number. */
static int start_keeper(void)
{
	long keeper;

	fill_keeper();
	// The standard descriptors are replaced. The recording's is high, unless so few are
	// allowed.
	if (starting.tool.fd <= LAST_FD)
		return EMFILE;
	keeper = tool_start_keeper(&starting.tool, starting.stack + STACK_SIZE, run_keeper, NULL);
	if (keeper < 0)
		return (int)-keeper;
	while (sys_wait4((int)keeper, __WALL) == -EINTR)
		;
	return starting.result < 0 ? (int)-starting.result : starting.tool.error;
}

void stream_helper_start(void)
{
	int error = start_keeper();

	if (!error)
		return;
	log_start(SETTING_LOG_ERROR);
	log_string("the recording is not sent: '");
	log_string(tool_path());
	log_string("' cannot be executed");
	log_error_number(error);
	log_string("; MALLOW_HELPER names the tool");
	log_end();
}
