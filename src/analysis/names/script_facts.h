/*
 * What stacks tell of the frames of Python in them.
 *
 * What import statements import:
 *
 *	innermost   <module>                  /usr/lib/python3.11/xml/dom/minidom.py
 *	            _load_unlocked …          the machinery of `import`: frames of importlib
 *	            _find_and_load            the machinery, called once
 *	outermost   <module>                  app.py:3, the caller: it imports xml.dom.minidom
 *
 * A frame is one instruction of one function, so a frame of an import statement always imports the
 * same module. If one of its stacks shows which module, the name holds for all of its stacks: also
 * for those in which the module is still searched for, or its code is being read.
 *
 * The file of the module gives its name. The folders that it lies in belong to the name as far as
 * the recording shows that they are packages: it has a frame of their __init__.py, or of the search
 * for them on the way to the module. Nothing is read from this machine's files.
 *
 * And whose the code is that stands in no file, "<string>": of `python3 -c`, or of a function that
 * had its text compiled, as dataclasses and namedtuple do.
 */
#ifndef MALLOW_ANALYSIS_NAMES_SCRIPT_FACTS_H
#define MALLOW_ANALYSIS_NAMES_SCRIPT_FACTS_H

#include "analysis/names/symbolized.h"
#include "hosted/arena.h"

struct script_facts {
	/*
	 * Of each frame the module that it imports. NULL: it imports nothing, or no stack shows
	 * what, or it also does other things: importlib.import_module() imports whatever it is
	 * asked for.
	 */
	const char **imports;
	bool runs_string; /* the program itself stands in "<string>" */
};

/*
 * *ret: strings in it are in the arena. symbolized is asked for names before demangling alone.
 */
struct err *script_facts_create(struct symbolized *symbolized, struct arena *arena,
				struct script_facts *ret);
/* Accepts a zeroed struct. */
void script_facts_deinit(struct script_facts *stacks);

/* Whether the module is a part of Python's own code for `import`. */
bool script_facts_is_machinery(const char *module);
/* Whether the module is a text that was compiled without a file. */
bool script_facts_is_string(const char *module);

#endif
