/*
 * Which functions are probed, and where. This program has an allocator of its own, written in
 * assembly so that it is known where its functions are left.
 */
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"

#include "ebpf/hooks/hook_find.h"
#include "allocators/function_names.h"
#include "symbols/load_segments.h"
#include "trace/format.h"

#define FUNCTION(name, code)                                                                       \
	".globl " name "\n.type " name ", @function\n" name ":\n.cfi_startproc\n" code             \
	".cfi_endproc\n.size " name ", . - " name "\n"
#define LOCAL(name, code)                                                                          \
	".type " name ", @function\n" name ":\n.cfi_startproc\n" code ".cfi_endproc\n.size " name  \
	", . - " name "\n"

/* clang-format off */
__asm__(".text\n"
	FUNCTION("je_malloc", "test %rdi, %rdi\n je 1f\n mov $4096, %eax\n 1: ret\n")
	FUNCTION("je_free", "ret\n")
	FUNCTION("_Znwm", "cmp $8, %rdi\n ja new_slow\n new_ret: ret\n")
	LOCAL("new_slow", "push %rbx\n cmp $64, %rdi\n ja 1f\n pop %rbx\n new_slow_ret: ret\n"
			  "1: pop %rbx\n jmp new_throw\n")
	LOCAL("new_throw", "ud2\n")
	FUNCTION("_Znam", "jmp _Znwm\n")
	FUNCTION("_ZnwmSt11align_val_t", "jmp *%rax\n")
	FUNCTION("_ZdlPv", "jmp je_free\n")
	FUNCTION("_ZdaPv", "endbr64\n mov %rdi, %rax\n ret\n")
	FUNCTION("zz_malloc", "ret\n"));
/* clang-format on */

extern const char new_ret[] __asm__("new_ret"), new_slow_ret[] __asm__("new_slow_ret");

static void meanings(void **state)
{
	struct function_names list;
	struct function_match match;

	function_names_init(&list, NULL);
	assert_true(function_names_match(&list, "calloc", &match));
	assert_int_equal(hook_cookie_of(match.function),
			 HOOK_COOKIE(HOOK_ALLOC, 2, 1, 0, HOOK_RESULT_VALUE) |
				 HOOK_OPERATION(TRACE_OP_CALLOC, 0));
	assert_true(function_names_match(&list, "posix_memalign", &match));
	assert_int_equal(hook_cookie_of(match.function),
			 HOOK_COOKIE(HOOK_ALLOC, 3, 0, 0, HOOK_RESULT_MEMORY) |
				 HOOK_OPERATION(TRACE_OP_POSIX_MEMALIGN, 2));
	assert_true(function_names_match(&list, "free", &match));
	assert_int_equal(hook_cookie_of(match.function),
			 HOOK_COOKIE(HOOK_FREE, 0, 0, 1, HOOK_RESULT_VALUE) |
				 HOOK_WHERE(HOOK_WHERE_ONLY) | HOOK_OPERATION(TRACE_OP_FREE, 0));
	assert_true(function_names_match(&list, "mi_heap_reallocn", &match));
	assert_int_equal(hook_cookie_of(match.function),
			 HOOK_COOKIE(HOOK_REALLOC, 4, 3, 2, HOOK_RESULT_VALUE) |
				 HOOK_OPERATION(TRACE_OP_REALLOCARRAY_NULL, 0));
	// A return probe would end a program that catches bad_alloc.
	assert_true(function_names_match(&list, "_Znwm", &match));
	assert_true(match.function->throws);
	assert_int_equal(HOOK_WHERE_OF(hook_cookie_of(match.function)), HOOK_WHERE_ONLY);
}

static void objects(void **state)
{
	assert_true(hook_object_is_named("/usr/lib/libc.so.6", "c"));
	assert_true(hook_object_is_named("/lib/libc-2.31.so", "c"));
	assert_true(hook_object_is_named("/lib/ld-musl-x86_64.so.1", "c"));
	assert_true(hook_object_is_named("/usr/lib/libjemalloc.so.2", "jemalloc"));
	assert_true(hook_object_is_named("/usr/lib/libjemalloc.so.2", "libjemalloc"));
	assert_true(hook_object_is_named("/usr/lib/libjemalloc.so.2", "libjemalloc.so"));
	assert_true(hook_object_is_named("/usr/lib/libjemalloc.so.2", "libjemalloc.so.2"));
	assert_true(hook_object_is_named("/usr/bin/redis-server", "redis-server"));
	assert_false(hook_object_is_named("/usr/lib/libcrypt.so.1", "c"));
	assert_false(hook_object_is_named("/usr/lib/libc-client.so", "c"));
	assert_false(hook_object_is_named("/usr/lib/libc.so.6", "jemalloc"));
	assert_false(hook_object_is_named("/usr/lib/libc.so.6", ""));
}

/* The address in this process at which a probe stands. 0: there is none with that name and place.
 */
static uint64_t probe_address(const struct target *target, const struct hooks *hooks,
			      const char *name, uint32_t where, uint64_t above)
{
	uint64_t ret = 0;

	for (size_t i = 0; i < hooks->list.count; i++) {
		const struct hook *hook = &hooks->list.items[i];
		struct load_segments segments;

		if (strcmp(hook->name, name) != 0 || HOOK_WHERE_OF(hook->cookie) != where)
			continue;
		assert_true(load_segments_read(target->modules.items[hook->module].fd, NULL, 0, 0,
					       &segments));
		for (size_t j = 0; j < target->spans.count; j++) {
			const struct target_span *span = &target->spans.items[j];
			uint64_t page = hook->file_offset & -UINT64_C(4096), address;

			if (span->module != hook->module ||
			    !load_segments_address(&segments, page, &address))
				continue;
			address += span->bias + (hook->file_offset - page);
			if (address > above && address >= span->start && address < span->end &&
			    (!ret || address < ret))
				ret = address;
		}
	}
	return ret;
}

