/*
 * Files of heaptrack (its src/track/libheaptrack.cpp and src/interpret write them), a line each:
 * the first character is what it is, numbers are hexadecimal.
 *
 *	raw           what the program wrote: modules, addresses of code and of blocks
 *	  x LEN EXE   m 1 -   m LEN FILE BASE {VADDR MEMSZ}   t IP PARENT   + SIZE TRACE PTR   - PTR
 *	interpreted   what heaptrack_interpret makes of it: names, and kinds of blocks
 *	  s LEN STR   i IP MODULE {FUNC FILE LINE}   t IPID PARENT   a SIZE TRACE   + KIND   - KIND
 *
 * Both have v, X, I, A, c and R. Blocks of an interpreted file have no addresses: of equal ones the
 * newest is freed first.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "hosted/vec.h"
#include "import/reader.h"

#define FILE_VERSION_MAX 3
#define SIZED_STRINGS    3 /* from this version on strings say how long they are */
#define NS_PER_MS        1000000
#define FUNCTIONS_MAX    256 /* that are inlined at one place */
#define BLOCK_DISTANCE   16  /* between made up addresses */

/* A stack: a position in the code, and the stack of its caller; 0: none. */
struct trace {
	uint64_t position; /* a frame; or, in a raw file, the address of the call */
	uint32_t parent;
	uint32_t depth;
};

/* A kind of blocks, and the live ones of it: a list, the newest first. */
struct kind {
	uint64_t size;
	uint32_t trace;
	uint32_t newest; /* block; 0: none */
};

struct heaptrack {
	struct import_text *text;
	struct import_sink *sink;
	uint64_t version; /* of the file */
	uint64_t page;
	bool raw;
	VEC(const char *) strings; /* from 1 */
	VEC(uint32_t) positions;   /* from 1: frames */
	VEC(struct trace) traces;  /* from 1 */
	VEC(struct kind) kinds;
	/* By block, from 1: the next one of its kind, or of those that are free again. */
	VEC(uint32_t) next;
	uint32_t unused; /* the first block that is free again; 0: none */
	/* The stack of the last block, outermost frame first: its frames, and its traces. */
	VEC(struct record_frame) stack;
	VEC(uint32_t) path;
	VEC(struct symbol) symbols;
};

static void heaptrack_deinit(struct heaptrack *heaptrack)
{
	vec_deinit(&heaptrack->strings);
	vec_deinit(&heaptrack->positions);
	vec_deinit(&heaptrack->traces);
	vec_deinit(&heaptrack->kinds);
	vec_deinit(&heaptrack->next);
	vec_deinit(&heaptrack->stack);
	vec_deinit(&heaptrack->path);
	vec_deinit(&heaptrack->symbols);
}

bool read_heaptrack_knows(struct span head)
{
	return head.size > 4 && span_begins(head, "v 1") &&
	       memchr("0123456789abcdef", head.data[3], 16);
}

/* Takes a number that must be below the limit. */
static bool take_index(struct import_text *text, size_t limit, uint32_t *ret)
{
	uint64_t value;

	if (!text_next_hex(text, &value) || value >= limit)
		return false;
	*ret = (uint32_t)value;
	return true;
}

static struct err *take_string(struct heaptrack *heaptrack)
{
	struct import_text *text = heaptrack->text;
	const char *string;
	uint64_t size;
	struct err *err;

	if (heaptrack->version >= SIZED_STRINGS && !text_next_hex(text, &size))
		return import_text_expected(text, "the length of a string");
	if (!text_take(text, " "))
		return import_text_expected(text, "a string");
	err = sink_text(heaptrack->sink, text_rest(text), &string);
	if (err)
		return err;
	return vec_push(&heaptrack->strings, string ? string : "") ? NULL : err_no_memory();
}

