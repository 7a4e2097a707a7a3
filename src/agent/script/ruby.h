/*
 * Ruby 3.1's frames. Its loop is called by one function, rb_vm_exec(), so the native frame of a run
 * is found by its code. Each fiber has a chain of its own. Lines are those that Ruby's own traces
 * name.
 *
 * Sources: Ruby's vm_core.h, iseq.h, iseq.c, include/ruby/internal/core/{rstring,rarray}.h.
 */
#ifndef MALLOW_AGENT_SCRIPT_RUBY_H
#define MALLOW_AGENT_SCRIPT_RUBY_H

#include "agent/script/script_runtime.h"

struct script_found ruby_look(bool opening);

#endif
