#include "write/symbols_writer.h"

#include <string.h>

void symbols_writer_init(struct symbols_writer *writer)
{
	*writer = (struct symbols_writer){
		.strings = BUF_EMPTY,
		.modules = BUF_EMPTY,
		.module = BUF_EMPTY,
	};
}

void symbols_writer_deinit(struct symbols_writer *writer)
{
	intern_deinit(&writer->names);
	map_deinit(&writer->numbers);
	buf_deinit(&writer->strings);
	buf_deinit(&writer->modules);
	buf_deinit(&writer->module);
}

/* *ret: the number of a string; 0: NULL. */
static struct err *number_of(struct symbols_writer *writer, const char *text, uint64_t *ret)
{
	const char *known;
	uint64_t *number;

	*ret = 0;
	if (!text)
		return NULL;
	known = intern_text(&writer->names, text);
	number = known ? map_put(&writer->numbers, (uintptr_t)known) : NULL;
	if (!number)
		return err_no_memory();
	if (*number == MAP_NONE) {
		*number = writer->numbers.count;
		buf_put(&writer->strings, known, strlen(known) + 1);
	}
	*ret = *number;
	return NULL;
}

struct err *symbols_writer_position(struct symbols_writer *writer, uint64_t address,
				    const struct symbol *symbols, size_t count)
{
	struct buf *buf = &writer->module;

	buf_varint(buf, address - writer->last);
	writer->last = address;
	writer->positions++;
	buf_varint(buf, symbols[0].offset);
	buf_varint(buf, count);
	for (size_t i = 0; i < count; i++) {
		uint64_t function, file;
		struct err *err = number_of(writer, symbols[i].raw_function, &function);

		if (!err)
			err = number_of(writer, symbols[i].file, &file);
		if (err)
			return err;
		buf_varint(buf, function);
		buf_varint(buf, file << 1 | symbols[i].inlined);
		if (file)
			buf_varint(buf, symbols[i].line);
	}
	return NULL;
}

struct err *symbols_writer_module(struct symbols_writer *writer, const char *path,
				  const uint8_t *build_id, size_t build_id_size)
{
	struct buf *buf = &writer->modules;
	uint64_t number;
	struct err *err;

	if (!writer->positions)
		return NULL;
	err = number_of(writer, path, &number);
	if (err)
		return err;
	buf_varint(buf, path ? SYMBOLS_FILE : SYMBOLS_NO_MODULE);
	buf_varint(buf, number);
	buf_varint(buf, build_id_size);
	if (build_id_size)
		buf_put(buf, build_id, build_id_size);
	buf_varint(buf, writer->positions);
	buf_put(buf, writer->module.data, writer->module.size);
	writer->module_count++;
	err = buf_finish(&writer->module);
	writer->module.size = 0;
	writer->positions = writer->last = 0;
	return err;
}

struct err *symbols_writer_finish(struct symbols_writer *writer, struct buf *ret)
{
	struct err *err = buf_finish(&writer->strings);

	if (!err)
		err = buf_finish(&writer->modules);
	if (err || !writer->module_count)
		return err;
	buf_varint(ret, SYMBOLS_VERSION);
	buf_varint(ret, writer->numbers.count);
	buf_varint(ret, writer->strings.size);
	buf_put(ret, writer->strings.data, writer->strings.size);
	buf_varint(ret, writer->module_count);
	buf_put(ret, writer->modules.data, writer->modules.size);
	return buf_finish(ret);
}
