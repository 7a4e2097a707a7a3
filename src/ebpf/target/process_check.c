#include "ebpf/target/process_check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ebpf/arch/machine.h"
#include "hosted/cleanup.h"
#include "hosted/proc.h"

#define KERNEL_THREAD 0x00200000u /* PF_KTHREAD, in the flags of /proc/PID/stat */

/* A process that is looked at. */
struct suspect {
	pid_t pid;
	int proc;      /* /proc/PID */
	pid_t process; /* the PID, unless pid is that of a thread */
	char name[64]; /* of its main thread */
	char state;
	unsigned int flags;
	int threads;
	struct process_facts facts;
};

static struct err *process_ended(const struct suspect *suspect)
{
	return err_create_errno(ESRCH, "process %d has ended", (int)suspect->pid);
}

static struct err *no_permission(pid_t pid)
{
	if (!geteuid())
		return err_create("cannot look into process %d, even as root: that needs "
				  "CAP_SYS_PTRACE, all capabilities that it has itself, and a "
				  "security module that allows it",
				  (int)pid);
	return err_create("cannot look into process %d: that needs CAP_SYS_PTRACE; run mallow as "
			  "root",
			  (int)pid);
}

/* What an errno says of a file in /proc/PID. */
static struct err *failure(const struct suspect *suspect, int number, const char *file)
{
	if (number == ENOENT || number == ESRCH)
		return process_ended(suspect);
	if (number == EACCES || number == EPERM)
		return no_permission(suspect->pid);
	return err_create_errno(number, "/proc/%d/%s", (int)suspect->pid, file);
}

static struct err *open_proc(pid_t pid, int *ret)
{
	char path[32];

	if (pid <= 0)
		return err_create("no process has the PID %d", (int)pid);
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	*ret = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*ret >= 0)
		return NULL;
	if (errno != ENOENT)
		return err_create_errno(errno, "%s", path);
	if (access("/proc/self/stat", F_OK))
		return err_create("/proc is not mounted: mallow looks there for process %d",
				  (int)pid);
	// With the option hidepid, /proc does not show other users' processes.
	if (kill(pid, 0) && errno == EPERM)
		return no_permission(pid);
	return err_create("no process has the PID %d", (int)pid);
}

