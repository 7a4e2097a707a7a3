/* The process that is traced: this one, and children that are about to go. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"

#include "symbols/load_segments.h"
#include "ebpf/target/target.h"
#include "hosted/proc.h"

#define PAGE 4096u

static void maps_lines(void **state)
{
	char code[] =
		"7f8d730a0000-7f8d731f6000 r-xp 00026000 fe:10 326269       /usr/lib/libc.so.6\n";
	char odd[] = "1000-2000 r--s 00000000 00:01 7 /a b\\012c (deleted)\n";
	char none[] = "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0";
	char stack[] = "7ffc000-7ffd000 rw-p 00000000 00:00 0     [stack]\n";
	static const char *const bad[] = {
		"",
		"\n",
		"Rss: 4 kB\n",
		"2000-1000 r-xp 0 00:00 0",
		"1000-2000 rx 0 00:00 0 /a",
		"1000-2000 r-xp 0 00:00",
	};
	struct proc_mapping mapping;

	assert_true(proc_mapping_read(code, &mapping));
	assert_int_equal(mapping.start, 0x7f8d730a0000);
	assert_int_equal(mapping.end, 0x7f8d731f6000);
	assert_int_equal(mapping.offset, 0x26000);
	assert_int_equal(mapping.device, makedev(0xfe, 0x10));
	assert_int_equal(mapping.inode, 326269);
	assert_true(mapping.executable && !mapping.deleted);
	assert_string_equal(mapping.path, "/usr/lib/libc.so.6");

	assert_true(proc_mapping_read(odd, &mapping));
	assert_true(!mapping.executable && mapping.deleted);
	assert_string_equal(mapping.path, "/a b\nc");

	assert_true(proc_mapping_read(none, &mapping));
	assert_true(mapping.executable);
	assert_int_equal(mapping.inode, 0);
	assert_string_equal(mapping.path, "");

	assert_true(proc_mapping_read(stack, &mapping));
	assert_string_equal(mapping.path, "[stack]");

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char line[64];

		strcpy(line, bad[i]);
		if (proc_mapping_read(line, &mapping))
			fail_msg("\"%s\" was read", bad[i]);
	}
}

/* As lld lays a program out: the end of one segment and the next share a page of the file. */
static void segments(void **state)
{
	const struct load_segments segments = {
		.list = {{0, 0x200000, 0x1234, false}, {0x1240, 0x202240, 0x2000, true}},
		.count = 2,
	};
	uint64_t address, offset, left;

	assert_true(load_segments_address(&segments, 0, &address));
	assert_int_equal(address, 0x200000);
	assert_true(load_segments_address(&segments, 0x1000, &address));
	assert_int_equal(address, 0x202000);
	assert_true(load_segments_address(&segments, 0x3000, &address));
	assert_false(load_segments_address(&segments, 0x4000, &address));
	assert_true(load_segments_offset(&segments, 0x202250, &offset, &left));
	assert_int_equal(offset, 0x1250);
	assert_int_equal(left, 0x1ff0);
	assert_false(load_segments_offset(&segments, 0x200100, &offset, &left));
	assert_false(load_segments_offset(&segments, 0x204240, &offset, &left));
	assert_true(load_segments_have_code(&segments, 0x202000, 0x205000));
	assert_false(load_segments_have_code(&segments, 0x201000, 0x205000));
	assert_false(load_segments_have_code(&segments, 0x202000, 0x206000));
	assert_false(load_segments_have_code(&segments, 0x200000, 0x201000));
	assert_false(load_segments_read(-1, "\177ELF", 4, 0, &(struct load_segments){0}));
}

/* Each object that the loader knows has its bias. */
static int check_object(struct dl_phdr_info *info, size_t size, void *argument)
{
	const struct target *target = argument;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *segment = &info->dlpi_phdr[i];
		const struct target_span *span;

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		span = target_find(target, info->dlpi_addr + segment->p_vaddr);
		assert_non_null(span);
		assert_int_not_equal(span->module, TARGET_NO_MODULE);
		assert_int_equal(span->bias, info->dlpi_addr);
		assert_true(target->modules.items[span->module].mapped);
	}
	return 0;
}

