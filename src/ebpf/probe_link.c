/* Attaching the programs to the hooks. See probe_link.h. */
#include "ebpf/probe_link.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "hosted/cleanup.h"

/* Debian's linux/bpf.h is older than these. */
#define ATTACH_UPROBE_MULTI   48
#define ATTACH_UPROBE_SESSION 57
#define MULTI_RETURN          1u

/* The kernel's union bpf_attr, as far as BPF_LINK_CREATE of uprobes goes. */
struct multi_attr {
	uint32_t program;
	uint32_t target;
	uint32_t attach_type;
	uint32_t flags;
	uint64_t path;
	uint64_t offsets;
	uint64_t reference_offsets;
	uint64_t cookies;
	uint32_t count;
	uint32_t multi_flags;
	uint32_t pid;
	uint32_t unused;
};

/* The probes that one program gets in one module. */
struct batch {
	VEC(uint64_t) offsets;
	VEC(uint64_t) cookies;
};

const char *probe_way_name(enum probe_way way)
{
	static const char *const names[] = {"session", "multi", "perf"};

	return names[way];
}

void probe_programs_prepare(const struct probe_programs *programs, enum probe_way way)
{
	struct bpf_program *const others[] = {programs->entry, programs->ret, programs->exit,
					      programs->release};

	bpf_program__set_autoload(programs->session, way == PROBE_SESSION);
	bpf_program__set_autoload(programs->ret, way != PROBE_SESSION);
	if (way == PROBE_PERF)
		return;
	bpf_program__set_expected_attach_type(programs->session,
					      (enum bpf_attach_type)ATTACH_UPROBE_SESSION);
	for (size_t i = 0; i < ARRAY_COUNT(others); i++)
		bpf_program__set_expected_attach_type(others[i],
						      (enum bpf_attach_type)ATTACH_UPROBE_MULTI);
}

/* Those that allocate nothing: their return does not matter. */
static bool is_release(uint32_t cookie)
{
	uint32_t act = HOOK_ACT_OF(cookie);

	return act == HOOK_FREE || act == HOOK_MUNMAP || act == HOOK_CODE;
}

/* The program that a hook's own probe gets; the return's is another. */
static struct bpf_program *program_of(const struct probe_programs *programs, enum probe_way way,
				      uint32_t cookie)
{
	if (is_release(cookie))
		return programs->release;
	if (HOOK_WHERE_OF(cookie) == HOOK_WHERE_EXIT)
		return programs->exit;
	if (HOOK_WHERE_OF(cookie) == HOOK_WHERE_ENTRY && way == PROBE_SESSION)
		return programs->session;
	return programs->entry;
}

static void batch_deinit(struct batch *batch)
{
	vec_deinit(&batch->offsets);
	vec_deinit(&batch->cookies);
}

/*
 * Why the kernel did not set probes, by errno. All probes at one place of a file share their
 * reference counter, or none has one: bcc's Python tools ask for a wrong one, so whoever comes
 * second, for whatever process, is refused with EINVAL.
 */
static struct err *probes_refused(const char *path, const struct target *target)
{
	int number = errno;

	return err_create_errno(number, "setting probes in %s, for process %d%s", path,
				(int)target->pid,
				number == EINVAL ? ": another tracer may have probes at the same "
						   "places that exclude others (bcc's do); end it "
						   "first"
						 : "");
}

/* Creates one link for a batch. The kernel may ask to be called again (EAGAIN, by its lookups). */
static struct err *link_batch(struct probe_links *links, struct bpf_program *program,
			      const struct target *target, const struct target_module *module,
			      const struct batch *batch, bool at_return)
{
	struct multi_attr attr = {
		.program = (uint32_t)bpf_program__fd(program),
		.attach_type = (uint32_t)bpf_program__get_expected_attach_type(program),
		.path = (uintptr_t)module->open_path,
		.offsets = (uintptr_t)batch->offsets.items,
		.cookies = (uintptr_t)batch->cookies.items,
		.count = (uint32_t)batch->offsets.count,
		.multi_flags = at_return ? MULTI_RETURN : 0,
		.pid = (uint32_t)target->pid,
	};
	int link;

	if (!vec_reserve(&links->multi, 1))
		return err_no_memory();
	link = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	if (link < 0)
		return probes_refused(module->path, target);
	links->multi.items[links->multi.count++] = link;
	return NULL;
}

