/* What a recording cannot show, found when it is asked for: a recording that is loaded needs none
 * of it. */
#include "analysis/sight/sight_data.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "analysis/recording_data.h"
#include "analysis/views/resident.h"
#include "hosted/cleanup.h"
#include "symbols/own_allocator.h"
#include "symbols/program_file.h"
#include "trace/checksum.h"
#include "trace/cursor.h"

/* A recording with more than one missed free in so many allocations is not to be trusted. */
#define MISSED_FREES 1000

/*
 * What files were found to have in them, for all recordings that this process reads: those of a run
 * share most of their libraries, and a recording that is followed is read every second.
 */
static struct {
	pthread_mutex_t lock;
	struct map numbers; /* of a file, by a hash of all that tells it from others */
	VEC(struct own_allocator) files;
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t key_of(const struct recorded_module *module, uint32_t machine,
		       const struct stat *status)
{
	const uint64_t numbers[] = {
		status->st_dev,
		status->st_ino,
		(uint64_t)status->st_size,
		(uint64_t)status->st_mtim.tv_sec,
		(uint64_t)status->st_mtim.tv_nsec,
		trace_checksum(module->path, strlen(module->path), module->build_id,
			       module->build_id_size),
		machine,
	};

	return trace_checksum(numbers, sizeof(numbers), "", 0);
}

static bool recall(uint64_t key, struct own_allocator *ret)
{
	uint64_t number;

	pthread_mutex_lock(&known.lock);
	number = map_get(&known.numbers, key);
	if (number != MAP_NONE)
		*ret = known.files.items[number];
	pthread_mutex_unlock(&known.lock);
	return number != MAP_NONE;
}

static struct err *remember(uint64_t key, const struct own_allocator *found)
{
	uint64_t *number = NULL;

	pthread_mutex_lock(&known.lock);
	if (vec_reserve(&known.files, 1) && (number = map_put(&known.numbers, key))) {
		*number = known.files.count;
		known.files.items[known.files.count++] = *found;
	}
	pthread_mutex_unlock(&known.lock);
	return number ? NULL : err_no_memory();
}

/* Looks into a module's file. A file that is not here, or another one by now, has nothing. */
static struct err *look_into(const struct recorded_module *module, uint32_t machine,
			     struct own_allocator *ret)
{
	const struct debug_files files = {.local = true};
	cleanup(elf_image_close_at) struct elf_image *image = NULL;
	struct stat status;
	bool there = stat(module->path, &status) == 0;
	uint64_t key = there ? key_of(module, machine, &status) : 0;
	struct err *err;

	*ret = (struct own_allocator){0};
	if (!program_file_exists(module->path) || (there && recall(key, ret)))
		return NULL;
	err = module->build_id_size ? program_file_find(&files, module->path, module->build_id,
							module->build_id_size, &image)
				    : program_file_open(module->path, NULL, 0, machine, &image);
	if (err && err_is_shortage(err))
		return err;
	err_destroy(err);
	if (image)
		own_allocator_find(image, ret);
	return there ? remember(key, ret) : NULL;
}

/* Whether two entries are about the same thing. One may know the allocator's name, and one not. */
static bool is_same(const struct unseen *a, const struct unseen *b)
{
	return a->kind == b->kind && strcmp(a->object, b->object) == 0 &&
	       (!*a->name || !*b->name || strcmp(a->name, b->name) == 0);
}

static struct err *add(struct sight *sight, const struct unseen *unseen)
{
	for (size_t i = 0; i < sight->list.count; i++) {
		struct unseen *there = &sight->list.items[i];

		if (!is_same(there, unseen))
			continue;
		if (!*there->name)
			there->name = unseen->name;
		if (there->bytes_at_most < unseen->bytes_at_most)
			there->bytes_at_most = unseen->bytes_at_most;
		return NULL;
	}
	return vec_push(&sight->list, *unseen) ? NULL : err_no_memory();
}

/* Whether the agent has said what it sees of the allocators in that file. */
static bool is_patched(const struct sight *sight, const char *path)
{
	for (size_t i = 0; i < sight->patched.count; i++) {
		const char *object = sight->patched.items[i].object;
		size_t length = strlen(object), size = strlen(path);

		// The loader's name of a library may be relative to a directory of the program's.
		if (!strcmp(object, path) ||
		    (*object != '/' && size > length && path[size - length - 1] == '/' &&
		     !strcmp(path + size - length, object)))
			return true;
	}
	return false;
}

/*
 * Adds an allocator that is in a module. Calls of a library's exported malloc() come to us, as all
 * calls of malloc() do; those of the program's do not. mallow attach sees whatever has symbols.
 */
static struct err *add_module(struct sight *sight, const struct recorded_module *module)
{
	const struct recording_facts *facts = &sight->recording->facts;
	bool is_program = strcmp(module->path, facts->program) == 0;
	struct own_allocator found;
	struct unseen unseen = {.object = module->path, .name = "", .symbol = ""};
	struct err *err = NULL;

