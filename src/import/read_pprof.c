/*
 * pprof's profiles: protocol buffers, the numbers of whose fields are those of
 * github.com/google/pprof/proto/profile.proto. Stacks have the innermost location first; a location
 * has the functions inlined there, the innermost first, or an address alone.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/compiler.h"
#include "hosted/buf.h"
#include "hosted/map.h"
#include "import/maps.h"
#include "import/reader.h"
#include "import/stack.h"
#include "trace/cursor.h"

#define TYPES_MAX     32
#define FUNCTIONS_MAX 256 /* that are inlined at one place */
#define ID_MAX        64  /* bytes of a build id */

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

enum profile_field {
	PROFILE_SAMPLE_TYPE = 1, /* 1 type, 2 unit: strings */
	PROFILE_SAMPLE = 2,      /* 1 locations, 2 values */
	PROFILE_MAPPING = 3,     /* 1 id, 2 start, 3 limit, 4 offset, 5 file, 6 build id */
	PROFILE_LOCATION = 4,    /* 1 id, 2 mapping, 3 address, 4 line: 1 function, 2 line */
	PROFILE_FUNCTION = 5,    /* 1 id, 2 name, 3 system name, 4 file */
	PROFILE_STRING = 6,
	PROFILE_TIME = 9,
};

/* A field of a message. */
struct field {
	uint64_t number, value;
	const uint8_t *bytes; /* of WIRE_BYTES; value: how many */
};

/* The fields of a small message by their numbers; lists are not among them. */
#define NUMBERS_MAX 8

struct pprof {
	struct import_sink *sink;
	const char *name; /* of the file */
	struct cursor all;
	VEC(const char *) strings; /* NULL: empty */
	struct map functions;      /* from ids to indices in `lines`, of symbols without a line */
	struct map mappings;       /* from ids to strings */
	struct map locations;      /* from ids to indices in `frames` */
	VEC(struct symbol) lines;
	VEC(struct record_frame) frames;
	VEC(struct symbol) symbols;
	int sums[TYPES_MAX]; /* which of enum trace_sum a value is; below 0: none */
	size_t types;
	uint32_t known;
	bool negative;
	struct import_stack stack;
};

static void pprof_deinit(struct pprof *pprof)
{
	vec_deinit(&pprof->strings);
	map_deinit(&pprof->functions);
	map_deinit(&pprof->mappings);
	map_deinit(&pprof->locations);
	vec_deinit(&pprof->lines);
	vec_deinit(&pprof->frames);
	vec_deinit(&pprof->symbols);
	import_stack_deinit(&pprof->stack);
}

/* Takes the next field. false: there is none, or the message is damaged. */
static bool take_field(struct cursor *message, struct field *ret)
{
	uint64_t tag;

	if (!cursor_left(message))
		return false;
	tag = cursor_varint(message);
	*ret = (struct field){.number = tag >> 3};
	switch (tag & 7) {
	case WIRE_VARINT:
		ret->value = cursor_varint(message);
		break;
	case WIRE_BYTES:
		ret->value = cursor_varint(message);
		ret->bytes = cursor_bytes(message, ret->value);
		break;
	case WIRE_64:
		cursor_bytes(message, 8);
		break;
	case WIRE_32:
		cursor_bytes(message, 4);
		break;
	default:
		cursor_fail(message);
	}
	return !message->failed;
}

static struct cursor inside(const struct field *field)
{
	return cursor_make(field->bytes, field->bytes ? field->value : 0);
}

/* The numbers of a message's fields; 0 where there is none. false: it is damaged. */
static bool take_numbers(const struct field *field, uint64_t numbers[NUMBERS_MAX])
{
	struct cursor message = inside(field);
	struct field part;

	memset(numbers, 0, NUMBERS_MAX * sizeof(*numbers));
	while (take_field(&message, &part))
		if (part.number < NUMBERS_MAX && !part.bytes)
			numbers[part.number] = part.value;
	return !message.failed;
}

