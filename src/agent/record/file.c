#include "agent/record/file.h"

#include <errno.h>
#include <sys/resource.h>

#include "agent/arch/machine.h"
#include "agent/arch/syscall.h"
#include "agent/ground/clock.h"
#include "agent/ground/config.h"
#include "agent/ground/libc.h"
#include "agent/ground/own_place.h"
#include "agent/ground/state.h"
#include "agent/ground/text.h"
#include "base/bytes.h"
#include "trace/registry.h"

#define HIGHEST_FD      1024 /* higher numbers make the kernel grow its table */
#define NAME_TRIES      100000
#define ENTER_AND_WRITE 3          /* of access() */
#define BUFFER_LEAST    (1u << 20) /* a few chunks: with less nothing would ever be recorded */
#define PRIVATE_HEADER  (TRACE_PAGE + TIMED_WRITE_SIZE) /* behind it */
#define BLOCK_SIZE      512                             /* the unit of st_blocks */

static int open_exclusive(const char *path)
{
	return sys_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/*
 * Whether the path is a device, a FIFO or a directory. Such a path is not written to, nor is a
 * numbered name beside it (`/dev/null.1`).
 */
static bool is_no_regular_file(const char *path)
{
	struct kernel_stat status = {0};
	int fd = sys_open(path, O_PATH | O_CLOEXEC, 0);
	bool other;

	if (fd < 0)
		return false;
	other = sys_fstat(fd, &status) == 0 && !S_ISREG(status.st_mode);
	sys_close(fd);
	return other;
}

/* Copies the directory of `mallow run`. Returns its size with the NUL; 0: it cannot be used. */
static long copy_run_directory(char ret[FILE_NAME_MAX])
{
	const char *path = config_environment(RUN_DIRECTORY_VARIABLE);
	size_t size = path ? strlen(path) + 1 : 0;

	if (!path || *path != '/' || size > FILE_NAME_MAX || sys_access(path, ENTER_AND_WRITE))
		return 0;
	memcpy(ret, path, size);
	return (long)size;
}

/*
 * Makes the path absolute, since the program may change its directory. A child may have changed it
 * before it began, and its recording must still lie beside its parent's. So the directory is that
 * of `mallow run`, which also tells programs that are executed later. Where there is none, as in a
 * chroot, or it must not be written to, it is the current one at the first recording.
 */
static void make_absolute(char path[FILE_NAME_MAX])
{
	static char directory[FILE_NAME_MAX]; // kept across fork
	static long length;                   // counts the NUL
	size_t name = strlen(path);

	if (path[0] == '/')
		return;
	if (!length)
		length = copy_run_directory(directory);
	if (!length)
		length = sys_getcwd(directory, sizeof(directory));
	if (length == 2)
		length = 1; // "/": its slash is the one between
	if (length < 1 || directory[0] != '/' || (size_t)length + name + 1 > FILE_NAME_MAX)
		return;
	memmove(path + length, path, name + 1);
	memcpy(path, directory, (size_t)length - 1);
	path[length - 1] = '/';
}

static bool has_directory(const char *pattern)
{
	while (*pattern && *pattern != '/')
		pattern++;
	return *pattern;
}

/* Opens the first name that is free. The pattern's %n, or else a suffix, counts up. */
static int open_first_free(struct file *file, const char *pattern, const char *suffix)
{
	static struct output_name context; // large, and only one thread starts a recording
	bool counted = output_name_has(pattern, 'n');
	int fd = -EEXIST;

	file_name_context(&context);
	for (uint64_t n = 0; fd == -EEXIST && n < NAME_TRIES; n++) {
		struct text name;
		size_t length;

		if (!output_name_expand(&context, pattern, n, file->path, sizeof(file->path)))
			return -ENAMETOOLONG;
		make_absolute(file->path);
		// Only the first name, before a suffix is added.
		if (n == 0 && is_no_regular_file(file->path))
			return -EMEDIUMTYPE;
		length = strlen(file->path);
		text_init(&name, file->path + length, sizeof(file->path) - length);
		if (*suffix) {
			text_char(&name, '.');
			text_number(&name, context.pid);
		}
		if (*suffix || (n && !counted)) {
			text_char(&name, '.');
			text_number(&name, n);
		}
		if (name.cut)
			return -ENAMETOOLONG;
		fd = open_exclusive(file->path);
		if (fd == -ENOENT && has_directory(pattern)) {
			file_name_make_parents(file->path);
			fd = open_exclusive(file->path);
		}
	}
	return fd;
}

/*
 * Moves the descriptor to a high number: programs may count on getting low ones. Not to the
 * highest: some programs close those in a loop.
 */
static int move_high(int fd)
{
	uint64_t limit[2] = {HIGHEST_FD, HIGHEST_FD};
	uint64_t highest;
	int high;

	sys_prlimit(RLIMIT_NOFILE, limit);
	highest = limit[0] < HIGHEST_FD ? limit[0] : HIGHEST_FD;
	high = sys_fcntl(fd, F_DUPFD_CLOEXEC, (long)(highest > 64 ? highest - 32 : highest / 2));
	if (high < 0)
		return fd;
	sys_close(fd);
	return high;
}

// What a child inherits from its parent's struct file, kept across fork: the descriptor, and the
// header's mapping. The header stays mapped in a child, because a handler may fork while a loss is
// being counted in it.
static struct {
	int fd;
	dev_t device;
	ino_t inode;
	struct trace_header *header;
} inherited;

static void set_descriptor(struct file *file, int fd)
{
	file->fd = fd;
	inherited.fd = fd;
	inherited.device = file->device;
	inherited.inode = file->inode;
}

/*
 * Closes what the parent's recording left in this child. Otherwise each generation of children
 * would have one more descriptor, until no high number is free.
 */
static void close_inherited(void)
{
	struct kernel_stat status = {0};

	if (inherited.fd > 0 && sys_fstat(inherited.fd, &status) == 0 &&
	    status.st_dev == inherited.device && status.st_ino == inherited.inode)
		sys_close(inherited.fd);
	inherited.fd = 0;
	if (inherited.header)
		own_place_unmap(inherited.header, TRACE_PAGE);
	inherited.header = NULL;
}

/*
 * The name is for people: /proc and messages show it. The seals: nobody can make the file smaller,
 * nor add a seal against writing. Holes can be punched.
 */
static int open_in_memory(struct file *file, const char *kind)
{
	struct text name;
	int fd;

	text_init(&name, file->path, sizeof(file->path));
	text_string(&name, kind);
	text_number(&name, (uint64_t)sys_getpid());
	fd = sys_memfd_create(file->path, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd >= 0)
		sys_fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL);
	file->in_memory = true;
	return fd;
}

