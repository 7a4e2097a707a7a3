/* What reports of the C API are made with: order, JSON, names of ELF files, which may be anything.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/ground/own_pages.h"
#include "agent/life/process.h"
#include "agent/report/report_writer.h"
#include "agent/report/report_sort.h"
#include "agent/report/symbol_file.h"

bool process_forbidden;

static size_t pages_left = SIZE_MAX;

void *own_pages_allocate(size_t size)
{
	if (!pages_left)
		return NULL;
	pages_left--;
	return calloc(1, size);
}

void own_pages_release(void *memory, size_t size)
{
	(void)size;
	free(memory);
}

static bool is_larger(const void *a, const void *b, int by)
{
	const int *first = a, *second = b;

	return by * *first > by * *second;
}

static void sorts(void **state)
{
	static int values[1000];
	static const void *rows[1000];

	(void)state;
	for (size_t count = 0; count < 1000; count += count < 10 ? 1 : 97) {
		for (size_t i = 0; i < count; i++) {
			values[i] = (int)(i * 7919 % 501);
			rows[i] = &values[i];
		}
		for (int by = -1; by <= 1; by += 2) {
			report_sort(rows, count, is_larger, by);
			for (size_t i = 1; i < count; i++)
				assert_true(by * *(const int *)rows[i - 1] >=
					    by * *(const int *)rows[i]);
		}
	}
}

/* What was written to a file in memory. */
static void read_back(int fd, char *text, size_t room)
{
	ssize_t size = pread(fd, text, room - 1, 0);

	assert_true(size >= 0);
	text[size] = 0;
}

static void writes_json(void **state)
{
	struct report_memory memory = {0};
	struct report_writer writer;
	int fd = memfd_create("json", 0);
	char text[300];

	(void)state;
	report_writer_begin(&writer, fd, &memory);
	report_json_open(&writer, NULL, '{');
	report_json_text(&writer, "a", "\"\\\n\x01z");
	report_json_text(&writer, "b", "\xc3\xa4\xff\xe2\x82");
	report_json_text(&writer, "c", NULL);
	report_json_open(&writer, "d", '[');
	report_json_number(&writer, NULL, UINT64_MAX);
	report_json_number(&writer, NULL, 0);
	report_json_open(&writer, NULL, '[');
	report_json_close(&writer, ']');
	report_json_close(&writer, ']');
	report_json_hex(&writer, "e", 0xabc, 6);
	report_json_close(&writer, '}');
	assert_int_equal(report_writer_end(&writer), 0);
	read_back(fd, text, sizeof(text));
	assert_string_equal(text,
			    "{\"a\":\"\\\"\\\\\\u000a\\u0001z\",\"b\":\"\xc3\xa4\\ufffd\\ufffd\","
			    "\"c\":null,\"d\":[18446744073709551615,0,[]],\"e\":\"0x000abc\"}");
	close(fd);
	report_memory_release(&memory);
}

static void writes_much(void **state)
{
	struct report_memory memory = {0};
	struct report_writer writer;
	int fd = memfd_create("much", 0);

	(void)state;
	report_writer_begin(&writer, fd, &memory);
	for (int i = 0; i < 200000; i++)
		report_put(&writer, "ab");
	assert_int_equal(report_writer_end(&writer), 0);
	assert_int_equal(lseek(fd, 0, SEEK_END), 400000);
	close(fd);
	report_writer_begin(&writer, -1, &memory);
	report_put(&writer, "nowhere");
	assert_int_equal(report_writer_end(&writer), -1);
	report_memory_release(&memory);
	pages_left = 0;
	report_writer_begin(&writer, 1, &memory);
	report_put(&writer, "no memory");
	assert_int_equal(report_writer_end(&writer), -1);
	pages_left = SIZE_MAX;
}

/* This program's own file: a function of it is found by its address, as it was linked. */
static void finds_functions(void **state)
{
	struct report_memory memory = {0};
	struct symbol_file file = {0};
	uint64_t offset;
	size_t found = 0;

	(void)state;
	symbol_file_read(&file, "/proc/self/exe", NULL, 0, &memory);
	assert_true(file.count > 10);
	for (uint64_t address = 0; address < 1 << 20; address += 8) {
		const char *name = symbol_file_find(&file, address, &offset);

		found += name && !strcmp(name, "report_sort");
	}
	assert_true(found > 2 && found < 200);
	report_memory_release(&memory);
	file = (struct symbol_file){0};
	symbol_file_read(&file, "/proc/self/exe", (const uint8_t *)"another", 7, &memory);
	assert_int_equal(file.count, 0);
	symbol_file_read(&file, "/proc/self", NULL, 0, &memory);
	symbol_file_read(&file, "/no/such/file", NULL, 0, &memory);
	assert_null(symbol_file_find(&file, 1, &offset));
	report_memory_release(&memory);
}

static void read_changed(const uint8_t *bytes, size_t size)
{
	struct report_memory memory = {0};
	struct symbol_file file = {0};
	int fd = memfd_create("changed", 0);
	char path[64];
	uint64_t offset;

	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	symbol_file_read(&file, path, bytes, 20, &memory);
	symbol_file_read(&file, path, NULL, 0, &memory);
	for (uint64_t address = 0; address < 1 << 20; address += 4096)
		symbol_file_find(&file, address, &offset);
	report_memory_release(&memory);
	close(fd);
}

/* Each word of the header and of the section headers, and the length: under the sanitizers. */
static void believes_no_file(void **state)
{
	static uint8_t bytes[32 << 20];
	int fd = open("/proc/self/exe", O_RDONLY);
	ssize_t size = read(fd, bytes, sizeof(bytes));
	uint64_t sections;

	(void)state;
	close(fd);
	assert_true(size > 4096 && size < (ssize_t)sizeof(bytes));
	memcpy(&sections, bytes + 40, sizeof(sections));
	for (size_t at = 16; at < 64; at += 2)
		for (int value = -1; value <= 1; value++) {
			uint16_t before;

			memcpy(&before, bytes + at, 2);
			memcpy(bytes + at, &(uint16_t){(uint16_t)(value * 0x7fff)}, 2);
			read_changed(bytes, (size_t)size);
			memcpy(bytes + at, &before, 2);
		}
	for (size_t at = sections; at + 8 <= (size_t)size && at < sections + 64 * 40; at += 8) {
		uint64_t before;

		memcpy(&before, bytes + at, 8);
		memcpy(bytes + at, &(uint64_t){before + (before << 13) + 3}, 8);
		read_changed(bytes, (size_t)size);
		memcpy(bytes + at, &before, 8);
	}
	for (size_t cut = 0; cut < (size_t)size; cut += (size_t)size / 40)
		read_changed(bytes, cut);
}

/* Each allocation in turn. */
static void needs_no_memory(void **state)
{
	(void)state;
	for (size_t pages = 0; pages < 12; pages++) {
		struct report_memory memory = {0};
		struct symbol_file file = {0};
		uint64_t offset;

		pages_left = pages;
		symbol_file_read(&file, "/proc/self/exe", NULL, 0, &memory);
		symbol_file_find(&file, 4096, &offset);
		report_memory_release(&memory);
	}
	pages_left = SIZE_MAX;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sorts),
		cmocka_unit_test(writes_json),
		cmocka_unit_test(writes_much),
		cmocka_unit_test(finds_functions),
		cmocka_unit_test(believes_no_file),
		cmocka_unit_test(needs_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