/* Collects the hooks of a module that get this program, and links them. */
static struct err *link_module(struct probe_links *links, const struct probe_programs *programs,
			       enum probe_way way, const struct target *target,
			       const struct hooks *hooks, size_t first, uint32_t module,
			       struct bpf_program *program)
{
	cleanup(batch_deinit) struct batch batch = {0};

	for (size_t i = first; i < hooks->list.count; i++) {
		const struct hook *hook = &hooks->list.items[i];
		bool wanted = program == programs->ret
				      ? !is_release(hook->cookie) &&
						HOOK_WHERE_OF(hook->cookie) == HOOK_WHERE_ENTRY
				      : program_of(programs, way, hook->cookie) == program;

		if (hook->module != module || !wanted)
			continue;
		if (!vec_push(&batch.offsets, hook->file_offset) ||
		    !vec_push(&batch.cookies, hook->cookie))
			return err_no_memory();
	}
	if (!batch.offsets.count)
		return NULL;
	return link_batch(links, program, target, &target->modules.items[module], &batch,
			  program == programs->ret);
}

static struct err *add_multi(struct probe_links *links, const struct probe_programs *programs,
			     enum probe_way way, const struct target *target,
			     const struct hooks *hooks, size_t first)
{
	// A return before its entry, and an allocation before what frees it: whoever is in between
	// while the probes are set is not half seen.
	struct bpf_program *const order[] = {
		programs->release, programs->exit, way == PROBE_SESSION ? NULL : programs->ret,
		programs->entry, way == PROBE_SESSION ? programs->session : NULL};
	struct err *err = NULL;

	for (size_t i = 0; !err && i < ARRAY_COUNT(order); i++) {
		if (!order[i])
			continue;
		for (uint32_t module = 0; !err && module < target->modules.count; module++)
			err = link_module(links, programs, way, target, hooks, first, module,
					  order[i]);
	}
	return err;
}

static struct err *add_perf_probe(struct probe_links *links, struct bpf_program *program,
				  const struct target *target, const struct hook *hook,
				  bool at_return)
{
	const struct target_module *module = &target->modules.items[hook->module];
	const struct bpf_uprobe_opts options = {
		.sz = sizeof(options), .bpf_cookie = hook->cookie, .retprobe = at_return};
	struct bpf_link *link;

	if (!vec_reserve(&links->perf, 1))
		return err_no_memory();
	link = bpf_program__attach_uprobe_opts(program, target->pid, module->open_path,
					       hook->file_offset, &options);
	if (!link)
		return probes_refused(module->path, target);
	links->perf.items[links->perf.count++] = link;
	return NULL;
}

static struct err *add_perf(struct probe_links *links, const struct probe_programs *programs,
			    const struct target *target, const struct hooks *hooks, size_t first)
{
	struct err *err = NULL;

	for (size_t i = first; !err && i < hooks->list.count; i++) {
		const struct hook *hook = &hooks->list.items[i];

		if (!is_release(hook->cookie) && HOOK_WHERE_OF(hook->cookie) == HOOK_WHERE_ENTRY)
			err = add_perf_probe(links, programs->ret, target, hook, true);
		if (!err)
			err = add_perf_probe(links, program_of(programs, PROBE_PERF, hook->cookie),
					     target, hook, false);
	}
	return err;
}

struct err *probe_links_add(struct probe_links *links, const struct probe_programs *programs,
			    enum probe_way way, const struct target *target,
			    const struct hooks *hooks, size_t first)
{
	if (way == PROBE_PERF)
		return add_perf(links, programs, target, hooks, first);
	return add_multi(links, programs, way, target, hooks, first);
}

void probe_links_deinit(struct probe_links *links)
{
	for (size_t i = 0; i < links->multi.count; i++)
		close(links->multi.items[i]);
	for (size_t i = 0; i < links->perf.count; i++)
		bpf_link__destroy(links->perf.items[i]);
	vec_deinit(&links->multi);
	vec_deinit(&links->perf);
}
