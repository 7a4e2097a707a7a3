#include "symbols/debug_unit.h"

#include <dwarf.h>
#include <string.h>

#include "symbols/debug_walk.h"

/* The most ranges of one DIE: 100 times what the largest function of LLVM has. */
#define RANGES_MAX 65536

void debug_unit_init(struct debug_unit *unit, const Dwarf_Die *die)
{
	*unit = (struct debug_unit){.line_die = *die, .tree_die = *die};
}

void debug_unit_deinit(struct debug_unit *unit)
{
	vec_deinit(&unit->nodes);
	span_map_deinit(&unit->map);
}

/*
 * Where the ranges of a DIE are listed, if libdw is to begin there by itself, with another base. 0:
 * it is not, or cannot.
 */
static ptrdiff_t list_of(Dwarf_Die *die, Dwarf_Addr base)
{
	Dwarf_Attribute attribute;
	Dwarf_Word list;

	// libdw gives the number of a list in a table as if it were a place.
	if (!base || dwarf_hasattr(die, DW_AT_high_pc) ||
	    !dwarf_attr(die, DW_AT_ranges, &attribute) ||
	    dwarf_whatform(&attribute) == DW_FORM_rnglistx || dwarf_formudata(&attribute, &list) ||
	    list < 2 || list > PTRDIFF_MAX)
		return 0;
	return (ptrdiff_t)list;
}

struct err *debug_unit_add_ranges(Dwarf_Die *die, Dwarf_Addr base, uint32_t value,
				  struct span_ranges *ranges)
{
	ptrdiff_t at = list_of(die, base);
	Dwarf_Addr now = base, low, high;
	// The list at offset 0, of DWARF 4: libdw takes 0 as its base, and does not change that
	// before the first range, unless the list does.
	bool first = base && !at && !dwarf_hasattr(die, DW_AT_high_pc);

	for (int i = 0; i < RANGES_MAX && (at = dwarf_ranges(die, at, &now, &low, &high)) > 0;
	     i++, first = false) {
		struct err *err;

		if (first && !now) {
			now = base;
			low += base;
			high += base;
		}
		err = span_ranges_add(ranges, low, high, value);
		if (err)
			return err;
	}
	return NULL;
}

/* The state of the walk over a unit's DIEs. */
struct walk {
	struct debug_unit *unit;
	Dwarf_Addr base; /* of a split unit; 0: it is none */
	struct span_ranges ranges;
	struct debug_walk order;
};

static struct err *walk_children(struct walk *walk, Dwarf_Die *die, uint32_t parent, int depth);

/*
 * Adds a node for a function or an inlined copy of one, and visits its children with it as parent.
 */
static struct err *visit_function(struct walk *walk, Dwarf_Die *die, uint32_t parent, bool inlined,
				  int depth)
{
	struct debug_unit *unit = walk->unit;
	uint32_t node = (uint32_t)unit->nodes.count;

	// Without code: a declaration or an abstract instance. Most of a C++ unit is that.
	if (!dwarf_hasattr(die, DW_AT_low_pc) && !dwarf_hasattr(die, DW_AT_ranges))
		return NULL;
	if (unit->nodes.count >= SPAN_NONE ||
	    !vec_push(&unit->nodes, (struct debug_node){
					    .die = dwarf_dieoffset(die),
					    .parent = inlined ? parent : SPAN_NONE,
					    .inlined = inlined,
				    }))
		return err_no_memory();

	struct err *err = debug_unit_add_ranges(die, walk->base, node, &walk->ranges);

	return err ? err : walk_children(walk, die, node, depth);
}

static struct err *visit(struct walk *walk, Dwarf_Die *die, uint32_t parent, int depth)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		return visit_function(walk, die, parent, false, depth);
	case DW_TAG_inlined_subroutine:
		return visit_function(walk, die, parent, true, depth);
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
	case DW_TAG_common_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return walk_children(walk, die, parent, depth);
	default:
		return NULL;
	}
}

static struct err *walk_children(struct walk *walk, Dwarf_Die *die, uint32_t parent, int depth)
{
	Dwarf_Die child;

