/* The modules that chunks name: which are noted, of damaged chunks, too, and with no memory. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "failing_malloc.h"
#include "stream/modules/named_modules.h"
#include "trace/format.h"
#include "trace_writer.h"

static void module(struct trace_writer *writer, const char *build_id, const char *path)
{
	trace_writer_record(writer, TRACE_RECORD_MODULE, "suuuuubt", (int64_t)0, (uint64_t)1,
			    (uint64_t)1, (uint64_t)0, (uint64_t)0x1000, (uint64_t)0x2000, build_id,
			    path);
}

static struct err *add(struct named_modules *modules, const struct trace_writer *writer)
{
	return named_modules_add(modules, writer->data + writer->chunk,
				 writer->size - writer->chunk);
}

static const char *path_of(const struct named_modules *modules, const char *build_id)
{
	return named_modules_find(modules, (const uint8_t *)build_id, strlen(build_id));
}

/* A chunk with modules between other records, whose stack was carried over from another chunk. */
static void fill(struct trace_writer *writer, enum trace_writer_role role)
{
	trace_writer_init(writer);
	trace_writer_chunk(writer, 0, 3, role);
	trace_writer_carried(writer, 2000);
	trace_writer_frame(writer, 1, 0x1001, 0);
	module(writer, "first id", "/bin/first");
	trace_writer_push(writer, 1900, 1, 1);
	trace_writer_allocate(writer, 1, 10, 0x5000, 100);
	module(writer, "second id", "/lib/second");
	module(writer, "", "/lib/without");
	module(writer, "first id", "/bin/again");
	trace_writer_seal(writer);
}

static void assert_both(const struct named_modules *modules)
{
	assert_int_equal(named_modules_count(modules), 2);
	assert_string_equal(named_modules_at(modules, 0)->path, "/bin/first");
	assert_int_equal(named_modules_at(modules, 0)->build_id_size, strlen("first id"));
	assert_memory_equal(named_modules_at(modules, 0)->build_id, "first id", strlen("first id"));
	assert_string_equal(named_modules_at(modules, 1)->path, "/lib/second");
	assert_string_equal(path_of(modules, "first id"), "/bin/first");
	assert_string_equal(path_of(modules, "second id"), "/lib/second");
	assert_null(path_of(modules, "first"));
	assert_null(path_of(modules, "third id"));
}

static void each_once(void **state)
{
	struct named_modules *modules;
	struct trace_writer writer;

	for (int role = TRACE_WRITER_SLOT; role <= TRACE_WRITER_SEALED; role++) {
		fill(&writer, role);
		assert_ok(named_modules_create(&modules));
		assert_null(path_of(modules, "first id"));
		assert_ok(add(modules, &writer));
		assert_both(modules);
		assert_ok(add(modules, &writer));
		assert_both(modules);
		named_modules_destroy(modules);
		trace_writer_deinit(&writer);
	}
}

/* A live table of a big-endian machine. Numbers of fixed size are the other way round there. */
static void big_endian(void **state)
{
	static const uint8_t sizes[] = {8, 4, 4, 4, 4, 8, 8, 8, 8, 4, 4};
	struct named_modules *modules;
	struct trace_writer writer;

	fill(&writer, TRACE_WRITER_SEALED);
	for (size_t i = 0, at = writer.chunk; i < sizeof(sizes); at += sizes[i++])
		for (size_t j = 0; j < sizes[i] / 2u; j++) {
			uint8_t byte = writer.data[at + j];

			writer.data[at + j] = writer.data[at + sizes[i] - 1 - j];
			writer.data[at + sizes[i] - 1 - j] = byte;
		}
	assert_ok(named_modules_create(&modules));
	assert_ok(add(modules, &writer));
	assert_both(modules);
	named_modules_destroy(modules);
	trace_writer_deinit(&writer);
}

