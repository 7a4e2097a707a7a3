#include "hosted/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>
#include <time.h>

#include "hosted/cleanup.h"

/*
 * Limits of one match, and of a pattern. A demangled name of thousands of characters takes some ten
 * thousand steps.
 */
#define STEPS_MAX   1000000
#define DEPTH_MAX   10000
#define HEAP_MAX    20000 /* KiB */
#define PATTERN_MAX 4096
#define NESTING_MAX 100

struct regex {
	pcre2_code *code;
	pcre2_match_context *limits;
};

void regex_destroy(struct regex *regex)
{
	if (!regex)
		return;
	pcre2_code_free(regex->code);
	pcre2_match_context_free(regex->limits);
	free(regex);
}
CLEANUP_DEFINE(pcre2_compile_context *, pcre2_compile_context_free);
CLEANUP_DEFINE(pcre2_match_data *, pcre2_match_data_free);

static struct err *compile_error(int number, size_t offset)
{
	char text[160] = "unknown error";

	if (number == PCRE2_ERROR_HEAP_FAILED || number == PCRE2_ERROR_NOMEMORY)
		return err_no_memory();
	pcre2_get_error_message(number, (PCRE2_UCHAR *)text, sizeof(text));
	return err_create("%s, at character %zu", text, offset + 1);
}

static struct err *compile_pattern(const char *pattern, pcre2_code **ret)
{
	cleanup(pcre2_compile_context_free_at) pcre2_compile_context *context =
		pcre2_compile_context_create(NULL);
	PCRE2_SIZE offset;
	int number;

	if (!context)
		return err_no_memory();
	pcre2_set_max_pattern_length(context, PATTERN_MAX);
	pcre2_set_parens_nest_limit(context, NESTING_MAX);
	*ret = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
			     PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C, &number,
			     &offset, context);
	return *ret ? NULL : compile_error(number, offset);
}

struct err *regex_create(const char *pattern, struct regex **ret)
{
	cleanup(regex_destroy_at) struct regex *regex = calloc(1, sizeof(*regex));
	struct err *err;

	if (!regex)
		return err_no_memory();
	err = compile_pattern(pattern, &regex->code);
	if (err)
		return err;
	regex->limits = pcre2_match_context_create(NULL);
	if (!regex->limits)
		return err_no_memory();
	pcre2_set_match_limit(regex->limits, STEPS_MAX);
	pcre2_set_depth_limit(regex->limits, DEPTH_MAX);
	pcre2_set_heap_limit(regex->limits, HEAP_MAX);
	// If no code may be made at run time, the pattern is interpreted: slower, with the same
	// result.
	pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE);
	*ret = steal(&regex);
	return NULL;
}

static uint64_t thread_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct err *search_text(const struct regex *regex, const char *text, bool *ret)
{
	cleanup(pcre2_match_data_free_at) pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	char reason[160] = "unknown error";
	int result;

	if (!data)
		return err_no_memory();
	result =
		pcre2_match(regex->code, (PCRE2_SPTR)text, strlen(text), 0, 0, data, regex->limits);
	// Compiled code has a small stack of its own; the interpreter uses the heap, so it may
	// succeed.
	if (result == PCRE2_ERROR_JIT_STACKLIMIT)
		result = pcre2_match(regex->code, (PCRE2_SPTR)text, strlen(text), 0, PCRE2_NO_JIT,
				     data, regex->limits);
	if (result == PCRE2_ERROR_NOMEMORY)
		return err_no_memory();
	if (result < 0 && result != PCRE2_ERROR_NOMATCH) {
		pcre2_get_error_message(result, (PCRE2_UCHAR *)reason, sizeof(reason));
		return err_create("the pattern is too costly for '%.80s' (%s)", text, reason);
	}
	*ret = result >= 0;
	return NULL;
}

struct err *regex_search(const struct regex *regex, const char *text, uint64_t *left_ns, bool *ret)
{
	uint64_t begin = thread_ns(), taken;
	struct err *err = search_text(regex, text, ret);

	if (err)
		return err;
	taken = thread_ns() - begin;
	if (taken >= *left_ns)
		return err_create(
			"the pattern is too costly for so many names (given up at '%.80s')", text);
	*left_ns -= taken;
	return NULL;
}