	if (is_patched(sight, module->path))
		return NULL;
	err = look_into(module, facts->machine, &found);
	if (err || (found.provides && !is_program) || (!found.provides && !*found.name) ||
	    (facts->attached && (found.provides || *found.symbol)))
		return err;
	unseen.kind = found.provides ? TRACE_UNSEEN_OWN_MALLOC : TRACE_UNSEEN_LINKED;
	unseen.name = arena_text(&sight->arena, found.name);
	unseen.symbol = found.provides ? "malloc" : arena_text(&sight->arena, found.symbol);
	return unseen.name && unseen.symbol ? add(sight, &unseen) : err_no_memory();
}

/*
 * Adds a patched allocator, and what of it could not be patched. A library that is opened again and
 * again tells it each time.
 */
static struct err *add_patched(struct sight *sight, const struct patched_object *patched)
{
	const struct unseen refused = {
		.kind = TRACE_UNSEEN_REFUSED,
		.object = patched->object,
		.name = patched->name,
		.symbol = patched->why,
	};

	for (size_t i = 0; i < sight->patched.count; i++)
		if (!strcmp(sight->patched.items[i].object, patched->object) &&
		    !strcmp(sight->patched.items[i].name, patched->name))
			return NULL;
	if (!vec_push(&sight->patched, *patched))
		return err_no_memory();
	return patched->refused ? add(sight, &refused) : NULL;
}

/* The program itself, if no module is it: recordings of older agents have only what was called. */
static struct err *add_program(struct sight *sight)
{
	const struct recorded_module program = {.path = sight->recording->facts.program};
	struct utsname here;

	for (size_t i = 0; i < sight->recording->tables->modules.modules.count; i++)
		if (!strcmp(sight->recording->tables->modules.modules.items[i].path, program.path))
			return NULL;
	// Without a build id only the machine's name tells whether it is the same file.
	if (uname(&here) || strcmp(here.nodename, sight->recording->facts.host))
		return NULL;
	return add_module(sight, &program);
}

/* Adds memory that is resident and that nothing in the recording explains. */
static struct err *add_resident(struct sight *sight)
{
	struct unseen unseen = {
		.kind = TRACE_UNSEEN_RESIDENT,
		.object = sight->recording->facts.program,
		.name = resident_sanitizer(sight->recording),
		.symbol = "",
	};
	struct err *err = resident_unexplained(sight->recording, &unseen.bytes_at_most);

	return err || !unseen.bytes_at_most ? err : add(sight, &unseen);
}

/*
 * Adds that frees are missing, if more than one allocation in a thousand got the place of a block
 * that was live. Where events are lost, or blocks were there before, that is said anyway.
 */
static struct err *add_missed_frees(struct sight *sight)
{
	const struct recording_facts *facts = &sight->recording->facts;
	const struct unseen unseen = {
		.kind = TRACE_UNSEEN_FREES,
		.object = facts->program,
		.name = "",
		.symbol = "",
	};

	if (facts->implicit_frees <= facts->allocations / MISSED_FREES || facts->attached ||
	    facts->lost || facts->damaged_chunks || facts->missing_chunks)
		return NULL;
	return add(sight, &unseen);
}

/* Whether patching has told why the program's allocator is not seen: then that is said, once. */
static bool is_told(const struct sight *sight, const struct unseen *unseen)
{
	const struct recording *recording = sight->recording;

	for (size_t i = 0; i < recording->tables->patched.count; i++) {
		const struct patched_object *patched = &recording->tables->patched.items[i];

		if (patched->refused && unseen->kind == TRACE_UNSEEN_OWN_MALLOC &&
		    !strcmp(patched->object, recording->facts.program))
			return true;
	}
	return false;
}

static struct err *fill(struct sight *sight)
{
	const struct recording *recording = sight->recording;
	const struct recorded_module *modules = recording->tables->modules.modules.items;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < recording->tables->unseen.count; i++)
		if (!is_told(sight, &recording->tables->unseen.items[i]))
			err = add(sight, &recording->tables->unseen.items[i]);
	for (size_t i = 0; !err && i < recording->tables->patched.count; i++)
		err = add_patched(sight, &recording->tables->patched.items[i]);
	if (err || recording->tables->unseen_stored)
		return err;
	for (size_t i = 0; !err && i < recording->tables->modules.modules.count; i++)
		if (!recorded_module_is_script(&modules[i]) &&
		    (!i || strcmp(modules[i].path, modules[i - 1].path)))
			err = add_module(sight, &modules[i]);
	if (!err)
		err = add_program(sight);
	if (!err)
		err = add_missed_frees(sight);
	return err ? err : add_resident(sight);
}

