#include "import/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "hosted/files/cache_folder.h"
#include "hosted/files/decompressed.h"
#include "import/reader.h"

#define HEAD     65536
#define NS_PER_S UINT64_C(1000000000)

struct format {
	const char *name;
	bool (*knows)(struct span head);
	struct err *(*read)(struct import_input *input, struct import_sink *sink,
			    struct import_story *story);
};

static const struct format formats[] = {
#define FORMAT(id, name, text) {name, read_##id##_knows, read_##id},
#include "import/formats.def"
#undef FORMAT
};

static struct err *find_format(const struct import_file *file, const struct format **ret)
{
	char head[HEAD];
	size_t got;
	struct err *err = decompressed_head(file->name, file->fd, head, sizeof(head), &got);

	*ret = NULL;
	for (size_t i = 0; !err && !*ret && i < ARRAY_COUNT(formats); i++)
		if (formats[i].knows((struct span){head, got}))
			*ret = &formats[i];
	return err;
}

struct err *import_format(const struct import_file *file, const char **ret)
{
	const struct format *format;
	struct err *err = find_format(file, &format);

	if (!err)
		*ret = format ? format->name : NULL;
	return err;
}

static void input_deinit(struct import_input *input)
{
	import_text_deinit(&input->text);
	if (input->fd >= 0)
		close(input->fd);
}

/* Opens the file anew, decompressed: who reads moves the file's offset. */
static struct err *input_open(const struct import_file *file, struct import_input *input)
{
	char path[32];
	struct err *err = decompressed_open(file->name, file->fd, &input->fd, &input->whole);

	if (err)
		return err;
	if (input->fd < 0) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", file->fd);
		input->fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (input->fd < 0 || lseek(input->fd, 0, SEEK_SET) < 0)
		return err_create_errno(errno, "cannot open '%s'", file->name);
	return import_text_init(file->name, input->fd, &input->text);
}

static struct err *read_file(const struct import_file *file, const struct format *format,
			     uint64_t begin_ns, struct import_sink *sink,
			     struct import_story *story)
{
	cleanup(input_deinit) struct import_input input = {
		.name = file->name,
		.fd = -1,
	};
	struct err *err = input_open(file, &input);

	*story = (struct import_story){0};
	sink_time_next(sink, begin_ns);
	sink_reads(sink, &input.text);
	if (!err)
		err = format->read(&input, sink, story);
	// A log of a program that was killed ends anywhere; sums are whole, or wrong.
	if (!err && !input.whole && sink_is_aggregate(sink))
		err = err_create("%s: its compressed data is cut short or damaged", file->name);
	story->at_end &= input.whole;
	return err;
}

/* A dump, and when it was written. */
struct dump {
	struct import_file file;
	uint64_t modified_ns;
};

/* Orders dumps by the numbers in their names: je.2.heap comes before je.10.heap. */
static int compare_names(const void *left, const void *right)
{
	const struct dump *a = left, *b = right;

	return strverscmp(a->file.name, b->file.name);
}

static bool in_time(const struct dump *dumps, size_t count)
{
	bool different = count == 1;

	for (size_t i = 1; i < count; i++) {
		if (dumps[i].modified_ns < dumps[i - 1].modified_ns)
			return false;
		different |= dumps[i].modified_ns != dumps[0].modified_ns;
	}
	return different;
}

/*
 * Puts dumps in the order in which they were written: as they were given, or by the numbers in
 * their names. If neither is that of the files' times, they were copied: false, and the order is
 * that of their names.
 */
static bool order_dumps(struct dump *dumps, size_t count)
{
	if (in_time(dumps, count))
		return true;
	qsort(dumps, count, sizeof(*dumps), compare_names);
	return in_time(dumps, count);
}

static struct err *read_dumps(const struct dump *dumps, size_t count, bool timed,
			      struct import_sink *sink, struct import_story *story)
{
	const struct format *first = NULL, *format;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < count; i++) {
		const struct import_file *file = &dumps[i].file;
		uint64_t moment =
			timed ? dumps[i].modified_ns - dumps[0].modified_ns : i * NS_PER_S;

		err = find_format(file, &format);
		if (!err && !format)
			err = err_create("'%s' is no file that mallow can import", file->name);
		if (!err && i && format != first)
			err = err_create("'%s' is a file of %s, '%s' one of %s: they cannot be "
					 "moments of one process",
					 dumps[0].file.name, first->name, file->name, format->name);
		first = format;
		if (!err)
			err = read_file(file, format, moment, sink, story);
		if (!err && count > 1 && !sink_is_aggregate(sink))
			err = err_create("'%s' is a recording of its own, no moment of one: import "
					 "it alone",
					 file->name);
	}
	return err;
}

static struct err *read_files(const struct import_file *files, size_t count,
			      struct import_sink *sink)
{
	auto_free struct dump *dumps = calloc(count, sizeof(*dumps));
	struct import_story story = {0};
	struct err *err;
	size_t used;
	bool timed;

	if (!dumps)
		return err_no_memory();
	for (size_t i = 0; i < count; i++) {
		struct stat st;

		dumps[i].file = files[i];
		if (fstat(files[i].fd, &st) == 0)
			dumps[i].modified_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S +
					       (uint64_t)st.st_mtim.tv_nsec;
	}
	timed = order_dumps(dumps, count);
	err = read_dumps(dumps, count, timed, sink, &story);
	used = strlen(story.origin);
	if (!timed)
		snprintf(story.origin + used, sizeof(story.origin) - used,
			 ", times are not known: a second each");
	return err ? err : sink_end(sink, story.origin, story.at_end);
}

struct err *import_write(const struct import_file *files, size_t count, int to)
{
	cleanup(sink_destroy_at) struct import_sink *sink = NULL;
	struct err *err = sink_create(to, &sink);

	return err ? err : read_files(files, count, sink);
}

struct err *import_open(const struct import_file *files, size_t count, int *ret)
{
	auto_close int fd = cache_folder_nameless();
	int copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	struct err *err;

	if (copy < 0)
		return err_create_errno(errno, "%s: cannot be imported into $TMPDIR or the cache",
					files->name);
	err = import_write(files, count, copy);
	if (err)
		return err;
	*ret = fd;
	fd = -1;
	return NULL;
}
