/*
 * Functions that can cut a file: it may be the recording (record/file_cut.h). musl has one
 * function where glibc has two: on other machines their sizes have 32 and 64 bits.
 */
#include <fcntl.h>
#include <stdarg.h>

#include "agent/hooks/hooks.h"
#include "agent/record/file_cut.h"

static void before_open(int directory, const char *path, int flags)
{
	hooks_resolve();
	if (unlikely(flags & O_TRUNC))
		file_cut_prepare(directory, path, 0);
}

/* A function with the file's mode as a third or fourth argument, which may be missing. */
#define OPEN(name, function, parameters, directory, arguments)                                     \
	int hook_##name parameters                                                                 \
	{                                                                                          \
		unsigned int mode;                                                                 \
		va_list list;                                                                      \
                                                                                                   \
		va_start(list, flags);                                                             \
		mode = va_arg(list, unsigned int);                                                 \
		va_end(list);                                                                      \
		before_open(directory, path, flags);                                               \
		return (function)arguments;                                                        \
	}

OPEN(open, real.open, (const char *path, int flags, ...), AT_FDCWD, (path, flags, mode))
OPEN(open64, real.open64 ?: real.open, (const char *path, int flags, ...), AT_FDCWD,
     (path, flags, mode))
OPEN(openat, real.openat, (int at, const char *path, int flags, ...), at, (at, path, flags, mode))
OPEN(openat64, real.openat64 ?: real.openat, (int at, const char *path, int flags, ...), at,
     (at, path, flags, mode))

/* What open() becomes with _FORTIFY_SOURCE, where the flags are no constant. */
int hook_open_fortified(const char *path, int flags)
{
	before_open(AT_FDCWD, path, flags);
	return real.open_fortified ? real.open_fortified(path, flags) : hook_open(path, flags, 0);
}

int hook_open64_fortified(const char *path, int flags)
{
	return hook_open_fortified(path, flags);
}

int hook_creat(const char *path, unsigned int mode)
{
	return hook_open(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

int hook_creat64(const char *path, unsigned int mode)
{
	return hook_creat(path, mode);
}

/*
 * These allocate. The calls of the real functions are jumps, so that no frame of ours stands on the
 * stack.
 */
static void before_stream(const char *path, const char *mode)
{
	before_open(AT_FDCWD, path, path && mode && mode[0] == 'w' ? O_TRUNC : 0);
}

void *hook_fopen(const char *path, const char *mode)
{
	before_stream(path, mode);
	return real.fopen(path, mode);
}

void *hook_fopen64(const char *path, const char *mode)
{
	before_stream(path, mode);
	return (real.fopen64 ?: real.fopen)(path, mode);
}

void *hook_freopen(const char *path, const char *mode, void *stream)
{
	before_stream(path, mode);
	return real.freopen(path, mode, stream);
}

void *hook_freopen64(const char *path, const char *mode, void *stream)
{
	before_stream(path, mode);
	return (real.freopen64 ?: real.freopen)(path, mode, stream);
}

static void before_cut(int fd, const char *path, int64_t length)
{
	if (length >= 0)
		file_cut_prepare(fd, path, (uint64_t)length);
}

int hook_truncate64(const char *path, int64_t length)
{
	hooks_resolve();
	before_cut(AT_FDCWD, path, length);
	return NEXT_WIDE(truncate)(path, length);
}

int hook_truncate(const char *path, OFFSET_PARAMETER(length))
{
	hooks_resolve();
	return hook_truncate64(path, OFFSET_GIVEN(length));
}

int hook_ftruncate64(int fd, int64_t length)
{
	hooks_resolve();
	before_cut(fd, NULL, length);
	return NEXT_WIDE(ftruncate)(fd, length);
}

int hook_ftruncate(int fd, OFFSET_PARAMETER(length))
{
	hooks_resolve();
	return hook_ftruncate64(fd, OFFSET_GIVEN(length));
}
