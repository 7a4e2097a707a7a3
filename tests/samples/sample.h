/*
 * What sample programs share. A sample states in comments what a correct recording of it holds:
 *
 *     EXPECT function: calls=3 total_bytes=60 leaked_blocks=1 leaked_bytes=20 temporary=2
 *
 * sums the sites whose stacks contain that function, anywhere; further words are entry=NAME:COUNT
 * (allocations by that entry function), depth=N (frames of the deepest such stack, at least) and
 * threads=N (different threads). `function` is noinline and ends with something behind its last
 * call, so that it stands on the stack at -O2 too. What is not named is not checked.
 */
#ifndef SAMPLE_H
#define SAMPLE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

/* The compiler must believe that the block is used, so it keeps the call before. */
static inline void *keep(void *block)
{
	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

/* Behind a last call: no tail call, so that the caller stays on the stack. */
#define STAY() __asm__ volatile("" ::: "memory")

static inline void sample_fail(int status)
{
	fflush(stderr);
	_Exit(status);
}

/* Ends the sample with a message when a fact that it needs does not hold. */
#define REQUIRE(condition)                                                                         \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			sample_fail(3);                                                            \
		}                                                                                  \
	} while (0)

/* A number of /proc/self/status, in kB: "VmSize:". */
static inline unsigned long sample_kilobytes(const char *name)
{
	static char text[4096];
	FILE *file = fopen("/proc/self/status", "r");
	size_t size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	char *line;

	REQUIRE(size > 0);
	fclose(file);
	text[size] = '\0';
	line = strstr(text, name);
	REQUIRE(line);
	return strtoul(line + strlen(name), NULL, 10);
}

#endif