static void damaged(void **state)
{
	struct named_modules *modules;
	struct trace_writer writer;

	assert_ok(named_modules_create(&modules));
	trace_writer_init(&writer);
	trace_writer_chunk(&writer, 0, 0, TRACE_WRITER_SEALED);
	module(&writer, "before", "/before");
	trace_writer_byte(&writer, 0);
	module(&writer, "behind", "/behind");
	trace_writer_seal(&writer);
	assert_ok(add(modules, &writer));
	assert_int_equal(named_modules_count(modules), 1);
	assert_string_equal(path_of(modules, "before"), "/before");
	trace_writer_deinit(&writer);

	// Paths that cannot be, and a build id that nothing can have.
	char long_path[NAMED_MODULES_PATH_MAX + 2], long_id[66];

	memset(long_path, 'x', sizeof(long_path));
	long_path[sizeof(long_path) - 1] = '\0';
	memset(long_id, 'i', sizeof(long_id));
	long_id[sizeof(long_id) - 1] = '\0';
	trace_writer_init(&writer);
	trace_writer_chunk(&writer, 0, 0, TRACE_WRITER_SEALED);
	module(&writer, "too long", long_path);
	module(&writer, long_id, "/x");
	module(&writer, "id", long_path + 1);
	trace_writer_seal(&writer);
	assert_ok(add(modules, &writer));
	assert_int_equal(named_modules_count(modules), 2);
	assert_string_equal(path_of(modules, "id"), long_path + 1);

	trace_writer_deinit(&writer);

	// A NUL within a path: whoever opens it would open another file.
	trace_writer_init(&writer);
	trace_writer_chunk(&writer, 0, 0, TRACE_WRITER_SEALED);
	module(&writer, "with a NUL", "/path");
	trace_writer_seal(&writer);
	*(char *)memmem(writer.data + writer.chunk, 4096, "/path", 5) = '\0';
	assert_ok(add(modules, &writer));
	assert_int_equal(named_modules_count(modules), 2);
	trace_writer_deinit(&writer);
	named_modules_destroy(modules);
}

/* Any byte may have any value, and a chunk may end anywhere: nothing is read outside of it. */
static void any_bytes(void **state)
{
	struct named_modules *modules;
	struct trace_writer writer;

	assert_ok(named_modules_create(&modules));
	fill(&writer, TRACE_WRITER_SEALED);
	for (size_t size = 0; size < 400; size++) {
		void *cut = malloc(size ? size : 1);

		memcpy(cut, writer.data + writer.chunk, size);
		assert_ok(named_modules_add(modules, cut, size));
		free(cut);
	}
	assert_both(modules);
	for (size_t at = 0; at < 400; at++) {
		for (int value = 0; value < 256; value += 17) {
			uint8_t *byte = writer.data + writer.chunk + at, old = *byte;

			*byte = (uint8_t)value;
			assert_ok(add(modules, &writer));
			*byte = old;
		}
	}
	trace_writer_deinit(&writer);
	named_modules_destroy(modules);
}

static void many(void **state)
{
	struct named_modules *modules;
	unsigned int id = 0;

	assert_ok(named_modules_create(&modules));
	while (id < NAMED_MODULES_MAX + 1000) {
		struct trace_writer writer;

		trace_writer_init(&writer);
		trace_writer_chunk(&writer, 0, 0, TRACE_WRITER_SEALED);
		for (unsigned int i = 0; i < 1000; i++, id++) {
			char text[20];

			snprintf(text, sizeof(text), "id %u", id);
			module(&writer, text, text);
		}
		trace_writer_seal(&writer);
		assert_ok(add(modules, &writer));
		trace_writer_deinit(&writer);
	}
	assert_int_equal(named_modules_count(modules), NAMED_MODULES_MAX);
	assert_string_equal(path_of(modules, "id 65535"), "id 65535");
	assert_null(path_of(modules, "id 65536"));
	named_modules_destroy(modules);
}

static void no_memory(void **state)
{
	struct trace_writer writer;
	long n;

	fill(&writer, TRACE_WRITER_SEALED);
	for (n = 0;; n++) {
		struct named_modules *modules = NULL;
		struct err *err;

		failing_malloc_countdown = n;
		err = named_modules_create(&modules);
		if (!err)
			err = add(modules, &writer);
		failing_malloc_countdown = -1;
		if (!err) {
			assert_both(modules);
			named_modules_destroy(modules);
			break;
		}
		assert_int_equal(err_number(err), ENOMEM);
		err_destroy(err);
		if (modules) {
			assert_ok(add(modules, &writer));
			assert_both(modules);
		}
		named_modules_destroy(modules);
	}
	assert_true(n > 4);
	trace_writer_deinit(&writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_once), cmocka_unit_test(big_endian),
		cmocka_unit_test(damaged),   cmocka_unit_test(any_bytes),
		cmocka_unit_test(many),      cmocka_unit_test(no_memory),
	};

	failing_malloc_countdown = -1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