/* Makes the lists, once. */
static struct err *make(struct sight *sight)
{
	struct err *err = NULL;

	pthread_mutex_lock(&sight->lock);
	if (!sight->made) {
		sight->list.count = sight->patched.count = 0;
		err = fill(sight);
		sight->made = !err;
	}
	pthread_mutex_unlock(&sight->lock);
	return err;
}

struct err *sight_list(const struct recording_facts *facts, const struct unseen **ret,
		       uint32_t *count)
{
	struct err *err = facts->sight ? make(facts->sight) : NULL;
	bool there = facts->sight && !err;

	*ret = there ? facts->sight->list.items : NULL;
	*count = there ? (uint32_t)facts->sight->list.count : 0;
	return err;
}

struct err *sight_patched(const struct recording_facts *facts, const struct patched_object **ret,
			  uint32_t *count)
{
	struct err *err = facts->sight ? make(facts->sight) : NULL;
	bool there = facts->sight && !err;

	*ret = there ? facts->sight->patched.items : NULL;
	*count = there ? (uint32_t)facts->sight->patched.count : 0;
	return err;
}

struct err *sight_add(struct sight *sight, const struct recording_facts *facts)
{
	const struct unseen *list;
	uint32_t count;
	const struct patched_object *patched;
	uint32_t patched_count;
	struct err *err = sight_list(facts, &list, &count);

	if (!err)
		err = sight_patched(facts, &patched, &patched_count);
	for (uint32_t i = 0; !err && i < patched_count; i++) {
		struct patched_object copy = patched[i];

		copy.object = arena_text(&sight->arena, copy.object);
		copy.name = arena_text(&sight->arena, copy.name);
		copy.why = arena_text(&sight->arena, copy.why);
		if (!copy.object || !copy.name || !copy.why)
			return err_no_memory();
		err = add_patched(sight, &copy);
	}
	for (uint32_t i = 0; !err && i < count; i++) {
		struct unseen copy = list[i];

		copy.object = arena_text(&sight->arena, copy.object);
		copy.name = arena_text(&sight->arena, copy.name);
		copy.symbol = arena_text(&sight->arena, copy.symbol);
		if (!copy.object || !copy.name || !copy.symbol)
			return err_no_memory();
		err = add(sight, &copy);
	}
	return err;
}

static void put_number(struct buf *buf, uint64_t value)
{
	uint8_t bytes[VARINT_MAX];

	buf_put(buf, bytes, (size_t)(varint_put(bytes, value) - bytes));
}

/* A record whose body ends with three texts. */
static void put_record(struct buf *ret, uint8_t kind, uint64_t first, uint64_t second,
		       const char *const texts[3])
{
	cleanup(buf_deinit) struct buf body = BUF_EMPTY;

	put_number(&body, zigzag(0));
	put_number(&body, first);
	put_number(&body, second);
	for (int i = 0; i < 3; i++)
		buf_put(&body, texts[i], strlen(texts[i]) + 1);
	buf_char(ret, (char)kind);
	put_number(ret, body.size);
	buf_append(ret, &body);
}

struct err *sight_pack(const struct recording_facts *facts, struct buf *ret)
{
	const struct unseen *list;
	const struct patched_object *patched;
	uint32_t count, patched_count = 0;
	struct err *err = sight_list(facts, &list, &count);

	if (!err)
		err = sight_patched(facts, &patched, &patched_count);
	for (uint32_t i = 0; !err && i < count; i++)
		if (list[i].kind != TRACE_UNSEEN_REFUSED) // those are made of the others
			put_record(ret, TRACE_RECORD_UNSEEN, list[i].kind, list[i].bytes_at_most,
				   (const char *[]){list[i].object, list[i].name, list[i].symbol});
	for (uint32_t i = 0; !err && i < patched_count; i++)
		put_record(ret, TRACE_RECORD_PATCHED, patched[i].functions, patched[i].refused,
			   (const char *[]){patched[i].object, patched[i].name, patched[i].why});
	return err ? err : buf_finish(ret);
}
