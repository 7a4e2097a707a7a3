#include "agent/helper/installed_tool.h"

const char installed_tool[1024] = INSTALLED_TOOL_MARK MALLOW_INSTALLED_TOOL;
