#include "agent/event/thread.h"

__thread struct thread *thread_self __attribute__((tls_model("initial-exec")));
__thread uint32_t thread_tag __attribute__((tls_model("initial-exec")));
