#include "analysis/leaks/program_suppressions.h"

#include <errno.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "symbols/constant_text.h"
#include "symbols/elf_image.h"

/* The program's own module; NULL: it is in no stack. */
static const struct recorded_module *program_module(const struct recording *recording)
{
	const char *program = recording_facts(recording)->program;
	uint32_t count;
	const struct recorded_module *modules = recording_modules(recording, &count);

	for (uint32_t i = 0; i < count; i++)
		if (!modules[i].path[0] || strcmp(modules[i].path, program) == 0)
			return &modules[i];
	return NULL;
}

static struct err *add(struct suppressions *suppressions, const struct recording *recording)
{
	const char *program = recording_facts(recording)->program;
	const struct recorded_module *module = program_module(recording);
	cleanup(elf_image_close_at) struct elf_image *image = NULL;
	auto_free char *text = NULL;
	struct err *err;

	if (!*program)
		return err_create("the recording does not say which program it is of");
	err = elf_image_open(program, &image);
	if (err)
		return err;
	if (module && module->build_id_size &&
	    !elf_image_has_build_id(image, module->build_id, module->build_id_size))
		return err_create("%s is not the program that was recorded", program);
	err = constant_text(image, "__lsan_default_suppressions", &text);
	if (err || !text)
		return err;
	return suppressions_add(suppressions, program, text, strlen(text));
}

struct err *program_suppressions_add(struct suppressions *suppressions,
				     const struct recording *recording, char **note)
{
	struct err *err = add(suppressions, recording);

	*note = NULL;
	if (!err || err_number(err) == ENOMEM)
		return err;
	*note = strdup(err_message(err));
	err_destroy(err);
	return *note ? NULL : err_no_memory();
}
