#include "cli/memleak/hooked_text.h"

void hooked_text_put(struct buf *buf, const struct tracer *tracer)
{
	const struct target *target = tracer_target(tracer);
	const struct hooks *hooks = tracer_hooks(tracer);

	for (size_t i = 0; i < hooks->modules.count; i++) {
		const struct hooked_module *module = &hooks->modules.items[i];

		buf_printf(buf, "Probing %s in %s at %u places (%s).\n", module->allocator,
			   target->modules.items[module->module].path, module->probes,
			   probe_way_name(tracer_way(tracer)));
	}
	for (size_t i = 0; i < hooks->unprobed.count; i++) {
		const struct unprobed_function *function = &hooks->unprobed.items[i];

		buf_printf(buf, "Not probed: %s in %s (%s); its blocks are not seen.\n",
			   function->name, target->modules.items[function->module].path,
			   function->why);
	}
}
