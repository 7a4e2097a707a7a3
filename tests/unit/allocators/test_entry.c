/*
 * How entries of functions are patched: the moved code does what the original did. A child of this
 * process is stepped through both, instruction by instruction, with the same registers, and must
 * end with the same registers, flags and stack at the same address. Functions are those of the
 * libraries that this process has loaded; ALL_FUNCTIONS=1 takes all of them, and with the path of a
 * library all of its exported functions as well.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"

#include "allocators/function_names.h"
#include "allocators/x86_64/entry.h"

#define STACK_SIZE 4096
#define STEPS_MAX  64

static uint8_t *stack; /* of the child's steps, shared with it: what it writes is seen here */

/* The child, stopped. */
static pid_t child;

static void begin_child(void)
{
	int status;

	child = fork();
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSTOPPED(status));
}

static void end_child(void)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* What a walk ended with. */
struct outcome {
	struct user_regs_struct registers;
	int signal; /* SIGTRAP: it left the code; else what an instruction raised */
	int steps;
	uint8_t stack[STACK_SIZE];
};

/*
 * Steps from `start` until the pc is outside of [start, start + size). Each walk has a child of its
 * own, whose memory nobody has changed before.
 */
static void walk(const struct user_regs_struct *begin, uint64_t start, size_t size,
		 struct outcome *ret)
{
	int status;

	begin_child();
	for (size_t i = 0; i < STACK_SIZE; i++)
		stack[i] = (uint8_t)(i * 7);
	ret->registers = *begin;
	ret->registers.rip = start;
	ret->registers.orig_rax = UINT64_MAX;
	assert_int_equal(ptrace(PTRACE_SETREGS, child, 0, &ret->registers), 0);
	for (ret->steps = 0; ret->steps < STEPS_MAX; ret->steps++) {
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, 0, 0), 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSTOPPED(status));
		assert_int_equal(ptrace(PTRACE_GETREGS, child, 0, &ret->registers), 0);
		ret->signal = WSTOPSIG(status);
		if (ret->signal != SIGTRAP || ret->registers.rip - start >= size)
			break;
	}
	memcpy(ret->stack, stack, STACK_SIZE);
	end_child();
}

static bool is_same(const struct outcome *a, const struct outcome *b)
{
	struct user_regs_struct x = a->registers, y = b->registers;

	if (a->signal != b->signal || memcmp(a->stack, b->stack, STACK_SIZE) != 0)
		return false;
	if (a->signal != SIGTRAP)
		x.rip = y.rip = 0; // the instruction that raised it stands elsewhere
	x.eflags &= 0xcd5;
	y.eflags &= 0xcd5;
	x.orig_rax = y.orig_rax = 0;
	return memcmp(&x, &y, sizeof(x)) == 0;
}

/* Registers that point into the stack, each to another place. */
static struct user_regs_struct some_registers(void)
{
	static struct user_regs_struct ret;
	uint64_t at = (uint64_t)stack + STACK_SIZE / 2;

	if (!ret.cs) {
		begin_child();
		assert_int_equal(ptrace(PTRACE_GETREGS, child, 0, &ret), 0);
		end_child();
	}
	ret.rsp = at;
	ret.rax = at + 8;
	ret.rbx = at + 16;
	ret.rcx = at + 24;
	ret.rdx = at + 32;
	ret.rsi = at + 40;
	ret.rdi = at + 48;
	ret.rbp = at + 56;
	ret.r8 = at + 64;
	ret.r9 = at + 72;
	ret.r10 = at + 80;
	ret.r11 = at + 88;
	ret.r12 = at + 96;
	ret.r13 = at + 104;
	ret.r14 = at + 112;
	ret.r15 = at + 120;
	return ret;
}

