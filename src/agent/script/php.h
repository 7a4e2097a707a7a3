/*
 * The frames of PHP 8.2 and 8.4, of builds for one thread (NTS). Its loop is one function,
 * execute_ex(), so the native frame of a run is found by its code. Where code of the loop's stands
 * apart (gcc's .cold: what throws errors), that does not find it, and such a stack has native
 * frames alone.
 *
 * PHP notes where in a function it is before what may throw, and before calls. So the line of a
 * block that is made by something else may be that of the expression before.
 *
 * Sources: PHP's Zend/zend_compile.h, zend_globals.h, zend_types.h.
 */
#ifndef MALLOW_AGENT_SCRIPT_PHP_H
#define MALLOW_AGENT_SCRIPT_PHP_H

#include "agent/script/script_runtime.h"

struct script_found php_look(bool opening);

#endif