/* Takes the number of a string; 0: none. */
static bool take_name(struct heaptrack *heaptrack, const char **ret)
{
	uint32_t number;

	if (!take_index(heaptrack->text, heaptrack->strings.count + 1, &number))
		return false;
	*ret = number ? heaptrack->strings.items[number - 1] : NULL;
	return true;
}

/* Takes the functions at a position, the innermost first. false: malformed. */
static bool take_functions(struct heaptrack *heaptrack)
{
	struct import_text *text = heaptrack->text;

	heaptrack->symbols.count = 0;
	while (text_left(text) && heaptrack->symbols.count < FUNCTIONS_MAX) {
		struct symbol symbol = {0};
		uint64_t line = 0;

		if (!take_name(heaptrack, &symbol.raw_function) ||
		    (text_left(text) &&
		     (!take_name(heaptrack, &symbol.file) || !text_next_hex(text, &line))))
			return false;
		symbol.line = line > UINT32_MAX ? 0 : (uint32_t)line;
		if (heaptrack->symbols.count)
			heaptrack->symbols.items[heaptrack->symbols.count - 1].inlined = true;
		if (!vec_push(&heaptrack->symbols, symbol))
			return false;
	}
	return !text_left(text);
}

static struct err *take_position(struct heaptrack *heaptrack)
{
	struct symbol symbol = {0};
	const char *module;
	uint64_t address;
	char name[24];
	uint32_t frame = 0;
	struct err *err;

	if (!text_next_hex(heaptrack->text, &address) || !take_name(heaptrack, &module) ||
	    !take_functions(heaptrack))
		return import_text_expected(heaptrack->text,
					    "an address, and numbers of strings before it");
	if (!heaptrack->symbols.count || !heaptrack->symbols.items->raw_function) {
		// Where its module was loaded is not known: it is no place in the file.
		snprintf(name, sizeof(name), "0x%" PRIx64, address);
		heaptrack->symbols.count = 0;
		err = sink_text(heaptrack->sink, span_of(name), &symbol.raw_function);
		if (!err && !vec_push(&heaptrack->symbols, symbol))
			err = err_no_memory();
		if (err)
			return err;
	}
	err = sink_named(heaptrack->sink, module, heaptrack->symbols.items,
			 heaptrack->symbols.count, &frame);
	if (err)
		return err;
	return vec_push(&heaptrack->positions, frame) ? NULL : err_no_memory();
}

static struct err *take_trace(struct heaptrack *heaptrack)
{
	struct import_text *text = heaptrack->text;
	struct trace trace = {0};
	uint32_t position = 0;

	if (heaptrack->raw
		    ? !text_next_hex(text, &trace.position)
		    : !take_index(text, heaptrack->positions.count + 1, &position) || !position)
		return import_text_expected(text, "a position");
	if (position)
		trace.position = heaptrack->positions.items[position - 1];
	if (!take_index(text, heaptrack->traces.count + 1, &trace.parent))
		return import_text_expected(text, "a trace before it");
	trace.depth = trace.parent ? heaptrack->traces.items[trace.parent - 1].depth + 1 : 1;
	return vec_push(&heaptrack->traces, trace) ? NULL : err_no_memory();
}

/*
 * Makes the stack of a trace, outermost frame first. It begins as the last one does: the walk
 * outwards ends at the first trace that both have.
 */
static struct err *make_stack(struct heaptrack *heaptrack, uint32_t number)
{
	const struct trace *traces = heaptrack->traces.items;
	size_t depth = number ? traces[number - 1].depth : 0, before = heaptrack->path.count;

	if (depth > before && (!vec_reserve(&heaptrack->stack, depth - before) ||
			       !vec_reserve(&heaptrack->path, depth - before)))
		return err_no_memory();
	heaptrack->stack.count = heaptrack->path.count = depth;
	for (; number; number = traces[number - 1].parent) {
		uint64_t position = traces[number - 1].position;

		if (--depth < before && heaptrack->path.items[depth] == number)
			break;
		heaptrack->path.items[depth] = number;
		heaptrack->stack.items[depth] =
			heaptrack->raw ? (struct record_frame){.pc = position + 1}
				       : (struct record_frame){.id = (uint32_t)position};
	}
	return NULL;
}

