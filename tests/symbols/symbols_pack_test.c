/*
 * Names that a recording carries: those of this program's own functions, packed and read again
 * where the program is gone. Damage at each byte and a failure of each allocation leave the names
 * of the files, or an error that says so.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "../unit/check.h"
#include "../unit/trace_writer.h"
#include "analysis/recording_data.h"
#include "analysis/recording_memory.h"
#include "analysis/names/symbols_pack.h"
#include "analysis/names/symbols_section.h"
#include "hosted/cleanup.h"

#define FRAMES 5

/* Allocations until the one that fails; below 0: none does. */
static long countdown = -1;

static bool fails(void)
{
	return countdown >= 0 && countdown-- == 0;
}

#define WRAP(name, parameters, arguments)                                                          \
	void *__real_##name parameters;                                                            \
	void *__wrap_##name parameters;                                                            \
	void *__wrap_##name parameters                                                             \
	{                                                                                          \
		if (fails()) {                                                                     \
			errno = ENOMEM;                                                            \
			return NULL;                                                               \
		}                                                                                  \
		return __real_##name arguments;                                                    \
	}

WRAP(malloc, (size_t size), (size))
WRAP(calloc, (size_t count, size_t size), (count, size))
WRAP(realloc, (void *p, size_t size), (p, size))

static uint64_t bias;
static volatile size_t read_bytes; /* so that no reading is optimised away */

static int take_bias(struct dl_phdr_info *info, size_t size, void *unused)
{
	bias = info->dlpi_addr;
	return 1; // the program comes first
}

/* A module record without build id, which this program may have or not. */
static void put_module(struct trace_writer *writer, uint64_t id, uint64_t start, const char *path)
{
	trace_writer_record(writer, 0x82, "suuuuuut", INT64_C(0), id, UINT64_C(0), start, start,
			    start + 0x10000000, UINT64_C(0), path);
}

/*
 * Two modules: this program, loaded twice at two addresses, and a library that does not exist.
 * Frames: two of this program, one of them again in its second place; one of the library; one in
 * no module.
 */
static struct recording *open_sample(const char *program)
{
	struct trace_writer writer;
	struct recording *recording = NULL;
	uint64_t first = (uintptr_t)fails - bias + 1, second = (uintptr_t)take_bias - bias + 1;

	trace_writer_init(&writer);
	trace_writer_chunk(&writer, 0, 0, TRACE_WRITER_SEALED);
	trace_writer_record(&writer, 0x87, "ut", UINT64_C(1), program);
	put_module(&writer, 1, 0x10000000, program);
	put_module(&writer, 2, 0x30000000, program);
	put_module(&writer, 3, 0x50000000, "/no/such/lib.so");
	trace_writer_frame(&writer, 1, 0x10000000 + first, 1);
	trace_writer_frame(&writer, 2, 0x10000000 + second, 1);
	trace_writer_frame(&writer, 3, 0x30000000 + first, 2);
	trace_writer_frame(&writer, 4, 0x50000011, 3);
	trace_writer_frame(&writer, 5, 0x990000, 0);
	trace_writer_push(&writer, 0, 5, 1, 2, 3, 4, 5);
	trace_writer_allocate(&writer, 1, 1, 0x10000, 100);
	trace_writer_seal(&writer);
	assert_ok(recording_open_memory("x", writer.data, writer.size, RECORDING_SUMS, &recording));
	trace_writer_deinit(&writer);
	return recording;
}

static void packed(struct recording *recording, struct buf *ret)
{
	struct symbolized *symbolized;

	buf_init(ret);
	assert_ok(symbolized_create(recording, NULL, &symbolized));
	assert_ok(symbols_pack(symbolized, NULL, NULL, ret));
	symbolized_destroy(symbolized);
}

static void give(struct recording *recording, const void *data, size_t size)
{
	free(recording->tables->symbols);
	recording->tables->symbols = malloc(size + 1);
	assert_non_null(recording->tables->symbols);
	memcpy(recording->tables->symbols, data, size);
	recording->tables->symbols_size = size;
}

static const struct named_frame *frame_at(struct symbolized *symbolized, uint32_t index)
{
	const struct named_frame *lines;
	size_t count;

	assert_ok(symbolized_frame(symbolized, index, &lines, &count));
	assert_int_equal(count, 1);
	return lines;
}

