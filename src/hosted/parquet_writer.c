#include "hosted/parquet_writer.h"

#include <assert.h>
#include <string.h>

#include "base/shown_text.h"
#include "hosted/intern.h"
#include "hosted/map.h"
#include "hosted/vec.h"
#include "hosted/zstd_frame.h"

#define MAGIC        "PAR1"
#define GROUP_ROWS   (1u << 20)
#define GROUP_TEXTS  (64u << 20) /* bytes of distinct texts */
#define FEW_DISTINCT 4096        /* beyond these, a sixteenth of the integers may be distinct */
#define LONG_RUN     16
#define LEVEL        3 /* of zstd: 3 takes twice the time for a twentieth less */

/* Numbers of parquet.thrift. */
enum { TYPE_INT64 = 2, TYPE_BYTES = 6 };
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_RLE_DICTIONARY = 8 };
enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };
enum { CODEC_ZSTD = 6, CONVERTED_UTF8 = 0, REPETITION_REQUIRED = 0 };

/* Of the compact protocol of Thrift. */
enum thrift {
	THRIFT_I32 = 5,
	THRIFT_I64 = 6,
	THRIFT_BINARY = 8,
	THRIFT_LIST = 9,
	THRIFT_STRUCT = 12
};

/* A struct that is being written: each field has the distance of its number from the last one. */
struct record {
	struct buf *buf;
	int last;
};

struct column {
	struct parquet_column is;
	/* Of the rows in the group: the values, or which of the distinct ones. */
	VEC(int64_t) values;
	VEC(uint32_t) indices;
	VEC(int64_t) distinct;
	VEC(const char *) texts; /* distinct ones */
	struct intern kept;      /* their memory */
	struct map numbers;      /* of distinct values; of texts by their addresses */
	const char *last_text;
	int64_t smallest, largest;
};

struct parquet_writer {
	struct buf *out;
	uint64_t at; /* bytes written */
	struct column *columns;
	size_t count;
	size_t next; /* the column whose value comes next */
	size_t rows; /* in the group */
	size_t text_bytes;
	uint64_t all_rows;
	struct buf groups; /* the footer's part about the groups so far */
	size_t group_count;
	struct buf page;    /* scratch: what a page holds … */
	struct buf encoded; /* … and its bytes */
	struct zstd_writer *zstd;
	bool no_memory;
};

static void put_field(struct record *record, int number, enum thrift type)
{
	buf_char(record->buf, (char)((number - record->last) << 4 | (int)type));
	record->last = number;
}