static struct err *put_block(struct heaptrack *heaptrack, uint64_t address, uint64_t size,
			     uint32_t trace)
{
	struct err *err = make_stack(heaptrack, trace);

	if (!err)
		sink_allocate(heaptrack->sink, address, size, heaptrack->stack.items,
			      heaptrack->stack.count);
	return err;
}

static struct err *take_kind(struct heaptrack *heaptrack)
{
	struct kind kind = {0};

	if (!text_next_hex(heaptrack->text, &kind.size) ||
	    !take_index(heaptrack->text, heaptrack->traces.count + 1, &kind.trace))
		return import_text_expected(heaptrack->text, "a size, and a trace before it");
	return vec_push(&heaptrack->kinds, kind) ? NULL : err_no_memory();
}

static struct err *begin_block(struct heaptrack *heaptrack, struct kind *kind)
{
	uint32_t block = heaptrack->unused;

	if (block) {
		heaptrack->unused = heaptrack->next.items[block - 1];
	} else {
		if (heaptrack->next.count >= UINT32_MAX || !vec_push(&heaptrack->next, 0))
			return err_no_memory();
		block = (uint32_t)heaptrack->next.count;
	}
	heaptrack->next.items[block - 1] = kind->newest;
	kind->newest = block;
	return put_block(heaptrack, (uint64_t)block * BLOCK_DISTANCE, kind->size, kind->trace);
}

static void end_block(struct heaptrack *heaptrack, struct kind *kind)
{
	uint32_t block = kind->newest;

	// Frees of what was allocated before heaptrack attached.
	if (!block)
		return;
	kind->newest = heaptrack->next.items[block - 1];
	heaptrack->next.items[block - 1] = heaptrack->unused;
	heaptrack->unused = block;
	sink_free(heaptrack->sink, (uint64_t)block * BLOCK_DISTANCE);
}

static struct err *take_event(struct heaptrack *heaptrack, bool begins)
{
	struct import_text *text = heaptrack->text;
	uint64_t size, address;
	uint32_t kind, trace;

	if (!heaptrack->raw) {
		if (!take_index(text, heaptrack->kinds.count, &kind))
			return import_text_expected(text, "the number of a line 'a' before it");
		if (begins)
			return begin_block(heaptrack, &heaptrack->kinds.items[kind]);
		end_block(heaptrack, &heaptrack->kinds.items[kind]);
		return NULL;
	}
	if (begins) {
		if (!text_next_hex(text, &size) ||
		    !take_index(text, heaptrack->traces.count + 1, &trace) ||
		    !text_next_hex(text, &address))
			return import_text_expected(text, "size, trace and address of a block");
		return put_block(heaptrack, address, size, trace);
	}
	if (!text_next_hex(text, &address))
		return import_text_expected(text, "the address of a block");
	sink_free(heaptrack->sink, address);
	return NULL;
}

/* Takes a module of a raw file: its path, where it was loaded, and its pieces there. */
static struct err *take_module(struct heaptrack *heaptrack)
{
	struct import_text *text = heaptrack->text;
	struct sink_place place = {.start = UINT64_MAX};
	uint64_t length, at, size;
	struct span path;

	heaptrack->raw = true;
	if (text_take(text, " 1 -")) {
		sink_forget_modules(heaptrack->sink);
		return NULL;
	}
	if (heaptrack->version < SIZED_STRINGS) {
		if (!text_take(text, " "))
			return import_text_expected(text, "the path of a module");
		path = text_word(text);
	} else {
		if (!text_next_hex(text, &length) || !text_take(text, " ") ||
		    length > text_left(text))
			return import_text_expected(text, "length and path of a module");
		path = (struct span){text->at, length};
		text->at += length;
	}
	if (!text_next_hex(text, &place.bias))
		return import_text_expected(text, "where the module was loaded");
	while (text_next_hex(text, &at) && text_next_hex(text, &size)) {
		at += place.bias;
		place.start = at < place.start ? at : place.start;
		place.end = at + size > place.end ? at + size : place.end;
	}
	// "x" is the program itself, whose path a line before has.
	if (place.end <= place.start)
		return NULL;
	return sink_module(heaptrack->sink, span_is(path, "x") ? (struct span){0} : path, &place);
}