/* Whether a field of that number is one of a profile, and has its type. */
static bool is_of_profile(const struct field *field)
{
	static const uint16_t of_bytes = 0x7e | 1 << 11 | 1 << 13; // 13: a list of numbers

	if (!field->number || field->number > 15)
		return false;
	return field->number == 13 || (of_bytes >> field->number & 1) == (field->bytes != NULL);
}

/*
 * Whether all whole fields are those of a profile, and one is a sample type: two numbers of
 * strings.
 */
bool read_pprof_knows(struct span head)
{
	struct cursor all = cursor_make(head.data, head.size);
	uint64_t numbers[NUMBERS_MAX];
	bool typed = false;
	struct field field;

	while (take_field(&all, &field)) {
		if (!is_of_profile(&field))
			return false;
		typed |= field.number == PROFILE_SAMPLE_TYPE && field.value <= 12 &&
			 take_numbers(&field, numbers) && numbers[1] && numbers[2];
	}
	return typed;
}

static struct err *damaged(const struct pprof *pprof, const char *expected)
{
	return err_create("%s: not a whole profile of pprof: %s was expected", pprof->name,
			  expected);
}

static const char *string_of(const struct pprof *pprof, uint64_t number)
{
	return number < pprof->strings.count ? pprof->strings.items[number] : NULL;
}

/* Puts a number that stands for an id. */
static struct err *keep_id(struct map *map, uint64_t id, uint64_t value)
{
	uint64_t *place = map_put(map, id);

	if (!place)
		return err_no_memory();
	*place = value;
	return NULL;
}

/* The first walk: strings, which may stand behind what names them. */
static struct err *take_string(struct pprof *pprof, const struct field *field)
{
	struct span text = {(const char *)field->bytes, field->bytes ? field->value : 0};
	const char *string;
	struct err *err = sink_text(pprof->sink, text, &string);

	if (err)
		return err;
	return vec_push(&pprof->strings, string) ? NULL : err_no_memory();
}

/* What its values are, as the profiles of heaps call them. */
static void take_type(struct pprof *pprof, const struct field *field)
{
	static const struct {
		const char *name;
		enum trace_sum sum;
	} types[] = {
		{"alloc_objects", TRACE_SUM_CALLS},       {"alloc_space", TRACE_SUM_BYTES},
		{"inuse_objects", TRACE_SUM_LIVE_BLOCKS}, {"inuse_space", TRACE_SUM_LIVE_BYTES},
		{"objects", TRACE_SUM_LIVE_BLOCKS},       {"space", TRACE_SUM_LIVE_BYTES},
		{"peak_objects", TRACE_SUM_PEAK_BLOCKS},  {"peak_space", TRACE_SUM_PEAK_BYTES},
		{"temporary", TRACE_SUM_TEMPORARY},
	};
	uint64_t numbers[NUMBERS_MAX];
	const char *name = take_numbers(field, numbers) ? string_of(pprof, numbers[1]) : NULL;

	if (pprof->types == TYPES_MAX)
		return;
	pprof->sums[pprof->types] = -1;
	for (size_t i = 0; name && i < ARRAY_COUNT(types); i++)
		if (strcmp(name, types[i].name) == 0 && !(pprof->known >> types[i].sum & 1)) {
			pprof->sums[pprof->types] = (int)types[i].sum;
			pprof->known |= 1u << types[i].sum;
		}
	pprof->types++;
}

static unsigned int digit_of(char c)
{
	return c <= '9' ? (unsigned int)c - '0' : ((unsigned int)c | 0x20) - 'a' + 10;
}

static struct err *take_mapping(struct pprof *pprof, const struct field *field)
{
	uint64_t numbers[NUMBERS_MAX];
	uint8_t id[ID_MAX];
	size_t size = 0;
	const char *path, *text;
	struct err *err;

