#include "agent/arch/atomic_add.h"

const char *atomic_add_alone_flag;
