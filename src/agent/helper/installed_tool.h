/* The path of the tool where MALLOW_HELPER is not set. */
#ifndef MALLOW_AGENT_HELPER_INSTALLED_TOOL_H
#define MALLOW_AGENT_HELPER_INSTALLED_TOOL_H

#define INSTALLED_TOOL_MARK "mallow's tool: "

/*
 * INSTALLED_TOOL_MARK, a path, and zeros to the end. `make install` finds the mark in the library
 * and writes the installed path after it (tools/set_installed_tool.py), so what is built does not
 * depend on where it goes. Until then the path is that of Meson's prefix.
 */
extern const char installed_tool[1024];

/* The path; constant. */
static inline const char *installed_tool_path(void)
{
	return installed_tool + sizeof(INSTALLED_TOOL_MARK) - 1;
}

#endif