/* This program's names, from wherever they come. */
static void check_names(struct symbolized *symbolized)
{
	static const char *const names[FRAMES] = {"fails", "take_bias", "fails", "[lib.so]+0x10",
						  "0x98ffff"};

	for (uint32_t i = 0; i < FRAMES; i++) {
		const struct named_frame *line = frame_at(symbolized, i);

		assert_string_equal(line->function, names[i]);
		assert_int_equal(line->has_symbol, i < 3);
		assert_int_equal(line->file != NULL, i < 3);
		assert_int_equal(line->line != 0, i < 3);
		assert_int_equal(line->in_program, i < 3);
		if (i < 3)
			assert_non_null(strstr(line->file, "symbols_pack_test.c"));
	}
}

static void round_trip(void **unused)
{
	struct recording *recording = open_sample("/proc/self/exe");
	struct symbolized *symbolized;
	struct buf bytes, again;

	packed(recording, &bytes);
	assert_true(bytes.size > 50);

	// The same recording where the program does not exist.
	struct symbols_section *section;
	const struct symbol *symbols;
	size_t count;

	assert_ok(symbols_section_open((uint8_t *)bytes.data, bytes.size, &section));
	assert_int_equal(symbols_section_module(section, NULL, NULL, 0), UINT32_MAX);
	assert_int_equal(symbols_section_module(section, "/no/such", NULL, 0), UINT32_MAX);
	assert_int_equal(symbols_section_module(section, "/proc/self/exe", (uint8_t *)"x", 1),
			 UINT32_MAX);

	uint32_t module = symbols_section_module(section, "/proc/self/exe", NULL, 0);

	assert_int_equal(module, 0);
	assert_ok(symbols_section_find(section, module, (uintptr_t)fails - bias, &symbols, &count));
	assert_int_equal(count, 1);
	assert_string_equal(symbols->raw_function, "fails");
	assert_int_equal(symbols->offset, 0);
	assert_ok(symbols_section_find(section, module, (uintptr_t)fails - bias + 1, &symbols,
				       &count));
	assert_int_equal(count, 0);

	// Why the library has no names is there, too; the program has all.
	bool named;
	uint32_t library = symbols_section_module(section, "/no/such/lib.so", NULL, 0);

	assert_null(symbols_section_note(section, module, &named));
	assert_true(named);
	assert_int_equal(library, 1);
	assert_string_equal(symbols_section_note(section, library, &named),
			    "/no/such/lib.so: No such file or directory");
	assert_false(named);
	symbols_section_close(section);

	give(recording, bytes.data, bytes.size);
	assert_ok(symbolized_create(recording, NULL, &symbolized));
	check_names(symbolized);
	symbolized_destroy(symbolized);

	// Packed once more it is the same.
	packed(recording, &again);
	assert_int_equal(again.size, bytes.size);
	assert_memory_equal(again.data, bytes.data, bytes.size);
	buf_deinit(&again);
	buf_deinit(&bytes);
	recording_close(recording);
}

/* The names come out of the recording alone: the file at that path is gone. */
static void without_files(void **unused)
{
	char link[] = "/tmp/symbols_pack_test.XXXXXX";
	struct symbolized *symbolized;
	struct recording *recording;
	struct buf bytes;

	assert_non_null(mkdtemp(link));

	char path[sizeof(link) + 8], self[4096];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	assert_true(length > 0);
	self[length] = '\0';
	snprintf(path, sizeof(path), "%s/p", link);
	assert_int_equal(symlink(self, path), 0);
	recording = open_sample(path);
	packed(recording, &bytes);
	unlink(path);
	rmdir(link);

	assert_ok(symbolized_create(recording, NULL, &symbolized));
	assert_string_equal(frame_at(symbolized, 0)->module_name, "p");
	assert_false(frame_at(symbolized, 0)->has_symbol);
	symbolized_destroy(symbolized);

	give(recording, bytes.data, bytes.size);
	assert_ok(symbolized_create(recording, NULL, &symbolized));
	check_names(symbolized);
	symbolized_destroy(symbolized);
	buf_deinit(&bytes);
	recording_close(recording);
}