static void this_process(void **state)
{
	char program[4096] = "";
	struct target *target;

	assert_true(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
	assert_ok(target_open(getpid(), &target));
	assert_string_equal(target->program, program);
	assert_int_equal(target->facts.own_pid, getpid());
	assert_int_equal(target->facts.user, geteuid());
	// Started a while ago, by a clock of hundredths of a second.
	assert_true(target->facts.started_ns <= (int64_t)(time(NULL) + 1) * 1000000000);
	assert_true(target->facts.started_ns >= (int64_t)(time(NULL) - 600) * 1000000000);
	dl_iterate_phdr(check_object, target);
	assert_null(target_find(target, 0));
	assert_null(target_find(target, UINT64_MAX));
	for (size_t i = 0; i < target->modules.count; i++) {
		const struct target_module *module = &target->modules.items[i];

		assert_true(strcmp(module->path, "[vsyscall]") != 0);
		assert_true(module->memory ? !module->open_path && module->fd < 0
					   : module->open_path && module->fd >= 0);
	}
	for (size_t i = 1; i < target->spans.count; i++)
		assert_true(target->spans.items[i - 1].end <= target->spans.items[i].start);
	target_close(target);
	target_close(NULL);
}

static void code_without_a_file(void **state)
{
	struct target *target;
	bool changed;

	assert_ok(target_open(getpid(), &target));
	assert_ok(target_refresh(target, &changed));
	assert_false(changed);

	size_t modules = target->modules.count;
	void *code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(code != MAP_FAILED);
	assert_ok(target_refresh(target, &changed));
	assert_true(changed);
	assert_non_null(target_find(target, (uintptr_t)code));
	assert_int_equal(target_find(target, (uintptr_t)code)->module, TARGET_NO_MODULE);
	munmap(code, PAGE);
	assert_ok(target_refresh(target, &changed));
	assert_true(changed);
	assert_null(target_find(target, (uintptr_t)code));
	assert_int_equal(target->modules.count, modules);
	target_close(target);
}

/* Puts a copy of a module's text in the place of the text, as programs do for huge pages. */
static int copy_text(struct dl_phdr_info *info, size_t size, void *unused)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *segment = &info->dlpi_phdr[i];
		uintptr_t start = (info->dlpi_addr + segment->p_vaddr) & -(uintptr_t)PAGE;
		uintptr_t end = info->dlpi_addr + segment->p_vaddr + segment->p_memsz;
		size_t length = (end - start + PAGE - 1) & -(size_t)PAGE;
		void *copy;

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		copy = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);
		assert_true(copy != MAP_FAILED);
		memcpy(copy, (void *)start, end - start);
		assert_int_equal(mprotect(copy, length, PROT_READ | PROT_EXEC), 0);
		assert_true(mremap(copy, length, length, MREMAP_MAYMOVE | MREMAP_FIXED,
				   (void *)start) != MAP_FAILED);
	}
	return 1; // the program comes first
}

static void copied_text(void **state)
{
	struct target *before, *after;
	bool changed;

	assert_ok(target_open(getpid(), &before));
	dl_iterate_phdr(copy_text, NULL);
	assert_ok(target_open(getpid(), &after));
	assert_int_equal(target_find(after, (uintptr_t)copied_text)->bias,
			 target_find(before, (uintptr_t)copied_text)->bias);
	dl_iterate_phdr(check_object, after);
	assert_ok(target_refresh(before, &changed));
	dl_iterate_phdr(check_object, before);
	target_close(before);
	target_close(after);
}

/* A copy of this program in a file without a name, whose code is mapped. */
static int copy_program(void)
{
	int from = open("/proc/self/exe", O_RDONLY), to = memfd_create("copy", MFD_CLOEXEC);
	char bytes[65536];
	ssize_t size;

	assert_true(from >= 0 && to >= 0);
	while ((size = read(from, bytes, sizeof(bytes))) > 0)
		assert_int_equal(write(to, bytes, (size_t)size), size);
	close(from);
	return to;
}