/* A page that can be executed, near an address. */
static uint8_t *page_near(uint64_t address)
{
	for (uint64_t distance = 1 << 20; distance < 1u << 30; distance += 1 << 20) {
		void *place = (void *)((address - distance) & -4096ul);
		uint8_t *page = mmap(place, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				     MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (page != MAP_FAILED)
			return page;
	}
	fail_msg("no page near %#lx", address);
	return NULL;
}

struct counts {
	size_t functions, moved, steps, faults;
	size_t refused_length, refused_first, refused_other;
};

#define HOOK                                                                                       \
	0x123456780000ul /* an address that nothing is at: the stub's last jump leads there        \
			  */

/* The stub takes back what the first instruction did. */
static void check_stub(const struct entry_plan *plan, uint64_t function, uint8_t *page,
		       const struct user_regs_struct *begin, const char *name)
{
	uint64_t data = (uint64_t)page + 512, hook = (uint64_t)page + 1024,
		 to = (uint64_t)page + 256;
	static struct outcome first, end;
	struct user_regs_struct *x = &end.registers;

	*(uint64_t *)hook = HOOK;
	assert_in_range(entry_stub(plan, page + 256, to, data, hook), 13, ENTRY_STUB_SIZE);
	walk(begin, function, plan->jump, &first);
	if (first.signal != SIGTRAP)
		return;
	walk(&first.registers, to, ENTRY_STUB_SIZE, &end);
	if (x->rip != HOOK || x->rbp != data || x->rsp != begin->rsp - 8 ||
	    *(uint64_t *)(stack + STACK_SIZE / 2 - 8) != begin->rbp || x->rdi != begin->rdi ||
	    x->rsi != begin->rsi || x->rdx != begin->rdx || x->rcx != begin->rcx ||
	    x->r8 != begin->r8 || x->rbx != begin->rbx || x->r12 != begin->r12 ||
	    x->r15 != begin->r15)
		fail_msg("%s: the stub does not come to the hook as the function was called", name);
}

static void check_function(const char *name, uint64_t address, size_t size, size_t readable,
			   uint8_t *page, struct counts *counts)
{
	const uint8_t *code = (const uint8_t *)address;
	struct entry_plan plan = entry_plan_make(code, size, readable, address, 5, 31);
	struct entry_step steps[ENTRY_STEPS];
	struct user_regs_struct begin;
	static struct outcome original, moved;
	size_t length;

	counts->functions++;
	// Calls of the system are not made here; nor is the time the same twice.
	if (!plan.refusal &&
	    (memmem(code, plan.end, "\x0f\x05", 2) || memmem(code, plan.end, "\x0f\x31", 2)))
		return;
	if (plan.refusal) {
		counts->refused_length += !!strstr(plan.refusal, "shorter");
		counts->refused_first += !!strstr(plan.refusal, "twice");
		counts->refused_other +=
			!strstr(plan.refusal, "shorter") && !strstr(plan.refusal, "twice");
		return;
	}
	length = entry_move(&plan, code, address, page, (uint64_t)page, steps);
	if (!length)
		fail_msg("%s cannot be moved", name);
	assert_true(length <= ENTRY_MOVED_SIZE);
	begin = some_registers();
	walk(&begin, address, plan.end, &original);
	walk(&begin, (uint64_t)page, length, &moved);
	if (!is_same(&original, &moved))
		fail_msg("%s at %#lx: moved code ends at %#lx by signal %d, the original at %#lx "
			 "by %d",
			 name, address, (uint64_t)moved.registers.rip, moved.signal,
			 (uint64_t)original.registers.rip, original.signal);
	// The steps say where an instruction stood: by them walks find through moved code.
	if (original.signal != SIGTRAP) {
		uint64_t offset = moved.registers.rip - (uint64_t)page, at = 0;

		for (size_t i = 0; i < ENTRY_STEPS && steps[i].moved <= offset; i++)
			at = i && !steps[i].moved ? at : steps[i].original;
		assert_int_equal(address + at, original.registers.rip);
	}
	check_stub(&plan, address, page, &begin, name);
	counts->moved++;
	counts->steps += (size_t)original.steps;
	counts->faults += original.signal != SIGTRAP;
}

/* Every `each`th function of a library; all: those of allocators, by their names. */
static void check_library(const char *path, uint64_t bias, unsigned int each, bool allocators,
			  struct counts *counts)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	struct function_names names;
	uint8_t *page = NULL;
	uint64_t last = 0;

	assert_non_null(elf);
	function_names_init(&names, NULL);
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr header;
		GElf_Sym symbol;
		Elf_Data *data;

		gelf_getshdr(scn, &header);
		if (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM)
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 1; gelf_getsym(data, i, &symbol); i++) {
			const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
			struct function_match match;
			bool known = name && function_names_match(&names, name, &match);

			if (symbol.st_shndx == SHN_UNDEF || !symbol.st_size || !name ||
			    GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_value == last ||
			    (allocators ? !known : (unsigned int)i % each))
				continue;
			last = symbol.st_value;
			if (!page)
				page = page_near(bias + last);
			check_function(name, bias + last, symbol.st_size, symbol.st_size + 16, page,
				       counts);
		}
	}
	elf_end(elf);
	close(fd);
	if (page)
		munmap(page, 4096);
}

static void check_loaded(const char *file, unsigned int each, bool allocators,
			 struct counts *counts)
{
	void *library = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
	struct link_map *map;