static struct err *take_line(struct heaptrack *heaptrack)
{
	struct import_text *text = heaptrack->text;
	char type = *text->at++;
	uint64_t number;

	switch (type) {
	case '+':
	case '-':
		return take_event(heaptrack, type == '+');
	case 'a':
		return take_kind(heaptrack);
	case 't':
		return take_trace(heaptrack);
	case 'i':
		return take_position(heaptrack);
	case 's':
		return take_string(heaptrack);
	case 'c':
		if (!text_next_hex(text, &number))
			return import_text_expected(text, "milliseconds");
		sink_time(heaptrack->sink, number * NS_PER_MS);
		return NULL;
	case 'R':
		if (!text_next_hex(text, &number))
			return import_text_expected(text, "a number of pages");
		sink_resident(heaptrack->sink, number * heaptrack->page);
		return NULL;
	case 'I':
		if (!text_next_hex(text, &heaptrack->page))
			return import_text_expected(text, "the size of a page");
		return NULL;
	case 'm':
		return take_module(heaptrack);
	case 'x':
		heaptrack->raw = true;
		if (heaptrack->version >= SIZED_STRINGS && !text_next_hex(text, &number))
			return import_text_expected(text, "the length of a path");
		text_take(text, " ");
		sink_program(heaptrack->sink, text_rest(text));
		return NULL;
	case 'X':
		text_take(text, " ");
		return sink_command(heaptrack->sink, text_rest(text));
	case 'A':
		sink_begun_before(heaptrack->sink);
		return NULL;
	case 'S': // a suppression of leaks, which is the reader's business
	case '#':
		return NULL;
	default:
		text->at--;
		return import_text_expected(text, "a line of heaptrack's");
	}
}

static struct err *take_version(struct heaptrack *heaptrack, struct import_story *story)
{
	struct import_text *text = heaptrack->text;
	uint64_t program;

	if (!text_take(text, "v") || !text_next_hex(text, &program))
		return import_text_expected(text, "'v' and a version");
	heaptrack->version = 1;
	if (text_left(text) && !text_next_hex(text, &heaptrack->version))
		return import_text_expected(text, "the version of the file");
	if (!heaptrack->version || heaptrack->version > FILE_VERSION_MAX)
		return err_create("%s: version %" PRIu64 " of heaptrack's file, of which mallow "
				  "reads 1 to %d",
				  text->name, heaptrack->version, FILE_VERSION_MAX);
	snprintf(story->origin, sizeof(story->origin), "heaptrack %" PRIx64 ".%" PRIx64,
		 program >> 16 & 0xff, program >> 8 & 0xff);
	return NULL;
}

struct err *read_heaptrack(struct import_input *input, struct import_sink *sink,
			   struct import_story *story)
{
	cleanup(heaptrack_deinit) struct heaptrack heaptrack = {
		.text = &input->text,
		.sink = sink,
		.page = 4096,
	};
	bool more;
	struct err *err = import_text_line(&input->text, &more);

	if (!err)
		err = take_version(&heaptrack, story);
	// heaptrack writes until its program is gone, and no line says so.
	story->at_end = true;
	while (!err) {
		err = import_text_line(&input->text, &more);
		if (err || !more)
			break;
		// The program was killed while it wrote this line.
		story->at_end = !input->text.cut;
		if (input->text.cut)
			break;
		if (text_left(&input->text))
			err = take_line(&heaptrack);
	}
	return err;
}