static struct err *read_file(const struct suspect *suspect, const char *name, char *text,
			     size_t capacity)
{
	auto_close int fd = openat(suspect->proc, name, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd >= 0 ? read(fd, text, capacity - 1) : -1;

	if (size < 0)
		return failure(suspect, errno, name);
	text[size] = '\0';
	return NULL;
}

static int64_t clock_now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Reads /proc/PID/stat: see proc(5). */
static struct err *read_stat(struct suspect *suspect)
{
	char text[4096];
	struct err *err = read_file(suspect, "stat", text, sizeof(text));
	const char *name = err ? NULL : strchr(text, '('), *end = err ? NULL : strrchr(text, ')');

	if (err)
		return err;
	if (!name || !end ||
	    sscanf(end,
		   ") %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d %*d "
		   "%" SCNu64,
		   &suspect->state, &suspect->facts.parent, &suspect->flags, &suspect->threads,
		   &suspect->facts.start_time) != 5)
		return err_create("/proc/%d/stat is not as proc(5) says", (int)suspect->pid);
	snprintf(suspect->name, sizeof(suspect->name), "%.*s", (int)(end - name - 1), name + 1);
	// Ticks since the machine was started.
	suspect->facts.started_ns =
		clock_now(CLOCK_REALTIME) - clock_now(CLOCK_BOOTTIME) +
		(int64_t)suspect->facts.start_time * (1000000000 / sysconf(_SC_CLK_TCK));
	return NULL;
}

/* The value of a line of /proc/PID/status, such as "\nTgid:"; NULL: there is no such line. */
static const char *status_value(const char *text, const char *line)
{
	const char *found = strstr(text, line);

	return found ? found + strlen(line) : NULL;
}

static struct err *read_status(struct suspect *suspect)
{
	char text[4096];
	struct err *err = read_file(suspect, "status", text, sizeof(text));
	const char *value;

	if (err)
		return err;
	value = status_value(text, "\nTgid:");
	suspect->process = value ? (pid_t)strtol(value, NULL, 10) : suspect->pid;
	value = status_value(text, "\nUid:");
	if (value)
		sscanf(value, "%*u %u", &suspect->facts.user);
	// One number for each PID namespace, from ours on to its own.
	value = status_value(text, "\nNSpid:");
	suspect->facts.own_pid = suspect->pid;
	for (char *end; value && *value != '\n' && *value; value = end) {
		long pid = strtol(value, &end, 10);

		if (end == value)
			break;
		suspect->facts.own_pid = (pid_t)pid;
	}
	return NULL;
}

static struct err *check_state(const struct suspect *suspect)
{
	int pid = (int)suspect->pid;

	if (suspect->process != suspect->pid)
		return err_create("%d is a thread (%s) of process %d: give %d, to trace all of its "
				  "threads",
				  pid, suspect->name, (int)suspect->process, (int)suspect->process);
	if (suspect->flags & KERNEL_THREAD)
		return err_create(
			"process %d (%s) is a thread of the kernel: it has no program whose "
			"allocations could be traced",
			pid, suspect->name);
	if (suspect->state == 'Z' && suspect->threads > 1)
		return err_create(
			"the main thread of process %d (%s) has ended: the kernel no longer "
			"shows what its other threads have mapped",
			pid, suspect->name);
	if (suspect->state == 'Z' || suspect->state == 'X')
		return err_create("process %d (%s) has ended: its parent has not taken its exit "
				  "status yet",
				  pid, suspect->name);
	return NULL;
}

/* What the program is made for, if not for this machine; NULL: for that. */
static const char *foreign_kind(const unsigned char header[20])
{
	unsigned int machine = header[18] | (unsigned int)header[19] << 8;

	if (memcmp(header, ELFMAG, SELFMAG) != 0)
		return "no ELF program";
	if (machine == MACHINE_32)
		return "a 32-bit program (" MACHINE_NAME_32 ")";
	if (machine == ARCH_ELF_MACHINE && header[EI_CLASS] == ELFCLASS32)
		return "a program with 32-bit pointers (" MACHINE_NARROW ")";
	if (machine != ARCH_ELF_MACHINE)
		return "a program for another processor";
	return NULL;
}

static struct err *check_program(const struct suspect *suspect, const char *program)
{
	unsigned char header[20];
	auto_close int fd = openat(suspect->proc, "exe", O_RDONLY | O_CLOEXEC);

	if (fd < 0 && errno == EACCES)
		return err_create("cannot read %s, the program of process %d: that needs "
				  "CAP_DAC_READ_SEARCH; run mallow as root",
				  program, (int)suspect->pid);
	if (fd < 0)
		return failure(suspect, errno, "exe");

	const char *kind = pread(fd, header, sizeof(header), 0) == sizeof(header)
				   ? foreign_kind(header)
				   : "no ELF program";

	if (!kind)
		return NULL;
	return err_create("process %d runs %s, which is %s: only " MACHINE_NAME
			  " programs can be traced",
			  (int)suspect->pid, program, kind);
}

struct err *process_check(pid_t pid, int *ret_proc, char **ret_program,
			  struct process_facts *ret_facts)
{
	auto_close int proc = -1;
	char program[PATH_MAX];
	struct suspect suspect = {.pid = pid};
	struct err *err = open_proc(pid, &proc);

	if (err)
		return err;
	suspect.proc = proc;
	err = read_stat(&suspect);
	if (!err)
		err = read_status(&suspect);
	if (!err)
		err = check_state(&suspect);
	if (err)
		return err;

	ssize_t length = readlinkat(proc, "exe", program, sizeof(program) - 1);

	if (length < 0)
		return failure(&suspect, errno, "exe");
	program[length] = '\0';
	proc_path_is_deleted(program);
	err = check_program(&suspect, program);
	if (err)
		return err;
	*ret_program = strdup(program);
	if (!*ret_program)
		return err_no_memory();
	*ret_facts = suspect.facts;
	*ret_proc = proc;
	proc = -1;
	return NULL;
}
