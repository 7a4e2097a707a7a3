/*
 * Fails each allocation of the symbolizer in turn while it looks up functions of this program: the
 * answer is an error that says so, or, where the memory was not vital, a result; and the same
 * module answers in full afterwards. Linked with --wrap, so libdw's own allocations do not fail.
 */
#include <errno.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbols/symbolizer.h"

/* Allocations until the one that fails; below 0: none does. */
static long countdown = -1;

static bool fails(void)
{
	return countdown >= 0 && countdown-- == 0;
}

#define WRAP(type, name, parameters, arguments)                                                    \
	type __real_##name parameters;                                                             \
	type __wrap_##name parameters;                                                             \
	type __wrap_##name parameters                                                              \
	{                                                                                          \
		if (fails()) {                                                                     \
			errno = ENOMEM;                                                            \
			return NULL;                                                               \
		}                                                                                  \
		return __real_##name arguments;                                                    \
	}

WRAP(void *, malloc, (size_t size), (size))
WRAP(void *, calloc, (size_t count, size_t size), (count, size))
WRAP(void *, realloc, (void *p, size_t size), (p, size))
WRAP(void *, reallocarray, (void *p, size_t count, size_t size), (p, count, size))
WRAP(char *, strdup, (const char *text), (text))
WRAP(char *, strndup, (const char *text, size_t size), (text, size))

/* Three functions of the program, as addresses in its file. */
static uint64_t addresses[3];

static int take_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
	*(uint64_t *)bias = info->dlpi_addr;
	return 1; // the program comes first
}

static struct err *look_up(struct symbolizer *symbolizer, bool *complete)
{
	struct symbol_module *module;
	struct err *err = symbolizer_module(symbolizer, "/proc/self/exe", NULL, 0, &module);

	*complete = true;
	for (size_t i = 0; !err && i < 3; i++) {
		const struct symbol *symbols;
		size_t count;

		err = symbol_module_find(module, addresses[i], &symbols, &count);
		if (err)
			break;

		const struct symbol *outermost = &symbols[count - 1];
		const char *readable;

		if (outermost->raw_function && outermost->line)
			err = symbolizer_readable(symbolizer, outermost->raw_function, &readable);
		else
			*complete = false;
	}
	return err;
}

static void each_allocation(void **unused)
{
	long n = 0, failures = 0;

	for (bool done = false; !done; n++) {
		struct symbolizer *symbolizer = NULL;
		bool complete;

		countdown = n;

		struct err *err = symbolizer_create(&symbolizer);

		if (!err)
			err = look_up(symbolizer, &complete);
		done = countdown >= 0; // so many were not needed
		countdown = -1;
		if (err) {
			assert_int_equal(err_number(err), ENOMEM);
			assert_false(done);
			failures++;
		}
		if (symbolizer) {
			assert_null(look_up(symbolizer, &complete));
			assert_true(complete);
		}
		symbolizer_destroy(symbolizer);
	}
	assert_true(failures > 20);
	print_message("%ld allocations, %ld errors\n", n - 1, failures);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_allocation),
	};
	uint64_t bias = 0;

	dl_iterate_phdr(take_bias, &bias);
	addresses[0] = (uintptr_t)main - bias;
	addresses[1] = (uintptr_t)look_up - bias;
	addresses[2] = (uintptr_t)symbolizer_create - bias;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