	for (bool any = debug_walk_first(&walk->order, die, depth, &child); any;
	     any = debug_walk_next(&walk->order, &child)) {
		struct err *err = visit(walk, &child, parent, depth + 1);

		if (err)
			return err;
	}
	return NULL;
}

static struct err *load_unit(struct debug_unit *unit, struct debug_split *split)
{
	struct walk walk = {.unit = unit};

	unit->nodes.count = 0; // left by an attempt that ran out of memory

	struct err *err = debug_split_find(split, &unit->line_die, &unit->tree_die);

	if (unit->tree_die.cu != unit->line_die.cu && dwarf_lowpc(&unit->line_die, &walk.base))
		walk.base = 0;
	debug_walk_begin(&walk.order, &unit->tree_die);
	if (!err)
		err = walk_children(&walk, &unit->tree_die, SPAN_NONE, 0);
	if (!err)
		err = span_map_init(&unit->map, &walk.ranges);
	span_ranges_deinit(&walk.ranges);
	unit->loaded = !err;
	return err;
}

static uint64_t number_attribute(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	return dwarf_formudata(dwarf_attr(die, name, &attribute), &value) ? 0 : value;
}

/* The file and line from which an inlined function was called. */
static void call_site(struct debug_unit *unit, Dwarf_Die *die, const char **file, uint32_t *line)
{
	uint64_t index = number_attribute(die, DW_AT_call_file);
	Dwarf_Files *files;
	size_t count;

	*line = (uint32_t)number_attribute(die, DW_AT_call_line);
	*file = NULL;
	// A split unit mostly has a list of files of its own, else its skeleton's counts.
	if (dwarf_hasattr(die, DW_AT_call_file) &&
	    (!dwarf_getsrcfiles(&unit->tree_die, &files, &count) ||
	     !dwarf_getsrcfiles(&unit->line_die, &files, &count)) &&
	    index < count)
		*file = dwarf_filesrc(files, index, NULL, NULL);
}

static void source_line(struct debug_unit *unit, uint64_t address, const char **file,
			uint32_t *line)
{
	Dwarf_Line *row = dwarf_getsrc_die(&unit->line_die, address);
	int number;

	*file = NULL;
	*line = 0;
	if (!row)
		return;
	*file = dwarf_linesrc(row, NULL, NULL);
	if (!dwarf_lineno(row, &number) && number > 0)
		*line = (uint32_t)number;
}

static bool push_frame(struct debug_frames *frames, const char *name, const char *file,
		       uint32_t line, bool inlined)
{
	return vec_push(&frames->list, (struct debug_frame){
					       .name = name,
					       .file = file,
					       .line = line,
					       .inlined = inlined,
				       });
}

struct err *debug_unit_find(struct debug_unit *unit, struct debug_split *split,
			    struct debug_names *names, uint64_t address, struct debug_frames *ret)
{
	struct err *err = unit->loaded ? NULL : load_unit(unit, split);
	const char *file, *name;
	uint32_t line;

	if (err)
		return err;
	// Not integrated: of a skeleton without it, libdw would open the files that it names.
	ret->directory = dwarf_formstring(
		dwarf_attr(&unit->line_die, DW_AT_comp_dir, &(Dwarf_Attribute){0}));
	source_line(unit, address, &file, &line);

	Dwarf *dwarf = dwarf_cu_getdwarf(unit->tree_die.cu);
	uint32_t at = span_map_find(&unit->map, address);

	while (at != SPAN_NONE) {
		const struct debug_node *node = &unit->nodes.items[at];
		Dwarf_Die die;

		if (!dwarf_offdie(dwarf, node->die, &die))
			break;
		err = debug_name_find(names, &die, &name);
		if (err)
			return err;
		if (!push_frame(ret, name, file, line, node->inlined))
			return err_no_memory();
		if (!node->inlined)
			return NULL;
		call_site(unit, &die, &file, &line);
		at = node->parent;
	}
	return push_frame(ret, NULL, file, line, false) ? NULL : err_no_memory();
}