static void deleted_file(void **state)
{
	struct load_segments own;
	struct target *target;
	bool changed;
	int fd = copy_program();
	size_t i = 0;

	if (geteuid())
		skip(); // without capabilities nobody can open it
	assert_true(load_segments_read(fd, NULL, 0, 0, &own));
	while (!own.list[i].executable)
		i++;

	uint64_t offset = own.list[i].offset & -(uint64_t)PAGE;
	char *code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, (off_t)offset);

	assert_true(code != MAP_FAILED);
	close(fd);
	assert_ok(target_open(getpid(), &target));

	const struct target_span *span = target_find(target, (uintptr_t)code);

	assert_non_null(span);
	assert_int_not_equal(span->module, TARGET_NO_MODULE);
	assert_int_equal(span->bias,
			 (uintptr_t)code - own.list[i].address + (own.list[i].offset - offset));

	uint32_t module = span->module;

	assert_string_equal(target->modules.items[module].path, "/memfd:copy");
	assert_ptr_equal(strstr(target->modules.items[module].open_path, "/proc/self/fd/"),
			 target->modules.items[module].open_path);
	munmap(code, PAGE);
	assert_ok(target_refresh(target, &changed));
	assert_true(changed);
	assert_false(target->modules.items[module].mapped);
	assert_true(target->modules.items[module].fd >= 0);
	target_close(target);
}

static void *wait_for(void *argument)
{
	int *pipe_end = argument;
	pid_t thread = gettid();
	char byte;

	assert_int_equal(write(pipe_end[3], &thread, sizeof(thread)), sizeof(thread));
	return read(pipe_end[0], &byte, 1) < 0 ? argument : NULL;
}

static void a_thread(void **state)
{
	struct target *target;
	pthread_t thread;
	char text[64];
	int ends[4];
	pid_t tid;

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(pipe(ends + 2), 0);
	assert_int_equal(pthread_create(&thread, NULL, wait_for, ends), 0);
	assert_int_equal(read(ends[2], &tid, sizeof(tid)), sizeof(tid));
	snprintf(text, sizeof(text), "of process %d: give %d", (int)getpid(), (int)getpid());
	assert_err(target_open(tid, &target), text);
	for (int i = 1; i < 4; i++)
		close(ends[i]);
	pthread_join(thread, NULL);
	close(ends[0]);
}

static void no_process(void **state)
{
	struct target *target;
	char text[64], name[32] = "";

	assert_err(target_open(0, &target), "no process has the PID 0");
	assert_err(target_open(-7, &target), "no process has the PID -7");

	pid_t child = fork();

	if (!child)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)child, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	snprintf(text, sizeof(text), "process %d (", (int)child);
	assert_err(target_open(child, &target), text);
	assert_int_equal(waitpid(child, NULL, 0), child);
	snprintf(text, sizeof(text), "no process has the PID %d", (int)child);
	assert_err(target_open(child, &target), text);

	FILE *file = fopen("/proc/2/comm", "r");

	if (file && fgets(name, sizeof(name), file) && strcmp(name, "kthreadd\n") == 0)
		assert_err(target_open(2, &target), "is a thread of the kernel");
	if (file)
		fclose(file);
}

static void ends_meanwhile(void **state)
{
	struct target *target;
	bool changed;
	pid_t child = fork();

	if (!child) {
		pause();
		_exit(0);
	}
	assert_ok(target_open(child, &target));

	size_t spans = target->spans.count;

	kill(child, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)child, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	for (int waited = 0; waited < 2; waited++) {
		struct err *err = target_refresh(target, &changed);

		assert_non_null(err);
		assert_int_equal(err_number(err), ESRCH);
		err_destroy(err);
		assert_int_equal(target->spans.count, spans);
		waitpid(child, NULL, 0);
	}
	target_close(target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(maps_lines),   cmocka_unit_test(segments),
		cmocka_unit_test(this_process), cmocka_unit_test(code_without_a_file),
		cmocka_unit_test(deleted_file), cmocka_unit_test(a_thread),
		cmocka_unit_test(no_process),   cmocka_unit_test(ends_meanwhile),
		cmocka_unit_test(copied_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