static void put_zigzag(struct buf *buf, int64_t value)
{
	buf_varint(buf, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

static void put_number(struct record *record, int number, enum thrift type, int64_t value)
{
	put_field(record, number, type);
	put_zigzag(record->buf, value);
}

static void put_binary(struct buf *buf, const void *data, size_t size)
{
	buf_varint(buf, size);
	buf_put(buf, data, size);
}

static void put_binary_field(struct record *record, int number, const void *data, size_t size)
{
	put_field(record, number, THRIFT_BINARY);
	put_binary(record->buf, data, size);
}

static void put_list(struct record *record, int number, enum thrift type, size_t count)
{
	put_field(record, number, THRIFT_LIST);
	buf_char(record->buf, (char)((count < 15 ? (int)count << 4 : 0xf0) | (int)type));
	if (count >= 15)
		buf_varint(record->buf, count);
}

/* Begins a struct within another one; put_stop() ends it. */
static struct record put_struct(struct record *record, int number)
{
	put_field(record, number, THRIFT_STRUCT);
	return (struct record){record->buf, 0};
}

static void put_stop(struct buf *buf)
{
	buf_char(buf, 0);
}

static void write_bytes(struct parquet_writer *writer, const void *data, size_t size)
{
	buf_put(writer->out, data, size);
	writer->at += size;
}

struct err *parquet_writer_create(struct buf *out, const struct parquet_column *columns,
				  size_t count, struct parquet_writer **ret)
{
	cleanup(parquet_writer_destroy_at) struct parquet_writer *writer =
		calloc(1, sizeof(*writer));
	struct err *err;

	if (!writer)
		return err_no_memory();
	writer->out = out;
	buf_init(&writer->groups);
	buf_init(&writer->page);
	buf_init(&writer->encoded);
	writer->columns = calloc(count, sizeof(*writer->columns));
	if (!writer->columns)
		return err_no_memory();
	writer->count = count;
	for (size_t i = 0; i < count; i++)
		writer->columns[i].is = columns[i];
	err = zstd_writer_create(LEVEL, &writer->zstd);
	if (err)
		return err;
	write_bytes(writer, MAGIC, strlen(MAGIC));
	*ret = steal(&writer);
	return NULL;
}

static void column_deinit(struct column *column)
{
	vec_deinit(&column->values);
	vec_deinit(&column->indices);
	vec_deinit(&column->distinct);
	vec_deinit(&column->texts);
	map_deinit(&column->numbers);
	intern_deinit(&column->kept);
	column->last_text = NULL;
}

void parquet_writer_destroy(struct parquet_writer *writer)
{
	if (!writer)
		return;
	for (size_t i = 0; i < writer->count; i++)
		column_deinit(&writer->columns[i]);
	free(writer->columns);
	buf_deinit(&writer->groups);
	buf_deinit(&writer->page);
	buf_deinit(&writer->encoded);
	zstd_writer_destroy(writer->zstd);
	free(writer);
}

void parquet_i64(struct parquet_writer *writer, int64_t value)
{
	struct column *column = &writer->columns[writer->next++];

	assert(column->is.type == PARQUET_I64);
	if (!writer->rows || value < column->smallest)
		column->smallest = value;
	if (!writer->rows || value > column->largest)
		column->largest = value;
	if (!vec_push(&column->values, value))
		writer->no_memory = true;
}

/* *ret: the number of a distinct text. false: no memory. */
static bool find_text(struct parquet_writer *writer, struct column *column, const char *text,
		      uint64_t *ret)
{
	uint64_t *number;
	const char *kept;
	size_t size;

	*ret = map_get(&column->numbers, (uintptr_t)text);
	if (*ret != MAP_NONE)
		return true;
	size = strlen(text);
	kept = intern_bytes(&column->kept, text, size);
	number = kept ? map_put(&column->numbers, (uintptr_t)kept) : NULL;
	if (!number)
		return false;
	if (*number == MAP_NONE) {
		*number = column->texts.count;
		writer->text_bytes += size;
		if (!vec_push(&column->texts, kept))
			return false;
	}
	*ret = *number;
	number = map_put(&column->numbers, (uintptr_t)text);
	if (number)
		*number = *ret;
	return number;
}

void parquet_text(struct parquet_writer *writer, const char *text)
{
	struct column *column = &writer->columns[writer->next++];
	uint64_t number;

	assert(column->is.type == PARQUET_TEXT);
	if (text == column->last_text && column->indices.count) {
		number = column->indices.items[column->indices.count - 1];
	} else if (!find_text(writer, column, text, &number)) {
		writer->no_memory = true;
		return;
	}
	column->last_text = text;
	if (!vec_push(&column->indices, (uint32_t)number))
		writer->no_memory = true;
}

/* Numbers the distinct values of integers. false: most are distinct, so they stay as they are. */
static bool number_values(struct parquet_writer *writer, struct column *column)
{
	const int64_t *values = column->values.items;
	uint64_t *number = NULL;

	writer->no_memory |= !vec_reserve(&column->indices, column->values.count);
	for (size_t i = 0; i < column->values.count && !writer->no_memory; i++) {
		if (column->distinct.count > FEW_DISTINCT + i / 16)
			return false;
		if (!i || values[i] != values[i - 1])
			number = map_put(&column->numbers, (uint64_t)values[i]);
		if (number && *number == MAP_NONE) {
			*number = column->distinct.count;
			writer->no_memory = !vec_push(&column->distinct, values[i]);
		}
		writer->no_memory |= !number;
		column->indices.items[column->indices.count++] = number ? (uint32_t)*number : 0;
	}
	return true;
}

/* Writes a text behind its size. */
static void put_text(struct buf *buf, const char *text)
{
	size_t start = buf->size, size = strlen(text), length;
	uint32_t bytes = 0;

	buf_put(buf, &bytes, sizeof(bytes));
	for (size_t i = 0; i < size; i += length) {
		if (shown_code(text + i, size - i, &length) == UINT32_MAX)
			buf_text(buf, "\xef\xbf\xbd");
		else
			buf_put(buf, text + i, length);
	}
	bytes = (uint32_t)(buf->size - start - sizeof(bytes));
	if (!buf->failure)
		memcpy(buf->data + start, &bytes, sizeof(bytes));
}

/* Writes numbers of `width` bits in groups of eight, the last one filled up with zeros. */
static void put_packed(struct buf *buf, const uint32_t *numbers, size_t count, unsigned width)
{
	size_t groups = (count + 7) / 8;
	uint64_t bits = 0;
	unsigned have = 0;
	uint8_t *to;

	buf_varint(buf, groups << 1 | 1);
	to = buf_room(buf, groups * width);
	if (!to)
		return;
	buf->size += groups * width;
	for (size_t i = 0; i < groups * 8; i++) {
		bits |= (uint64_t)(i < count ? numbers[i] : 0) << have;
		for (have += width; have >= 8; have -= 8, bits >>= 8)
			*to++ = (uint8_t)bits;
	}
}

static void put_run(struct buf *buf, uint32_t number, size_t count, unsigned width)
{
	buf_varint(buf, count << 1);
	for (unsigned shift = 0; shift < width; shift += 8)
		buf_char(buf, (char)(number >> shift));
}

/* How many numbers from the first one on are equal. */
static size_t run_length(const uint32_t *numbers, size_t count)
{
	size_t run = 1;

	while (run < count && numbers[run] == numbers[0])
		run++;
	return run;
}

/* Writes numbers as Parquet's hybrid: runs of equal ones, and others packed. */
static void put_numbers(struct buf *buf, const uint32_t *numbers, size_t count, unsigned width)
{
	size_t run, packed;

	for (size_t i = 0; i < count; i += packed + run) {
		// Packed are whole groups, unless they are the last.
		for (packed = 0, run = 0; i + packed < count; packed += 8) {
			run = run_length(numbers + i + packed, count - i - packed);
			if (run >= LONG_RUN)
				break;
			run = 0;
		}
		if (packed > count - i)
			packed = count - i;
		if (packed)
			put_packed(buf, numbers + i, packed, width);
		if (run)
			put_run(buf, numbers[i + packed], run, width);
	}
}

/* Writes the page that writer->page holds. *raw grows by its size without compression. */
static struct err *write_page(struct parquet_writer *writer, int type, int encoding, size_t values,
			      uint64_t *raw)
{
	cleanup(buf_deinit) struct buf head = BUF_EMPTY;
	struct record record = {&head, 0}, inner;
	struct err *err;
	size_t size;
	char *room;

	if (writer->page.failure)
		return err_no_memory();
	writer->encoded.size = 0;
	room = buf_room(&writer->encoded, zstd_frame_bound(writer->page.size));
	if (!room)
		return err_no_memory();
	err = zstd_writer_frame(writer->zstd, writer->page.data, writer->page.size, room,
				zstd_frame_bound(writer->page.size), &size);
	if (err)
		return err;
	put_number(&record, 1, THRIFT_I32, type);
	put_number(&record, 2, THRIFT_I32, (int64_t)writer->page.size);
	put_number(&record, 3, THRIFT_I32, (int64_t)size);
	inner = put_struct(&record, type == PAGE_DATA ? 5 : 7);
	put_number(&inner, 1, THRIFT_I32, (int64_t)values);
	put_number(&inner, 2, THRIFT_I32, encoding);
	if (type == PAGE_DATA) {
		put_number(&inner, 3, THRIFT_I32, ENCODING_RLE);
		put_number(&inner, 4, THRIFT_I32, ENCODING_RLE);
	}
	put_stop(&head);
	put_stop(&head);
	if (head.failure)
		return err_no_memory();
	*raw += head.size + writer->page.size;
	write_bytes(writer, head.data, head.size);
	write_bytes(writer, room, size);
	writer->page.size = 0;
	return NULL;
}

static struct err *write_dictionary(struct parquet_writer *writer, const struct column *column,
				    uint64_t *raw)
{
	bool text = column->is.type == PARQUET_TEXT;

	if (!text)
		buf_put(&writer->page, column->distinct.items,
			column->distinct.count * sizeof(*column->distinct.items));
	for (size_t i = 0; i < column->texts.count; i++)
		put_text(&writer->page, column->texts.items[i]);
	return write_page(writer, PAGE_DICTIONARY, ENCODING_PLAIN,
			  text ? column->texts.count : column->distinct.count, raw);
}

static struct err *write_values(struct parquet_writer *writer, const struct column *column,
				bool numbered, uint64_t *raw)
{
	size_t distinct = column->distinct.count + column->texts.count;
	unsigned width = 8;

	if (numbered) {
		// Whole bytes, although fewer bits may do: zstd finds what comes again.
		while ((size_t)1 << width < distinct)
			width += 8;
		buf_char(&writer->page, (char)width);
		put_numbers(&writer->page, column->indices.items, writer->rows, width);
	} else {
		buf_put(&writer->page, column->values.items,
			writer->rows * sizeof(*column->values.items));
	}
	return write_page(writer, PAGE_DATA, numbered ? ENCODING_RLE_DICTIONARY : ENCODING_PLAIN,
			  writer->rows, raw);
}

/* Writes what the footer says of a column of the group: ColumnChunk. */
static void put_chunk(struct parquet_writer *writer, const struct column *column, bool numbered,
		      uint64_t start, uint64_t values, uint64_t raw)
{
	struct buf *buf = &writer->groups;
	struct record chunk = {buf, 0}, data;

	put_number(&chunk, 2, THRIFT_I64, (int64_t)start);
	data = put_struct(&chunk, 3);
	put_number(&data, 1, THRIFT_I32, column->is.type == PARQUET_TEXT ? TYPE_BYTES : TYPE_INT64);
	put_list(&data, 2, THRIFT_I32, 2);
	put_zigzag(buf, numbered ? ENCODING_RLE_DICTIONARY : ENCODING_PLAIN);
	put_zigzag(buf, ENCODING_RLE);
	put_list(&data, 3, THRIFT_BINARY, 1);
	put_binary(buf, column->is.name, strlen(column->is.name));
	put_number(&data, 4, THRIFT_I32, CODEC_ZSTD);
	put_number(&data, 5, THRIFT_I64, (int64_t)writer->rows);
	put_number(&data, 6, THRIFT_I64, (int64_t)raw);
	put_number(&data, 7, THRIFT_I64, (int64_t)(writer->at - start));
	put_number(&data, 9, THRIFT_I64, (int64_t)values);
	if (numbered)
		put_number(&data, 11, THRIFT_I64, (int64_t)start);
	if (column->is.type == PARQUET_I64) {
		struct record statistics = put_struct(&data, 12);

		put_number(&statistics, 3, THRIFT_I64, 0); // values that are null
		put_binary_field(&statistics, 5, &column->largest, sizeof(column->largest));
		put_binary_field(&statistics, 6, &column->smallest, sizeof(column->smallest));
		put_stop(buf);
	}
	put_stop(buf);
	put_stop(buf);
}

static struct err *write_column(struct parquet_writer *writer, struct column *column, uint64_t *all)
{
	uint64_t start = writer->at, raw = 0, values;
	bool numbered = column->is.type == PARQUET_TEXT || number_values(writer, column);
	struct err *err = writer->no_memory ? err_no_memory() : NULL;

	if (!err && numbered)
		err = write_dictionary(writer, column, &raw);
	values = writer->at;
	if (!err)
		err = write_values(writer, column, numbered, &raw);
	if (err)
		return err;
	put_chunk(writer, column, numbered, start, values, raw);
	column_deinit(column);
	*all += raw;
	return NULL;
}

struct err *parquet_end_group(struct parquet_writer *writer)
{
	struct record group = {&writer->groups, 0};
	uint64_t all = 0;
	struct err *err = NULL;

	if (!writer->rows)
		return NULL;
	put_list(&group, 1, THRIFT_STRUCT, writer->count);
	for (size_t i = 0; !err && i < writer->count; i++)
		err = write_column(writer, &writer->columns[i], &all);
	if (err)
		return err;
	put_number(&group, 2, THRIFT_I64, (int64_t)all);
	put_number(&group, 3, THRIFT_I64, (int64_t)writer->rows);
	put_stop(group.buf);
	writer->all_rows += writer->rows;
	writer->rows = writer->text_bytes = 0;
	writer->group_count++;
	// A full disk ends it here: a stream's failure stays in it.
	return writer->out->failure ? buf_finish(writer->out) : NULL;
}

struct err *parquet_end_row(struct parquet_writer *writer)
{
	assert(writer->next == writer->count);
	writer->next = 0;
	writer->rows++;
	if (writer->no_memory)
		return err_no_memory();
	return writer->rows == GROUP_ROWS || writer->text_bytes > GROUP_TEXTS
		       ? parquet_end_group(writer)
		       : NULL;
}

/* Writes the footer's list of columns. */
static void put_schema(struct record *file, const struct parquet_writer *writer)
{
	static const char root[] = "table";
	struct record element = {file->buf, 0};

	put_list(file, 2, THRIFT_STRUCT, writer->count + 1);
	put_binary_field(&element, 4, root, strlen(root));
	put_number(&element, 5, THRIFT_I32, (int64_t)writer->count);
	put_stop(file->buf);
	for (size_t i = 0; i < writer->count; i++) {
		const struct parquet_column *is = &writer->columns[i].is;

		element.last = 0;
		put_number(&element, 1, THRIFT_I32,
			   is->type == PARQUET_TEXT ? TYPE_BYTES : TYPE_INT64);
		put_number(&element, 3, THRIFT_I32, REPETITION_REQUIRED);
		put_binary_field(&element, 4, is->name, strlen(is->name));
		if (is->type == PARQUET_TEXT)
			put_number(&element, 6, THRIFT_I32, CONVERTED_UTF8);
		put_stop(file->buf);
	}
}

struct err *parquet_writer_finish(struct parquet_writer *writer)
{
	static const char creator[] = "mallow version " MALLOW_VERSION;
	cleanup(buf_deinit) struct buf footer = BUF_EMPTY;
	struct record file = {&footer, 0};
	struct err *err = parquet_end_group(writer);
	uint32_t size;

	if (err)
		return err;
	put_number(&file, 1, THRIFT_I32, 1); // the format's version
	put_schema(&file, writer);
	put_number(&file, 3, THRIFT_I64, (int64_t)writer->all_rows);
	put_list(&file, 4, THRIFT_STRUCT, writer->group_count);
	buf_append(&footer, &writer->groups);
	put_binary_field(&file, 6, creator, strlen(creator));
	// Smallest and largest are by the order of the type, not by an older one.
	put_list(&file, 7, THRIFT_STRUCT, writer->count);
	for (size_t i = 0; i < writer->count; i++) {
		struct record order = {&footer, 0};

		put_struct(&order, 1);
		put_stop(&footer);
		put_stop(&footer);
	}
	put_stop(&footer);
	if (footer.failure)
		return err_no_memory();
	size = (uint32_t)footer.size;
	write_bytes(writer, footer.data, footer.size);
	write_bytes(writer, &size, sizeof(size));
	write_bytes(writer, MAGIC, strlen(MAGIC));
	return buf_finish(writer->out);
}
