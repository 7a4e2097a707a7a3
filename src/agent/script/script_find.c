#include "agent/script/script_find.h"

#include "agent/ground/config.h"
#include "agent/ground/log.h"
#include "agent/ground/next_functions.h"
#include "agent/script/php.h"
#include "agent/script/python.h"
#include "agent/script/ruby.h"
#include "base/compiler.h"

static const struct {
	const char *name;
	struct script_found (*look)(bool opening);
} languages[] = {{"Python", python_look}, {"PHP", php_look}, {"Ruby", ruby_look}};

static uint64_t code_of_it; /* of the runtime */

static void say_unknown(const char *language, const char *what)
{
	if (config_is_child() || !config.value[SETTING_SCRIPT_FRAMES])
		return;
	log_start(SETTING_LOG_ERROR);
	log_string(language);
	log_string("'s functions and lines are not shown: ");
	log_string(what);
	log_end();
}

static const char *why_not(const struct script_found *found, bool opening)
{
	if (!SCRIPT_MACHINE)
		return "this machine is not known";
	if (found->why_not)
		return found->why_not;
	if (opening && !real.dl_find_object)
		return "it was opened late, and this C library says nothing of it";
	return NULL;
}

void script_find(bool opening)
{
	static uint32_t looked; // 1: an interpreter was found, known or not

	for (size_t i = 0; i < ARRAY_COUNT(languages); i++) {
		struct script_found found;
		const char *why;

		if (__atomic_load_n(&looked, __ATOMIC_RELAXED))
			return;
		found = languages[i].look(opening);
		if (!found.code || __atomic_exchange_n(&looked, 1, __ATOMIC_RELAXED))
			continue;
		why = why_not(&found, opening);
		if (why)
			return say_unknown(languages[i].name, why);
		code_of_it = found.code;
		__atomic_store_n(&script_runtime, found.runtime, __ATOMIC_RELEASE);
		if (config.value[SETTING_SCRIPT_FRAMES])
			__atomic_store_n(&script_frames, opening ? SCRIPT_UNBOUND : SCRIPT_SHOWN,
					 __ATOMIC_RELEASE);
	}
}

bool script_is_bound_slow(void)
{
	struct unwind_module module;

	if (!unwind_module_at(code_of_it, &module))
		return false;
	__atomic_store_n(&script_frames, SCRIPT_SHOWN, __ATOMIC_RELEASE);
	return true;
}