	if (!take_numbers(field, numbers))
		return damaged(pprof, "a mapping");
	path = string_of(pprof, numbers[5]);
	text = string_of(pprof, numbers[6]);
	while (text && text[2 * size] && text[2 * size + 1] && size < ID_MAX) {
		id[size] = (uint8_t)(digit_of(text[2 * size]) << 4 | digit_of(text[2 * size + 1]));
		size++;
	}
	err = keep_id(&pprof->mappings, numbers[1], numbers[5]);
	if (err || !path || *path != '/')
		return err;
	sink_guess_program(pprof->sink, span_of(path));
	return import_mapping(pprof->sink, path,
			      &(struct import_mapping){.start = numbers[2],
						       .end = numbers[3],
						       .offset = numbers[4],
						       .build_id = id,
						       .build_id_size = size});
}

static struct err *take_function(struct pprof *pprof, const struct field *field)
{
	uint64_t numbers[NUMBERS_MAX];
	struct symbol symbol = {0};
	const char *mangled;
	struct err *err;

	if (!take_numbers(field, numbers))
		return damaged(pprof, "a function");
	symbol.raw_function = string_of(pprof, numbers[2]);
	mangled = string_of(pprof, numbers[3]);
	if (mangled && mangled[0] == '_' && (mangled[1] == 'Z' || mangled[1] == 'R'))
		symbol.raw_function = mangled;
	symbol.file = string_of(pprof, numbers[4]);
	err = keep_id(&pprof->functions, numbers[1], pprof->lines.count);
	if (err)
		return err;
	return vec_push(&pprof->lines, symbol) ? NULL : err_no_memory();
}

static struct err *take_line(struct pprof *pprof, const struct field *field)
{
	uint64_t numbers[NUMBERS_MAX], index;
	struct symbol symbol;

	if (!take_numbers(field, numbers))
		return damaged(pprof, "a line");
	index = map_get(&pprof->functions, numbers[1]);
	if (index == MAP_NONE || pprof->symbols.count == FUNCTIONS_MAX)
		return damaged(pprof, "a function that is there");
	symbol = pprof->lines.items[index];
	symbol.line = numbers[2] > UINT32_MAX ? 0 : (uint32_t)numbers[2];
	if (pprof->symbols.count)
		pprof->symbols.items[pprof->symbols.count - 1].inlined = true;
	return vec_push(&pprof->symbols, symbol) ? NULL : err_no_memory();
}

static struct err *take_location(struct pprof *pprof, const struct field *field)
{
	struct cursor message = inside(field);
	uint64_t id = 0, mapping = 0, address = 0;
	struct record_frame frame = {0};
	struct field part;
	struct err *err = NULL;

	pprof->symbols.count = 0;
	while (!err && take_field(&message, &part)) {
		if (part.number == 1)
			id = part.value;
		else if (part.number == 2)
			mapping = part.value;
		else if (part.number == 3)
			address = part.value;
		else if (part.number == 4 && part.bytes)
			err = take_line(pprof, &part);
	}
	if (!err && message.failed)
		err = damaged(pprof, "a location");
	if (!err && pprof->symbols.count && pprof->symbols.items->raw_function)
		err = sink_named(pprof->sink, string_of(pprof, map_get(&pprof->mappings, mapping)),
				 pprof->symbols.items, pprof->symbols.count, &frame.id);
	frame.pc = frame.id ? 0 : address + 1; // behind the call
	if (!err)
		err = keep_id(&pprof->locations, id, pprof->frames.count);
	if (err)
		return err;
	return vec_push(&pprof->frames, frame) ? NULL : err_no_memory();
}

static struct err *put_location(struct pprof *pprof, uint64_t id)
{
	uint64_t index = map_get(&pprof->locations, id);

	if (index == MAP_NONE)
		return damaged(pprof, "a location that is there");
	return import_stack_push(&pprof->stack, pprof->frames.items[index].id,
				 pprof->frames.items[index].pc);
}

