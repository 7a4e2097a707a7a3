/* See bpf_support.h. */
#include "ebpf/bpf_support.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/compiler.h"
#include "hosted/cleanup.h"

#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

/* The effective capabilities of this process, a bit each. */
static uint64_t capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};

	if (syscall(SYS_capget, &header, data) < 0)
		return 0;
	return data[0].effective | (uint64_t)data[1].effective << 32;
}

static const char *own_path(char *path, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", path, size - 1);

	path[length > 0 ? length : 0] = 0;
	return length > 0 ? path : "mallow";
}

/* What a capability is needed for: to trace processes, or the kernel's memory. */
#define PROCESSES 1u
#define KERNEL    2u

static const struct {
	int number;
	int instead; /* a capability that has this one in it; 0: none */
	unsigned int use;
	const char *name, *what;
} needed[] = {
	{CAP_BPF, CAP_SYS_ADMIN, PROCESSES | KERNEL, "CAP_BPF", "to load BPF programs"},
	{CAP_PERFMON, CAP_SYS_ADMIN, PROCESSES | KERNEL, "CAP_PERFMON", "to set probes"},
	{CAP_SYS_PTRACE, 0, PROCESSES, "CAP_SYS_PTRACE", "to look at another process"},
	{CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN, PROCESSES, "CAP_CHECKPOINT_RESTORE",
	 "to open the files that a process has mapped"},
	{CAP_SYSLOG, 0, KERNEL, "CAP_SYSLOG", "to see the kernel's addresses"},
};
#define NEEDED (ARRAY_COUNT(needed))

/* All that a use needs, as setcap wants it: "cap_bpf,cap_perfmon". */
static const char *setcap_list(unsigned int use, char *list, size_t size)
{
	size_t length = 0;

	list[0] = 0;
	for (size_t i = 0; i < NEEDED; i++)
		if (needed[i].use & use && length < size)
			length += (size_t)snprintf(list + length, size - length, "%s%s",
						   length ? "," : "", needed[i].name);
	for (char *c = list; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return list;
}

static struct err *check_capabilities(unsigned int use)
{
	char path[PATH_MAX], list[128];
	uint64_t have = capabilities();

	for (size_t i = 0; i < NEEDED; i++) {
		if (!(needed[i].use & use) || have >> needed[i].number & 1 ||
		    (needed[i].instead && have >> needed[i].instead & 1))
			continue;
		return err_create("the capability %s is missing (%s): run mallow as root, or give "
				  "it by 'setcap %s+ep %s'",
				  needed[i].name, needed[i].what,
				  setcap_list(use, list, sizeof(list)),
				  own_path(path, sizeof(path)));
	}
	return NULL;
}

/* The mode in use stands in brackets: "none integrity [confidentiality]". */
static bool is_locked_down(void)
{
	auto_fclose FILE *file = fopen("/sys/kernel/security/lockdown", "re");
	char text[128] = "";

	return file && fgets(text, sizeof(text), file) && strstr(text, "[confidentiality]");
}

static struct err *check_use(unsigned int use)
{
	struct err *err = check_capabilities(use);
	struct utsname host;

	if (err)
		return err;
	uname(&host);
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return err_create("the kernel %s does not describe its types (no "
				  "/sys/kernel/btf/vmlinux): it needs CONFIG_DEBUG_INFO_BTF",
				  host.release);
	if (is_locked_down())
		return err_create("the kernel's lockdown mode is 'confidentiality', which forbids "
				  "BPF programs to read memory; 'integrity' does not");
	return NULL;
}

struct err *bpf_support_check(void)
{
	return check_use(PROCESSES);
}

struct err *bpf_support_check_kernel(void)
{
	return check_use(KERNEL);
}

/* What libbpf said first of what went wrong. */
static char first_words[512];

static int keep_words(enum libbpf_print_level level, const char *format, va_list arguments)
{
	char line[sizeof(first_words)];

	if (level != LIBBPF_WARN)
		return 0;
	vsnprintf(line, sizeof(line), format, arguments);
	line[strcspn(line, "\n")] = 0;
	// Of several lines the first names the program or map that failed.
	if (!first_words[0] && strncmp(line, "libbpf: ", 8) == 0)
		memcpy(first_words, line + 8, sizeof(line) - 8);
	return 0;
}

struct err *bpf_support_load(struct bpf_object_skeleton *skeleton)
{
	int status;

	libbpf_set_print(keep_words);
	first_words[0] = 0;
	status = bpf_object__load_skeleton(skeleton);
	if (!status)
		return NULL;
	return err_create_errno(-status, "the kernel does not take the BPF programs%s%s",
				first_words[0] ? ": " : "", first_words);
}