static int open_new(struct file *file, bool later_image)
{
	const char *pattern = config.text[SETTING_OUTPUT];
	bool own_suffix = later_image && !output_name_has(pattern, 'p');

	if (config_is_live())
		return open_in_memory(file, "mallow-live:");
	if (!config.value[SETTING_STREAM_ONLY])
		return open_first_free(file, pattern, own_suffix ? "child" : "");
	file->bounded = config.value[SETTING_STREAM_BUFFER] != 0;
	file->staying = arch_page();
	return open_in_memory(file, "mallow-stream:");
}

static void remove_name(const struct file *file)
{
	if (!file->in_memory)
		sys_unlink(file->path);
}

int file_create(struct file *file, bool later_image)
{
	struct kernel_stat status = {0};
	int fd;

	close_inherited();
	fd = open_new(file, later_image);
	if (fd < 0)
		return fd;
	if (sys_fstat(fd, &status) != 0) {
		remove_name(file);
		sys_close(fd);
		return -EIO;
	}
	file->device = status.st_dev;
	file->inode = status.st_ino;
	set_descriptor(file, move_high(fd));
	file->end = arch_page(); // a hole, where that is more than the header's page
	return 0;
}

void file_discard(struct file *file)
{
	remove_name(file);
	sys_close(file->fd);
	set_descriptor(file, 0);
}

/* Writes all of it. Returns 0 or the negative error number. */
static int write_all(int fd, const char *bytes, size_t size, uint64_t offset)
{
	while (size) {
		long written = sys_pwrite(fd, bytes, size, offset);

		if (written == -EINTR)
			continue;
		if (written <= 0)
			return written ? (int)written : -EIO;
		bytes += written;
		size -= (size_t)written;
		offset += (uint64_t)written;
	}
	return 0;
}

/*
 * Allocates [offset, offset + size) of the file on the disk, so that a later store through a
 * mapping cannot meet a full disk (SIGBUS).
 */
static int allocate_range(int fd, uint64_t offset, size_t size)
{
	static const char zeros[TRACE_PAGE];
	int result = sys_fallocate(fd, offset, size);

	if (result != -EOPNOTSUPP && result != -ENOSYS)
		return result;
	for (size_t done = 0; done < size; done += sizeof(zeros)) {
		result = write_all(fd, zeros, sizeof(zeros), offset + done);
		if (result)
			return result;
	}
	return 0;
}

