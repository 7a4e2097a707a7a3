#include "agent/record/modules.h"

#include <link.h>

#include "agent/arch/syscall.h"
#include "agent/event/allocator_code.h"
#include "agent/event/sink.h"
#include "agent/event/thread.h"
#include "agent/ground/clock.h"
#include "agent/ground/libc.h"
#include "agent/ground/link_map.h"
#include "agent/ground/lock.h"
#include "agent/ground/next_functions.h"
#include "agent/ground/own_pages.h"
#include "agent/ground/signal_bracket.h"
#include "agent/record/build_id.h"
#include "agent/record/fact_record.h"
#include "agent/record/recording.h"
#include "agent/script/frame_ids.h"
#include "agent/script/script_stack.h"

#define PATH_MAX_ 1024

struct module {
	uint64_t start;
	uint64_t end;
	const void *link_map;
	uint64_t path_hash;
	uint32_t generation; /* modules before it that have its path */
	uint32_t gone;       /* atomic */
	uint32_t named;      /* atomic; a frame lies in it, so that caches may know its code */
	uint32_t next;       /* atomic: the id of the next in the list of loaded ones */
};

/* So many entries of the list are for modules that are in no stack: plugins come and go. */
#define LOADED_MAX (MODULES_MAX / 4)

/* One buffer, used under modules->lock, because the program's stacks may be small. */
static struct {
	char path[PATH_MAX_];
	uint8_t text[1 + BUILD_ID_MAX + PATH_MAX_];
} scratch;

/*
 * Puts the module's absolute path into scratch. The program itself has no name in the loader's
 * list; other names may be relative.
 */
static void find_path(const struct unwind_module *module)
{
	const char *path = module->path ? module->path : "";
	size_t length = strlen(path);
	long directory;

	memset(scratch.path, 0, sizeof(scratch.path));
	if (!length) {
		memcpy(scratch.path, program_path, sizeof(program_path));
		return;
	}
	if (length >= sizeof(scratch.path) / 2)
		length = sizeof(scratch.path) / 2 - 1;
	if (!strncmp(path, "linux-vdso.so", 13) || !strncmp(path, "linux-gate.so", 13)) {
		memcpy(scratch.path, "[vdso]", 7);
		return;
	}
	for (size_t i = 0; path[0] != '/' && path[0] != '[' && i < length; i++) {
		if (path[i] != '/')
			continue;
		if (process_system_calls_forbidden())
			break;
		directory = sys_getcwd(scratch.path, sizeof(scratch.path) / 2);
		if (directory > 1) {
			scratch.path[directory - 1] = '/';
			memcpy(scratch.path + directory, path, length);
			return;
		}
		break;
	}
	memcpy(scratch.path, path, length);
}