	if (!library)
		return;
	assert_int_equal(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
	check_library(map->l_name, map->l_addr, each, allocators, counts);
}

static void random_functions(void **state)
{
	const char *all = getenv("ALL_FUNCTIONS");
	unsigned int each = all ? 1 : 16;
	struct counts counts = {0};

	check_loaded("libc.so.6", each, false, &counts);
	check_loaded("libstdc++.so.6", each, false, &counts);
	if (all && strchr(all, '/'))
		check_loaded(all, 1, false, &counts);
	if (!counts.functions)
		skip(); // musl
	print_message("%zu functions, %zu moved (%zu steps, %zu ended by a fault); "
		      "too short %zu, first instruction %zu, other %zu\n",
		      counts.functions, counts.moved, counts.steps, counts.faults,
		      counts.refused_length, counts.refused_first, counts.refused_other);
	assert_true(counts.moved * 2 > counts.functions);
}

/* Every function that the agent would patch, of the allocators that are installed. */
static void allocators(void **state)
{
	static const char *const files[] = {"libjemalloc.so.2", "libtcmalloc_minimal.so.4",
					    "libmimalloc.so.2", "libc.so.6"};
	struct counts counts = {0};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		check_loaded(files[i], 1, true, &counts);
	print_message("%zu functions of allocators, %zu moved\n", counts.functions, counts.moved);
	assert_true(counts.moved > 0);
}

#define PLAN(bytes, size)                                                                          \
	entry_plan_make((const uint8_t *)(bytes), size, sizeof(bytes) - 1, 0x1000, 1, 1)

static void refusals(void **state)
{
	struct entry_plan plan = PLAN("\x55\x48\x89\xe5\x48\x89\xfb\xc3", 8);

	assert_null(plan.refusal); // push; mov; mov; ret
	assert_int_equal(plan.jump, 1);
	assert_int_equal(plan.end, 7);
	assert_int_equal(plan.pushed, 8);
	plan = PLAN("\xf3\x0f\x1e\xfa\x31\xc0\x48\x89\xf8\xc3", 10);
	assert_null(plan.refusal); // endbr64; xor; mov; ret
	assert_int_equal(plan.jump, 4);
	plan = PLAN("\x48\x83\xec\x18\x48\x85\xff\x90\x90\xc3", 10);
	assert_null(plan.refusal); // sub $24, %rsp
	assert_int_equal(plan.pushed, 24);
	plan = PLAN("\xe9\x10\x00\x00\x00", 5);
	assert_string_equal(plan.refusal, "it only jumps elsewhere");
	assert_int_equal(plan.leads_to, 0x1015);
	// mov %rsi, %rdi: the argument would be gone.
	plan = PLAN("\x48\x89\xf7\x90\x90\x90\x90\x90\xc3", 9);
	assert_string_equal(plan.refusal, "its first instruction cannot run twice");
	// mov %rdi, %rsi: a register of an argument that it does not have.
	plan = PLAN("\x48\x89\xfe\x90\x90\x90\x90\x90\xc3", 9);
	assert_null(plan.refusal);
	// The same where it has that argument, and nobody asks for it: it is copied again.
	plan = entry_plan_make((const uint8_t *)"\x48\x89\xfe\x90\x90\x90\x90\x90\xc3", 9, 9, 0, 2,
			       1);
	assert_null(plan.refusal);
	plan = entry_plan_make((const uint8_t *)"\x48\x89\xfe\x90\x90\x90\x90\x90\xc3", 9, 9, 0, 2,
			       3);
	assert_non_null(plan.refusal);
	plan = PLAN("\x31\xc0\xc3", 3);
	assert_string_equal(plan.refusal, "it is shorter than a jump");
	plan = PLAN("\x31\xc0\xc3\xcc\xcc\xcc\xcc\xcc", 3);
	assert_null(plan.refusal); // with padding behind it
	plan = PLAN("\x31\xc0\xc3\x66\x0f\x1f\x44\x00\x00\x55", 3);
	assert_null(plan.refusal);
	// A loop to its second instruction.
	plan = PLAN("\x53\x48\x89\xfb\x48\x89\xdf\xeb\xf8\xc3", 10);
	assert_string_equal(plan.refusal, "it jumps back to its entry");
	plan = PLAN("\x53\xff\x15\x00\x00\x00\x00\x5b\xc3", 9);
	assert_string_equal(plan.refusal, "an instruction at its entry cannot be moved");
	plan = PLAN("\x53\x06\x00\x00\x00\x00\x5b\xc3", 8);
	assert_string_equal(plan.refusal, "its machine code is not understood");
	assert_non_null(PLAN("", 0).refusal);
}

/* What a moved instruction refers to may be too far away. */
static void distances(void **state)
{
	static const uint8_t code[] = "\x53\x48\x8b\x05\x00\x01\x00\x00\xc3"; // mov 256(%rip), %rax
	struct entry_plan plan = entry_plan_make(code, 9, 9, 0, 0, 0);
	uint8_t out[ENTRY_MOVED_SIZE], jump[ENTRY_JUMP_SIZE];
	struct entry_step steps[ENTRY_STEPS];
	uint64_t from = 0x7f0000000000;

	assert_null(plan.refusal);
	assert_true(entry_move(&plan, code, from, out, from + (1u << 30), steps) > 0);
	assert_int_equal(entry_move(&plan, code, from, out, from + (3ull << 30), steps), 0);
	assert_true(entry_jump(jump, from, from - (1u << 30)));
	assert_false(entry_jump(jump, from, from + (3ull << 30)));
	assert_int_equal(entry_stub(&plan, out, from, from + (3ull << 30), from), 0);
}

const char *__lsan_default_suppressions(void);

/* A library of tcmalloc, which is loaded here, keeps a block of its own. */
const char *__lsan_default_suppressions(void)
{
	return "leak:MallocExtension::Register\n";
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refusals),
		cmocka_unit_test(distances),
		cmocka_unit_test(random_functions),
		cmocka_unit_test(allocators),
	};

	elf_version(EV_CURRENT);
	stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
