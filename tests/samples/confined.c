/*
 * Goes on allocating after its surroundings have changed. Arguments: how, and a folder.
 *
 * EXPECT before: calls=1000 total_bytes=100000 leaked_blocks=1000
 * EXPECT after: calls=20000 total_bytes=2000000 leaked_blocks=20000
 */
#include "before_after.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef SYS_newfstatat
#define FSTATAT SYS_newfstatat
#else
#define FSTATAT SYS_fstatat64
#endif

/* Whatever is not needed to print a line, grow the heap and end kills the process. */
static void filter_system_calls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_brk, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FSTATAT, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	REQUIRE(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void confine(const char *how, const char *folder)
{
	struct rlimit none = {0, 0};

	if (!strcmp(how, "chroot")) {
		REQUIRE(chroot(folder) == 0 && chdir("/") == 0);
	} else if (!strcmp(how, "cwd_removed")) {
		REQUIRE(chdir(folder) == 0 && rmdir(folder) == 0);
	} else if (!strcmp(how, "seccomp")) {
		filter_system_calls();
	} else if (!strcmp(how, "file_size")) {
		REQUIRE(setrlimit(RLIMIT_FSIZE, &none) == 0);
	} else if (!strcmp(how, "setuid")) {
		REQUIRE(setgid(65534) == 0 && setuid(65534) == 0);
	} else {
		REQUIRE(!strcmp(how, "nothing"));
	}
}

int main(int argc, char **argv)
{
	REQUIRE(argc == 3);
	printf("begin\n");
	fflush(stdout);
	before();
	confine(argv[1], argv[2]);
	after();
	printf("ok\n");
	return 7;
}