static uint64_t hash_path(void)
{
	uint64_t hash = 14695981039346656037ull; // FNV-1a, used only to number generations

	for (const char *c = scratch.path; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 1099511628211ull;
	return hash;
}

static uint32_t generation(const struct modules *modules, uint64_t path_hash)
{
	for (uint32_t i = modules->count; i; i--)
		if (modules->list[i - 1].path_hash == path_hash)
			return modules->list[i - 1].generation + 1;
	return 0;
}

/*
 * The list of the modules that are loaded, newest first, by `next`. Those that are gone stay in it
 * until the next module comes. So a program that loads and unloads all day has a short one.
 */
static uint32_t first_loaded(const struct modules *modules)
{
	return __atomic_load_n(&modules->loaded, __ATOMIC_ACQUIRE);
}

static uint32_t next_loaded(const struct module *module)
{
	return __atomic_load_n(&module->next, __ATOMIC_ACQUIRE);
}

static bool is_gone(const struct module *module)
{
	return __atomic_load_n(&module->gone, __ATOMIC_ACQUIRE);
}

/*
 * Takes those that are gone out of the list. Under the lock. Others may read the list meanwhile:
 * one that is out still leads on to those behind it.
 */
static void drop_gone(struct modules *modules)
{
	uint32_t *place = &modules->loaded;

	while (*place) {
		struct module *module = &modules->list[*place - 1];

		if (is_gone(module))
			__atomic_store_n(place, module->next, __ATOMIC_RELEASE);
		else
			place = &module->next;
	}
}

static bool is_same_module(const struct module *known, const struct unwind_module *module)
{
	return known->start == module->start && known->end == module->end &&
	       known->link_map == module->link_map && !is_gone(known);
}

/* The module's id: its position in the list plus one. 0: not known. */
static uint32_t find_module(const struct modules *modules, const struct unwind_module *module)
{
	for (uint32_t id = first_loaded(modules); id; id = next_loaded(&modules->list[id - 1]))
		if (is_same_module(&modules->list[id - 1], module))
			return id;
	return 0;
}

static bool write_record(struct thread *thread, uint32_t id, const struct unwind_module *module,
			 uint64_t earlier)
{
	struct fact_record record = {
		.kind = TRACE_RECORD_MODULE,
		.has_time = true,
		.ticks = clock_ticks(),
		.text = scratch.text,
	};
	const uint8_t *id_bytes = NULL;
	size_t id_size = module->start ? build_id_of_module(module, &id_bytes) : 0;
	size_t path_size = strlen(scratch.path);

	fact_record_add(&record, id);
	fact_record_add(&record, earlier);
	fact_record_add(&record, module->bias);
	fact_record_add(&record, module->start);
	fact_record_add(&record, module->end);
	fact_record_add(&record, id_size);
	if (id_size)
		memcpy(scratch.text, id_bytes, id_size);
	memcpy(scratch.text + id_size, scratch.path, path_size);
	record.text_size = id_size + path_size;
	return fact_record_write(thread, &record);
}

/* Writes the module's record and adds it. Under the lock. */
static uint32_t add_module(struct thread *thread, struct modules *modules,
			   const struct unwind_module *module)
{
	uint32_t id = modules->count + 1;
	uint32_t earlier;
	uint64_t path_hash;

	if (!modules->list)
		modules->list = own_pages_allocate(MODULES_MAX * sizeof(*modules->list));
	if (!modules->list || modules->count == MODULES_MAX)
		return 0;
	find_path(module);
	path_hash = hash_path();
	earlier = generation(modules, path_hash);
	if (!write_record(thread, id, module, earlier))
		return 0;
	drop_gone(modules);
	modules->list[id - 1] = (struct module){
		.start = module->start,
		.end = module->end,
		.link_map = module->link_map,
		.path_hash = path_hash,
		.generation = earlier,
		.next = modules->loaded,
	};
	if (sink->watch && module->link_map)
		sink->watch((uintptr_t)module->link_map);
	// Published after its record is committed: a kill in between leaves no id without a record.
	modules->count = id;
	__atomic_store_n(&modules->loaded, id, __ATOMIC_RELEASE);
	return id;
}

/* The id of the module in which pc lies; its record is written if it is new. 0: not known. */
static uint32_t module_of(struct thread *thread, uint64_t pc)
{
	struct modules *modules = &recording->modules;
	struct unwind_module module;
	uint32_t id;

	if (!unwind_module_at(pc - 1, &module))
		return 0;
	id = find_module(modules, &module);
	if (!id)
		id = add_module(thread, modules, &module);
	if (id)
		__atomic_store_n(&modules->list[id - 1].named, 1, __ATOMIC_RELEASE);
	return id;
}

/*
 * Whether the object is in the list, or cannot be described; *ret: its description. Its dynamic
 * section is a place within it, as good as any.
 */
static bool is_known(const struct modules *modules, const struct link_map *map,
		     struct unwind_module *ret)
{
	if (!unwind_module_at((uintptr_t)map->l_ld, ret) || ret->link_map != map) {
		*ret = (struct unwind_module){
			.bias = map->l_addr,
			.path = map->l_name,
			.link_map = map,
		};
		if (!link_map_range(map, &ret->start, &ret->end))
			return true;
	}
	return find_module(modules, ret);
}

/* Whether no earlier module has its path. Who opens a library again and again adds it once. */
static bool is_first(const struct modules *modules, const struct unwind_module *module)
{
	find_path(module);
	return !generation(modules, hash_path());
}

/*
 * New objects come last in the loader's list. Without _dl_find_object() modules have no
 * descriptions, and none is defined here: reading /proc/self/maps for each would take too long.
 */
void modules_define_loaded(struct thread *thread)
{
	struct modules *modules = &recording->modules;
	const struct link_map *last = link_map_last(), *map = last;
	struct unwind_module module;

	if (!real.dl_find_object || !last || !lock_wait(&modules->lock))
		return;
	if (modules->count < LOADED_MAX) {
		while (map->l_prev && !is_known(modules, map, &module))
			map = map->l_prev;
		for (; map && modules->count < LOADED_MAX; map = map->l_next)
			if (!is_known(modules, map, &module) && is_first(modules, &module))
				add_module(thread, modules, &module);
	}
	lock_release(&modules->lock);
}

/* The id of a script's file as a module; its record is written if it is new. 0: not now. */
static uint32_t file_of(struct thread *thread, const struct script_place *place)
{
	struct modules *modules = &recording->modules;
	const struct unwind_module module = {0};
	size_t size = script_runtime->text(&thread->bounds, place->code, SCRIPT_FILE, scratch.path,
					   PATH_MAX_ - 1);
	uint64_t key;
	uint32_t id;

	scratch.path[size] = '\0';
	// Another hash than those of frames.
	key = hash_path() | TRACE_PC_SCRIPT;
	id = frame_ids_find(script_ids, key);
	if (id)
		return id;
	id = MODULES_MAX + modules->script_files + 1;
	if (!write_record(thread, id, &module, 0))
		return 0;
	modules->script_files++;
	frame_ids_add(script_ids, key, id);
	return id;
}

static uint32_t define_script(struct thread *thread, uint64_t pc)
{
	struct fact_record record = {.kind = TRACE_RECORD_FRAME, .text = scratch.text};
	struct script_place place;
	uint32_t id, file;

	if (!script_stack_place(thread->script, &thread->bounds, pc, &place))
		return 0;
	file = file_of(thread, &place);
	if (!thread->cursor || !file)
		return 0;
	id = __atomic_add_fetch(&recording->modules.next_frame_id, 1, __ATOMIC_RELAXED);
	fact_record_add(&record, id);
	fact_record_add(&record, pc);
	fact_record_add(&record, file);
	fact_record_add(&record, TRACE_FRAME_SCRIPT);
	fact_record_add(&record, place.line);
	record.text_size = script_runtime->text(&thread->bounds, place.code, SCRIPT_FUNCTION,
						(char *)scratch.text, sizeof(scratch.text));
	if (!fact_record_write(thread, &record))
		return 0;
	frame_ids_add(script_ids, pc, id);
	return id;
}

static uint32_t define_locked(struct thread *thread, uint64_t pc)
{
	struct fact_record record = {.kind = TRACE_RECORD_FRAME};
	uint32_t module = module_of(thread, pc);
	bool guess = unwind_is_guess(pc);
	uint32_t id;

	if (!thread->cursor)
		return 0;
	id = __atomic_add_fetch(&recording->modules.next_frame_id, 1, __ATOMIC_RELAXED);
	fact_record_add(&record, id);
	fact_record_add(&record, pc);
	fact_record_add(&record, module);
	if (guess)
		fact_record_add(&record, TRACE_FRAME_GUESS);
	if (!fact_record_write(thread, &record))
		return 0;
	if (guess)
		__atomic_fetch_add((uint32_t *)((char *)process->header + TRACE_GUESSES_OFFSET), 1,
				   __ATOMIC_RELAXED);
	return unwind_set_frame_id(pc, id);
}

uint32_t modules_frame_id(uint64_t pc)
{
	return pc & TRACE_PC_SCRIPT ? frame_ids_find(script_ids, pc) : unwind_frame_id(pc);
}

static uint32_t define_frame(struct thread *thread, uint64_t pc)
{
	uint32_t *lock = &recording->modules.lock;
	uint32_t id;

	// Waits. Without the module's record a reader would name the pc by a module that is loaded
	// there later. And of a frame with two ids readers make one by reading all events again.
	if (!lock_wait(lock))
		return 0;
	id = modules_frame_id(pc);
	if (!id)
		id = pc & TRACE_PC_SCRIPT ? define_script(thread, pc) : define_locked(thread, pc);
	lock_release(lock);
	return id;
}

struct definition {
	struct thread *thread;
	uint64_t pc;
	uint32_t id;
};

static void define_here(void *argument)
{
	struct definition *definition = argument;

	definition->id = define_frame(definition->thread, definition->pc);
}

uint32_t modules_define_frame(struct thread *thread, uint64_t pc)
{
	struct definition definition = {thread, pc, 0};

	signal_bracket_run_quiet(define_here, &definition);
	return definition.id;
}

bool modules_has(const void *block)
{
	const struct modules *modules = &recording->modules;

	for (uint32_t id = block ? first_loaded(modules) : 0; id;
	     id = next_loaded(&modules->list[id - 1]))
		if (modules->list[id - 1].link_map == block && !is_gone(&modules->list[id - 1]))
			return true;
	return false;
}

void modules_loader_freed(struct thread *thread, const void *block)
{
	struct modules *modules = &recording->modules;
	uint32_t id = first_loaded(modules);
	// Read once: a handler may fork, and its child finds `modules` wiped.
	struct module *list = __atomic_load_n(&modules->list, __ATOMIC_RELAXED);

	for (struct module *module; block && list && id; id = next_loaded(module)) {
		struct fact_record record = {
			.kind = TRACE_RECORD_MODULE_GONE,
			.has_time = true,
			.ticks = clock_ticks(),
		};

		module = &list[id - 1];
		if (module->link_map != block || is_gone(module))
			continue;
		__atomic_store_n(&module->gone, 1, __ATOMIC_RELEASE);
		next_functions_forget(module->start, module->end);
		if (__atomic_load_n(&module->named, __ATOMIC_ACQUIRE)) {
			unwind_forget(module->start, module->end);
			allocator_code_forget();
			__atomic_add_fetch(&process->epoch, 1, __ATOMIC_RELEASE);
		}
		fact_record_add(&record, id);
		fact_record_write(thread, &record);
	}
}