static void own_allocator(void **state)
{
	const struct hook_options options = {.object = "/proc/self/exe"};
	struct hooks hooks = {0};
	struct target *target;
	extern const char je_malloc[], zz_malloc[], new_entry[] __asm__("_Znwm"),
		delete_array[] __asm__("_ZdaPv");

	assert_ok(target_open(getpid(), &target));
	assert_ok(hooks_find(target, 0, &options, &hooks));
	assert_int_equal(hooks.modules.count, 1);
	assert_string_equal(hooks.modules.items[0].allocator, "jemalloc");
	assert_int_equal(hooks.modules.items[0].probes, hooks.list.count);
	// The probe slides to the jump behind `test`; a ret is nothing to slide to.
	assert_int_equal(probe_address(target, &hooks, "je_malloc", HOOK_WHERE_ENTRY, 0),
			 (uintptr_t)je_malloc + 3);
	assert_int_equal(probe_address(target, &hooks, "_ZdaPv", HOOK_WHERE_ONLY, 0),
			 (uintptr_t)delete_array);
	// operator new: at its entry, and where it and what it jumps to return.
	assert_int_equal(probe_address(target, &hooks, "_Znwm", HOOK_WHERE_ENTRY, 0), 0);
	assert_int_equal(probe_address(target, &hooks, "_Znwm", HOOK_WHERE_ONLY, 0),
			 (uintptr_t)new_entry + 4);

	uint64_t first = probe_address(target, &hooks, "_Znwm", HOOK_WHERE_EXIT, 0);
	uint64_t second = probe_address(target, &hooks, "_Znwm", HOOK_WHERE_EXIT, first);

	assert_int_equal(first, (uintptr_t)new_ret);
	assert_int_equal(second, (uintptr_t)new_slow_ret);
	assert_int_equal(probe_address(target, &hooks, "_Znwm", HOOK_WHERE_EXIT, second), 0);
	// These only jump to others.
	assert_int_equal(probe_address(target, &hooks, "_Znam", HOOK_WHERE_ONLY, 0), 0);
	assert_int_equal(probe_address(target, &hooks, "_ZdlPv", HOOK_WHERE_ONLY, 0), 0);
	// Nobody knows where this one ends.
	assert_int_equal(hooks.unprobed.count, 1);
	assert_string_equal(hooks.unprobed.items[0].name, "_ZnwmSt11align_val_t");
	// There is no free() to this one's malloc(); the user's word counts.
	assert_int_equal(probe_address(target, &hooks, "zz_malloc", HOOK_WHERE_ENTRY, 0), 0);
	hooks_deinit(&hooks);

	const struct hook_options with_prefix = {.object = "/proc/self/exe", .prefix = "zz_"};

	hooks = (struct hooks){0};
	assert_ok(hooks_find(target, 0, &with_prefix, &hooks));
	assert_int_equal(probe_address(target, &hooks, "zz_malloc", HOOK_WHERE_ENTRY, 0),
			 (uintptr_t)zz_malloc);
	hooks_deinit(&hooks);
	target_close(target);
}

static void c_library(void **state)
{
	const struct hook_options all = {0}, only = {.object = "c"},
				  other = {.object = "no_such_library"};
	struct hooks hooks = {0}, again = {0};
	void *library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	struct target *target;

	if (!library)
		skip(); // musl
	assert_ok(target_open(getpid(), &target));
	assert_ok(hooks_find(target, 0, &only, &hooks));
	assert_int_equal(hooks.modules.count, 1);
	assert_string_equal(hooks.modules.items[0].allocator, "glibc");
	assert_int_equal(hooks.unprobed.count, 0);

	static const struct {
		const char *name;
		uint32_t where;
	} expected[] = {{"malloc", HOOK_WHERE_ENTRY},  {"calloc", HOOK_WHERE_ENTRY},
			{"realloc", HOOK_WHERE_ENTRY}, {"free", HOOK_WHERE_ONLY},
			{"mmap", HOOK_WHERE_ENTRY},    {"munmap", HOOK_WHERE_ONLY}};

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		uint64_t function = (uint64_t)(uintptr_t)dlsym(library, expected[i].name);
		uint64_t probe =
			probe_address(target, &hooks, expected[i].name, expected[i].where, 0);

		if (probe < function || probe - function > 16)
			fail_msg("%s is at %#lx, its probe at %#lx", expected[i].name, function,
				 probe);
	}
	// Nothing is new, and that is no error; nor is it found twice.
	assert_ok(hooks_find(target, (uint32_t)target->modules.count, &all, &again));
	assert_ok(hooks_find(target, (uint32_t)target->modules.count, &other, &again));
	assert_int_equal(again.list.count, 0);
	assert_err(hooks_find(target, 0, &other, &again), "no_such_library");
	assert_err(hooks_find(target, 0, &other, &again), "(glibc)");
	hooks_deinit(&again);
	hooks_deinit(&hooks);
	target_close(target);
	dlclose(library);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(meanings),
		cmocka_unit_test(objects),
		cmocka_unit_test(c_library),
		cmocka_unit_test(own_allocator),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