static void put_value(struct pprof *pprof, struct sink_sum *sum, size_t *type, uint64_t value)
{
	if (*type < pprof->types && pprof->sums[*type] >= 0)
		sum->values[pprof->sums[*type]] = value;
	pprof->negative |= (int64_t)value < 0;
	++*type;
}

static struct err *take_sample(struct pprof *pprof, const struct field *field)
{
	struct cursor message = inside(field), list;
	struct sink_sum sum = {.known = pprof->known};
	struct field part;
	struct err *err = NULL;
	size_t type = 0;

	pprof->stack.frames.count = 0;
	while (!err && take_field(&message, &part)) {
		// Lists are packed, or not.
		list = inside(&part);
		if (part.number == 1 && !part.bytes)
			err = put_location(pprof, part.value);
		while (!err && part.number == 1 && cursor_left(&list))
			err = put_location(pprof, cursor_varint(&list));
		if (part.number == 2 && !part.bytes)
			put_value(pprof, &sum, &type, part.value);
		while (part.number == 2 && cursor_left(&list))
			put_value(pprof, &sum, &type, cursor_varint(&list));
		if (list.failed)
			err = damaged(pprof, "a list of numbers");
	}
	if (!err && message.failed)
		err = damaged(pprof, "a sample");
	if (!err && type != pprof->types)
		err = damaged(pprof, "a value of each type for each sample");
	if (!err && pprof->negative)
		err = err_create("%s: values are below 0: it is the difference of two profiles",
				 pprof->name);
	if (err)
		return err;
	import_stack_turn(&pprof->stack);
	return sink_sum(pprof->sink, pprof->stack.frames.items, pprof->stack.frames.count, &sum);
}

/* Takes the fields of a kind: each walk needs what the ones before it took. */
static struct err *walk(struct pprof *pprof, enum profile_field kind)
{
	struct cursor all = pprof->all;
	struct field field;
	struct err *err = NULL;

	while (!err && take_field(&all, &field)) {
		if (field.number != kind)
			continue;
		switch (kind) {
		case PROFILE_STRING:
			err = take_string(pprof, &field);
			break;
		case PROFILE_SAMPLE_TYPE:
			take_type(pprof, &field);
			break;
		case PROFILE_MAPPING:
			err = take_mapping(pprof, &field);
			break;
		case PROFILE_FUNCTION:
			err = take_function(pprof, &field);
			break;
		case PROFILE_LOCATION:
			err = take_location(pprof, &field);
			break;
		case PROFILE_SAMPLE:
			err = take_sample(pprof, &field);
			break;
		case PROFILE_TIME:
			sink_started(pprof->sink, field.value);
			break;
		}
	}
	if (!err && all.failed)
		err = err_create("%s: offset %zu: a field of a profile of pprof was expected, "
				 "whole",
				 pprof->name, (size_t)(all.at - pprof->all.at));
	return err;
}

struct err *read_pprof(struct import_input *input, struct import_sink *sink,
		       struct import_story *story)
{
	static const enum profile_field kinds[] = {
		PROFILE_STRING,   PROFILE_SAMPLE_TYPE, PROFILE_TIME,   PROFILE_MAPPING,
		PROFILE_FUNCTION, PROFILE_LOCATION,    PROFILE_SAMPLE,
	};
	cleanup(pprof_deinit) struct pprof pprof = {.sink = sink, .name = input->name};
	struct span bytes;
	struct err *err = import_text_all(&input->text, &bytes);

	snprintf(story->origin, sizeof(story->origin), "a profile of pprof");
	if (err)
		return err;
	pprof.all = cursor_make(bytes.data, bytes.size);
	for (size_t i = 0; !err && i < ARRAY_COUNT(kinds); i++) {
		err = walk(&pprof, kinds[i]);
		if (!err && kinds[i] == PROFILE_SAMPLE_TYPE && !pprof.known)
			err = err_create("%s: a profile of pprof, but of no heap: none of its "
					 "values is inuse_space, alloc_space or space",
					 input->name);
	}
	return err;
}