static void *map_shared(struct file *file, uint64_t offset, size_t size)
{
	return own_place_map(size, MAP_SHARED, file->fd, offset);
}

static void *map_range(struct file *file, uint64_t offset, size_t size)
{
	void *memory = map_shared(file, offset, size);

	// A child has a recording of its own, so it does not get this mapping.
	if (memory)
		sys_madvise(memory, size, MADV_DONTFORK);
	return memory;
}

int file_map_header(struct file *file, bool shared)
{
	int result = allocate_range(file->fd, 0, TRACE_PAGE);

	if (result)
		return result;
	if (shared)
		process->header = map_shared(file, 0, TRACE_PAGE);
	if (!process->header) {
		process->header = own_place_map_memory(PRIVATE_HEADER);
		if (!process->header)
			return -ENOMEM;
		file->header_private = true;
	}
	inherited.header = process->header;
	return 0;
}

static bool is_own(const struct file *file, struct kernel_stat *status)
{
	return sys_fstat(file->fd, status) == 0 && status->st_dev == file->device &&
	       status->st_ino == file->inode;
}

bool file_keep_descriptor(struct file *file)
{
	struct kernel_stat status = {0};
	int fd;

	if (is_own(file, &status))
		return true;
	fd = file->in_memory ? -ENOENT : sys_open(file->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
	if (fd < 0)
		return false;
	if (sys_fstat(fd, &status) != 0 || status.st_dev != file->device ||
	    status.st_ino != file->inode) {
		sys_close(fd);
		return false;
	}
	// The old number belongs to the program now: it is not closed.
	set_descriptor(file, move_high(fd));
	return true;
}

/* Makes a write by timed_write.h. FILE_WRITE_FAILED: it is to be made again, without that. */
static enum file_result write_timed(struct file *file, struct timed_write *write, const void *head,
				    const void *rest, size_t size, uint64_t offset)
{
	write->head = *(const struct trace_chunk *)head;
	write->rest = rest;
	write->size = size;
	write->offset = offset;
	write->fd = file->fd;
	write->device = file->device;
	write->inode = file->inode;
	switch (timed_write_run(write)) {
	case TIMED_DONE:
		return write->result == (long)size ? FILE_OK : FILE_WRITE_FAILED;
	case TIMED_NONE:
		return FILE_WRITE_FAILED;
	case TIMED_LATE:
		break;
	}
	write->next = __atomic_load_n(&file->late, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&file->late, &write->next, write, true,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	__atomic_store_n(&file->full, true, __ATOMIC_RELAXED);
	return FILE_LATE;
}

bool file_take_late(struct file *file, struct timed_write **ret)
{
	struct timed_write *write = __atomic_load_n(&file->late, __ATOMIC_ACQUIRE);

	*ret = NULL;
	if (!write)
		return true;
	for (; write; write = write->next)
		if (!timed_write_is_done(write))
			return false;
	__atomic_store_n(&file->full, false, __ATOMIC_RELAXED);
	*ret = __atomic_exchange_n(&file->late, NULL, __ATOMIC_ACQ_REL);
	return true;
}

static void write_header(struct file *file)
{
	struct trace_header *header = process->header;
	struct timed_write *write = (struct timed_write *)((char *)header + TRACE_PAGE);
	enum file_result result;

	if (__atomic_load_n(&file->late, __ATOMIC_ACQUIRE) ||
	    __atomic_exchange_n(&write->used, 1, __ATOMIC_ACQUIRE))
		return;
	result = write_timed(file, write, header, (char *)header + sizeof(write->head), TRACE_PAGE,
			     0);
	if (result == FILE_LATE)
		return; // `used` until it is done
	if (result != FILE_OK && file_keep_descriptor(file))
		write_all(file->fd, (const char *)header, TRACE_PAGE, 0);
	__atomic_store_n(&write->used, 0, __ATOMIC_RELEASE);
}

void file_write_header(struct file *file)
{
	if (!file->header_private || file->window)
		return;
	__atomic_add_fetch(&file->changing, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&file->cut, __ATOMIC_SEQ_CST))
		write_header(file);
	__atomic_sub_fetch(&file->changing, 1, __ATOMIC_SEQ_CST);
}

/*
 * Reserves the file's next size bytes. false: they would lie beyond MAX_FILE_SIZE. file->end then
 * lies beyond it, too, so nobody gets any more.
 */
static bool reserve_bytes(struct file *file, size_t size, uint64_t *offset)
{
	uint64_t limit = config.value[SETTING_MAX_FILE_SIZE];

	*offset = __atomic_fetch_add(&file->end, size, __ATOMIC_RELAXED);
	return !limit || (*offset <= limit && size <= limit - *offset);
}

/* Gives reserved space back if it is still the last. If not, a hole stays. */
static void give_back(struct file *file, uint64_t offset, size_t size)
{
	uint64_t end = offset + size;

	__atomic_compare_exchange_n(&file->end, &end, offset, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
}

/* Maps before it allocates: where there is no address space, the file does not grow. */
static void *map_allocated(struct file *file, uint64_t offset, size_t size,
			   enum file_result *result)
{
	void *memory = map_range(file, offset, size);

	if (!memory || !allocate_range(file->fd, offset, size))
		return memory;
	*result = FILE_WRITE_FAILED;
	own_place_unmap(memory, size);
	return NULL;
}

static uint64_t buffer_size(void)
{
	uint64_t size = config.value[SETTING_STREAM_BUFFER];

	return size < BUFFER_LEAST ? BUFFER_LEAST : size;
}

enum file_result file_ask_room(struct file *file, size_t size, enum file_use use)
{
	struct kernel_stat status = {0};
	uint64_t taken, staying, waiting;
	bool full;

	// In a window there is no system call to ask by. The window is bounded, too.
	if (!file->bounded || __atomic_load_n(&file->window, __ATOMIC_ACQUIRE))
		return FILE_OK;
	if (!is_own(file, &status))
		return FILE_REPLACED; // a file in memory cannot be opened again
	taken = (uint64_t)status.st_blocks * BLOCK_SIZE;
	staying = __atomic_load_n(&file->staying, __ATOMIC_RELAXED);
	waiting = (taken > staying ? taken - staying : 0) + size;
	full = waiting > buffer_size();
	__atomic_store_n(&file->looked, clock_coarse(), __ATOMIC_RELAXED);
	__atomic_store_n(&file->full, full, __ATOMIC_RELAXED);
	if (!full)
		return FILE_OK;
	if (use == FILE_EVENTS)
		return FILE_FULL;
	return waiting / 2 <= buffer_size() ? FILE_OK : FILE_OVERFULL;
}

bool file_is_still_full(const struct file *file)
{
	uint64_t now;

	if (likely(!__atomic_load_n(&file->full, __ATOMIC_RELAXED)))
		return false;
	if (!file->bounded) {
		const struct timed_write *late = __atomic_load_n(&file->late, __ATOMIC_ACQUIRE);

		return late && !timed_write_is_done(late);
	}
	now = clock_coarse();
	// Without a clock each 256th event that is lost looks.
	return now ? now == __atomic_load_n(&file->looked, __ATOMIC_RELAXED)
		   : process->header->losses[TRACE_LOSS_STREAM_BUFFER] % 256 != 0;
}

void file_slot_sealed(struct file *file, size_t size)
{
	__atomic_sub_fetch(&file->staying, size, __ATOMIC_RELAXED);
}

/*
 * The space in the window; NULL: it is full. The caller reads `window` before it reserves the
 * space, which thus cannot lie in front of the window.
 */
static void *in_window(struct file *file, char *window, uint64_t offset, size_t size)
{
	return offset + size <= file->window_offset + file->window_size
		       ? window + (offset - file->window_offset)
		       : NULL;
}

void *file_map_slot(struct file *file, size_t size, uint64_t *offset, enum file_result *result)
{
	char *window = __atomic_load_n(&file->window, __ATOMIC_ACQUIRE);
	void *memory = NULL;

	*result = FILE_OK;
	if (!reserve_bytes(file, size, offset)) {
		*result = FILE_LIMIT;
		return NULL;
	}
	if (window) {
		memory = in_window(file, window, *offset, size);
		*result = memory ? FILE_OK : FILE_WINDOW_FULL;
	} else {
		if (!file_keep_descriptor(file))
			*result = FILE_REPLACED;
		else
			memory = map_allocated(file, *offset, size, result);
		if (!memory)
			give_back(file, *offset, size);
	}
	if (memory)
		__atomic_add_fetch(&file->staying, size, __ATOMIC_RELAXED);
	return memory;
}

/* Extends a file in memory to offset + size. Only the last page is allocated. */
static int extend_memory(const struct file *file, uint64_t offset, size_t size)
{
	return sys_fallocate(file->fd, offset + size - TRACE_PAGE, TRACE_PAGE);
}

void *file_map_sparse(struct file *file, size_t size, uint64_t *offset)
{
	char *window = __atomic_load_n(&file->window, __ATOMIC_ACQUIRE);
	void *memory;

	if (!reserve_bytes(file, size, offset))
		return NULL;
	if (window)
		return in_window(file, window, *offset, size);
	memory = file_keep_descriptor(file) ? map_shared(file, *offset, size) : NULL;
	// Last: where there is no address space the file does not grow.
	if (memory && extend_memory(file, *offset, size)) {
		own_place_unmap(memory, size);
		memory = NULL;
	}
	return memory;
}

enum file_result file_append(struct file *file, const void *head, const void *rest, size_t size,
			     struct timed_write *write)
{
	const size_t head_size = sizeof(struct trace_chunk);
	char *window = __atomic_load_n(&file->window, __ATOMIC_ACQUIRE);
	uint64_t offset;

	if (!reserve_bytes(file, size, &offset))
		return FILE_LIMIT;
	if (window) {
		char *to = in_window(file, window, offset, size);

		if (!to)
			return FILE_WINDOW_FULL;
		memcpy(to + head_size, rest, size - head_size);
		memcpy(to, head, head_size);
		return FILE_OK;
	}
	if (write) {
		enum file_result result = write_timed(file, write, head, rest, size, offset);

		if (result != FILE_WRITE_FAILED)
			return result;
	}
	if (!file_keep_descriptor(file))
		return FILE_REPLACED;
	// One call in the ordinary case. If that wrote less, mostly for a full disk, both parts are
	// written again, each in a loop.
	if (sys_pwritev(
		    file->fd,
		    (struct iovec[]){{(void *)head, head_size}, {(void *)rest, size - head_size}},
		    2, offset) == (long)size)
		return FILE_OK;
	if (write_all(file->fd, head, head_size, offset) ||
	    write_all(file->fd, rest, size - head_size, offset + head_size)) {
		// What was written of it must not be found: the caller counts all of it as lost.
		write_all(file->fd, (const char *)&(struct trace_chunk){0}, head_size, offset);
		return FILE_WRITE_FAILED;
	}
	return FILE_OK;
}

/* The size, or what MAX_FILE_SIZE leaves of it, in whole pages. No more than may wait. */
static size_t within_limit(const struct file *file, size_t size)
{
	uint64_t limit = config.value[SETTING_MAX_FILE_SIZE] & -arch_page();
	uint64_t end = __atomic_load_n(&file->end, __ATOMIC_RELAXED);
	uint64_t left = end < limit ? limit - end : 0;

	if (file->bounded && size > buffer_size())
		size = buffer_size() & -arch_page();
	return config.value[SETTING_MAX_FILE_SIZE] && left < size ? left : size;
}

bool file_open_window(struct file *file, size_t size)
{
	uint64_t offset;
	void *memory;

	if (file->window || !file_keep_descriptor(file))
		return file->window != NULL;
	size = within_limit(file, size);
	if (!size || !reserve_bytes(file, size, &offset))
		return false;
	// What other threads append after the window meanwhile stays there; file->end goes back to
	// the window.
	if (file->in_memory ? extend_memory(file, offset, size)
			    : allocate_range(file->fd, offset, size))
		return false;
	memory = map_range(file, offset, size);
	if (!memory)
		return false;
	file->window_offset = offset;
	file->window_size = size;
	file->window_behind = __atomic_exchange_n(&file->end, offset, __ATOMIC_RELAXED);
	__atomic_store_n(&file->window, (char *)memory, __ATOMIC_RELEASE);
	return true;
}

void file_close_window(struct file *file)
{
	if (!file->window)
		return;
	__atomic_store_n(&file->window, (char *)NULL, __ATOMIC_RELEASE);
	// Appends go on in the rest of the window, unless others appended after it.
	if (file->window_behind != file->window_offset + file->window_size)
		__atomic_store_n(&file->end, file->window_behind, __ATOMIC_RELAXED);
}

bool file_move_descriptor(struct file *file)
{
	int old = file->fd;
	int fd = sys_fcntl(old, F_DUPFD_CLOEXEC, old + 1);

	if (fd < 0)
		fd = sys_fcntl(old, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return false;
	set_descriptor(file, fd);
	return true;
}