/* No frame is named: the notes alone are written, and hold where no file was looked at yet. */
static void notes_alone(void **unused)
{
	struct recording *recording = open_sample("/no/such/program");
	struct symbolized *symbolized;
	struct buf bytes;

	packed(recording, &bytes);
	give(recording, bytes.data, bytes.size);
	assert_ok(symbolized_create(recording, NULL, &symbolized));
	for (uint32_t module = 0; module < 3; module++)
		assert_string_equal(symbolized_note(symbolized, module),
				    module < 2 ? "/no/such/program: No such file or directory"
					       : "/no/such/lib.so: No such file or directory");
	assert_false(frame_at(symbolized, 0)->has_symbol);
	symbolized_destroy(symbolized);
	buf_deinit(&bytes);
	recording_close(recording);
}

static size_t text_size(const char *text)
{
	return text ? strlen(text) : 0;
}

/* Each byte changed in three ways, and each length: read or refused, and all frames have names. */
static void damage(void **unused)
{
	struct recording *recording = open_sample("/proc/self/exe");
	struct symbolizer *symbolizer;
	struct symbolized *symbolized;
	unsigned int refused = 0;
	struct buf bytes;

	packed(recording, &bytes);
	assert_ok(symbolizer_create(&symbolizer));
	for (size_t i = 0; i < bytes.size * 4; i++) {
		static const uint8_t changes[] = {0x01, 0x80, 0xff};
		size_t at = i / 4, size = i % 4 < 3 ? bytes.size : at;
		struct symbols_section *section = NULL;

		give(recording, bytes.data, size);
		if (i % 4 < 3)
			recording->tables->symbols[at] ^= changes[i % 4];

		struct err *err = symbols_section_open(recording->tables->symbols, size, &section);

		refused += err != NULL;
		assert_true(err || size == bytes.size);
		symbols_section_close(section);
		assert_ok(symbolized_create(recording, &(struct naming){.symbolizer = symbolizer},
					    &symbolized));
		if (err)
			check_names(symbolized);
		for (uint32_t frame = 0; frame < FRAMES; frame++) {
			const struct named_frame *lines;
			size_t count;

			assert_ok(symbolized_frame(symbolized, frame, &lines, &count));
			assert_true(count && lines->function);
		}
		for (uint32_t module = 0; module < 3; module++)
			read_bytes += text_size(symbolized_note(symbolized, module));
		symbolized_destroy(symbolized);
		err_destroy(err);
	}
	assert_true(refused > bytes.size);
	symbolizer_destroy(symbolizer);
	buf_deinit(&bytes);
	recording_close(recording);
}

static struct err *pack_and_read(struct recording *recording)
{
	struct symbolized *symbolized = NULL;
	cleanup(buf_deinit) struct buf bytes;
	struct err *err = symbolized_create(recording, NULL, &symbolized);
	const struct named_frame *lines;
	size_t count;

	buf_init(&bytes);
	if (!err)
		err = symbols_pack(symbolized, NULL, NULL, &bytes);
	for (uint32_t i = 0; !err && i < FRAMES; i++)
		err = symbolized_frame(symbolized, i, &lines, &count);
	symbolized_destroy(symbolized);
	return err;
}

static void no_memory(void **unused)
{
	for (int with_section = 0; with_section < 2; with_section++) {
		struct recording *recording = open_sample("/proc/self/exe");
		long failures = 0;
		struct buf bytes;

		packed(recording, &bytes);
		if (with_section)
			give(recording, bytes.data, bytes.size);
		for (long n = 0, done = 0; !done; n++) {
			countdown = n;

			struct err *err = pack_and_read(recording);

			done = countdown >= 0; // so many were not needed
			countdown = -1;
			if (err) {
				assert_int_equal(err_number(err), ENOMEM);
				failures++;
			}
			err_destroy(err);
		}
		assert_true(failures > 10);
		buf_deinit(&bytes);
		recording_close(recording);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),  cmocka_unit_test(without_files),
		cmocka_unit_test(notes_alone), cmocka_unit_test(damage),
		cmocka_unit_test(no_memory),
	};

	dl_iterate_phdr(take_bias, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
