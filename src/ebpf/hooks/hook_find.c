#include "ebpf/hooks/hook_find.h"

#include "ebpf/hooks/hook_object.h"
#include "ebpf/hooks/module_hooks.h"
#include "hosted/buf.h"
#include "hosted/cleanup.h"

/* Says that the user's object is not mapped, and which modules could be meant. */
static struct err *not_mapped(const struct target *target, const char *object,
			      const struct hook_names *names)
{
	cleanup(hooks_deinit) struct hooks hooks = {0};
	cleanup(buf_deinit) struct buf list = BUF_EMPTY;
	struct err *err = NULL;

	for (uint32_t i = 0; !err && i < target->modules.count; i++)
		err = module_hooks_add(target, i, names, &hooks);
	if (err)
		return err;
	for (size_t i = 0; i < hooks.modules.count; i++)
		buf_printf(&list, "%s%s (%s)", i ? ", " : "",
			   target->modules.items[hooks.modules.items[i].module].path,
			   hooks.modules.items[i].allocator);

	const char *text = buf_string(&list);

	if (!text)
		return err_no_memory();
	return err_create("process %d has no code of %s mapped; these have an allocator: %s",
			  (int)target->pid, object, *text ? text : "none");
}

struct err *hooks_find(const struct target *target, uint32_t first,
		       const struct hook_options *options, struct hooks *hooks)
{
	cleanup(hook_names_deinit) struct hook_names names = {0};
	const char *object = options->object;
	bool found = !object;
	struct err *err = NULL;

	if (!hook_names_init(&names, options->prefix))
		return err_no_memory();
	for (uint32_t i = first; !err && i < target->modules.count; i++) {
		if (object && !hook_object_is(target, &target->modules.items[i], object))
			continue;
		found = true;
		err = module_hooks_add(target, i, &names, hooks);
	}
	if (!err && !found && !first)
		err = not_mapped(target, object, &names);
	return err;
}

void hooks_deinit(struct hooks *hooks)
{
	vec_deinit(&hooks->list);
	vec_deinit(&hooks->modules);
	vec_deinit(&hooks->unprobed);
	vec_deinit(&hooks->mappers);
	arena_deinit(&hooks->arena);
}
