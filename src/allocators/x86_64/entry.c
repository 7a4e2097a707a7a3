#include "allocators/x86_64/entry.h"

#include <string.h>

#include "allocators/x86_64/instruction_effect.h"

#define RSP 4

/* Whether the instruction is `sub $imm, %rsp`; *ret: the number. */
static bool makes_room(const uint8_t *code, const struct x86_instruction *insn, int32_t *ret)
{
	if ((insn->opcode != 0x81 && insn->opcode != 0x83) || insn->prefixes || insn->rex != 0x48 ||
	    insn->modrm != (0xc0 | 5 << 3 | RSP))
		return false;
	if (insn->opcode == 0x83)
		*ret = (int8_t)code[insn->length - 1];
	else
		memcpy(ret, code + insn->length - 4, 4);
	return *ret > 0;
}

/* What the first instruction does can be taken back, and it can run again. */
static bool plan_first(const uint8_t *code, const struct x86_instruction *insn,
		       unsigned int arguments, unsigned int needed, struct entry_plan *plan)
{
	plan->jump = insn->length;
	if (insn->kind == X86_PUSH && !insn->prefixes) {
		plan->pushed = 8;
		return true;
	}
	return makes_room(code, insn, &plan->pushed) || x86_runs_twice(insn, arguments, needed);
}

/* Whether only nothing, or a trap, is in these bytes: padding. */
static bool is_padding(const uint8_t *code, size_t from, size_t to, size_t readable)
{
	struct x86_instruction insn;

	for (; from < to; from += insn.length) {
		if (from < readable && code[from] == 0xcc)
			insn.length = 1;
		else if (from >= readable ||
			 !x86_instruction_decode(code + from, readable - from, &insn) ||
			 insn.kind != X86_NOP)
			return false;
	}
	return true;
}

static const char *why_not_moved(const struct x86_instruction *insn)
{
	if (insn->kind == X86_LOOP || insn->kind == X86_INDIRECT_CALL ||
	    (insn->relative && insn->prefixes & X86_ADDRESS_SIZE))
		return "an instruction at its entry cannot be moved";
	return NULL;
}

/* Plans what the jump covers. */
static const char *plan_moved(const uint8_t *code, size_t size, size_t readable,
			      struct entry_plan *plan)
{
	struct x86_instruction insn;
	size_t at = plan->jump, needed = plan->jump + ENTRY_JUMP_SIZE;
	bool over = false;
	unsigned int steps = 1;

	for (; at < needed && !over && at < size; at += insn.length) {
		if (!x86_instruction_decode(code + at, readable - at, &insn))
			return "its machine code is not understood";
		if (why_not_moved(&insn) || ++steps > ENTRY_STEPS)
			return "an instruction at its entry cannot be moved";
		plan->calls |= insn.kind == X86_CALL;
		// What follows a call is where it returns to: it stays.
		over = insn.kind == X86_JUMP || insn.kind == X86_INDIRECT_JUMP ||
		       insn.kind == X86_RETURN || insn.kind == X86_CALL;
		if (insn.kind == X86_CALL && at + insn.length < needed)
			return "it calls another function at its entry";
	}
	plan->end = (uint8_t)at;
	if (at < needed && (at < size || !is_padding(code, at, needed, readable)))
		return "it is shorter than a jump";
	return NULL;
}

/* Whether no jump in the function leads to the bytes that change, or behind the first one. */
static bool is_straight(const uint8_t *code, size_t size, const struct entry_plan *plan)
{
	uint64_t last = plan->jump + ENTRY_JUMP_SIZE;
	struct x86_instruction insn;

	if (last < plan->end)
		last = plan->end;
	for (size_t at = 0; at < size; at += insn.length) {
		uint64_t target;

		if (!x86_instruction_decode(code + at, size - at, &insn))
			return at >= last && code[at] == 0; // a table, or zeros, behind the code
		target = (uint64_t)at + (uint64_t)insn.target;
		if (x86_has_target(&insn) && target - 1 < last - 1)
			return false;
	}
	return true;
}

struct entry_plan entry_plan_make(const uint8_t *code, size_t size, size_t readable,
				  uint64_t address, unsigned int arguments, unsigned int needed)
{
	struct entry_plan plan = {0};
	struct x86_instruction insn;

	if (!size || size > readable || !x86_instruction_decode(code, size, &insn)) {
		plan.refusal = "its machine code is not understood";
	} else if (insn.kind == X86_JUMP) {
		plan.refusal = "it only jumps elsewhere";
		plan.leads_to = address + (uint64_t)insn.target;
	} else if (!plan_first(code, &insn, arguments, needed, &plan)) {
		plan.refusal = "its first instruction cannot run twice";
	} else {
		plan.refusal = plan_moved(code, size, readable, &plan);
		if (!plan.refusal && !is_straight(code, size, &plan))
			plan.refusal = "it jumps back to its entry";
	}
	return plan;
}

/* Places that are still to be looked at, and those that were. */
#define PLACES_MAX 128
struct places {
	uint64_t list[PLACES_MAX];
	size_t count, done;
	unsigned int instructions;
};

static void add_place(struct places *places, uint64_t address)
{
	for (size_t i = 0; i < places->count; i++)
		if (places->list[i] == address)
			return;
	if (places->count < PLACES_MAX)
		places->list[places->count++] = address;
}

/* Goes on from an address until nothing follows. true: a jump leads into what is covered. */
static bool walk_from(struct places *places, uint64_t at, const uint64_t covered[2],
		      const uint64_t function[2], entry_code *code, const void *file)
{
	struct x86_instruction insn;
	size_t readable;
	const uint8_t *bytes = code(file, at, &readable);

	for (size_t i = 0; bytes && places->instructions < ENTRY_FOLLOWED; i += insn.length) {
		uint64_t target;

		if (at + i - function[0] < function[1] - function[0])
			return false; // in the function itself: is_straight()
		if (!x86_instruction_decode(bytes + i, readable - i, &insn))
			return false;
		places->instructions++;
		target = at + i + (uint64_t)insn.target;
		if (x86_has_target(&insn) && insn.kind != X86_CALL) {
			if (target >= covered[0] && target < covered[1])
				return true;
			if (target < function[0] || target >= function[1])
				add_place(places, target);
		}
		if (insn.kind == X86_JUMP || insn.kind == X86_INDIRECT_JUMP ||
		    insn.kind == X86_RETURN)
			return false;
	}
	return false;
}

bool entry_is_jumped_into(const struct entry_plan *plan, uint64_t address, size_t size,
			  entry_code *code, const void *file)
{
	const uint64_t function[2] = {address, address + size};
	uint64_t last = plan->jump + ENTRY_JUMP_SIZE;
	const uint64_t covered[2] = {address + 1, address + (last < plan->end ? plan->end : last)};
	struct places places = {0};
	struct x86_instruction insn;
	size_t readable;
	const uint8_t *bytes = code(file, address, &readable);

	for (size_t at = 0; bytes && at < size && at < readable; at += insn.length) {
		uint64_t target;

		if (!x86_instruction_decode(bytes + at, readable - at, &insn))
			break;
		target = address + at + (uint64_t)insn.target;
		if (x86_has_target(&insn) && insn.kind != X86_CALL &&
		    (target < function[0] || target >= function[1]))
			add_place(&places, target);
	}
	while (places.done < places.count)
		if (walk_from(&places, places.list[places.done++], covered, function, code, file))
			return true;
	return false;
}

/* Machine code that is being written. */
struct writer {
	uint8_t *start, *out;
	uint64_t to; /* where `start` will run */
	bool too_far;
};

static void put_bytes(struct writer *writer, const void *bytes, size_t size)
{
	memcpy(writer->out, bytes, size);
	writer->out += size;
}

/* The 4 bytes of a distance to the target, from the end of the instruction, `more` bytes on. */
static void put_distance(struct writer *writer, uint64_t target, unsigned int more)
{
	uint64_t here = writer->to + (uint64_t)(writer->out - writer->start) + 4 + more;
	int64_t distance = (int64_t)(target - here);
	int32_t bytes = (int32_t)distance;

	writer->too_far |= distance != bytes;
	put_bytes(writer, &bytes, 4);
}

static void put_jump(struct writer *writer, uint64_t target)
{
	put_bytes(writer, "\xe9", 1);
	put_distance(writer, target, 0);
}

/* push $low; movl $high, 4(%rsp): an address of 64 bits. */
static void put_push(struct writer *writer, uint64_t value)
{
	put_bytes(writer, "\x68", 1);
	put_bytes(writer, &value, 4);
	put_bytes(writer, "\xc7\x44\x24\x04", 4);
	put_bytes(writer, (const uint8_t *)&value + 4, 4);
}

/* An instruction that stood at `from`. */
static void put_moved(struct writer *writer, const uint8_t *code,
		      const struct x86_instruction *insn, uint64_t from)
{
	uint64_t target = from + (uint64_t)insn->target;
	uint8_t branch[2] = {0x0f, 0x80 | (insn->opcode & 15)};
	int32_t displacement;

	switch (insn->kind) {
	case X86_BRANCH:
		put_bytes(writer, branch, 2);
		put_distance(writer, target, 0);
		break;
	case X86_CALL: // with the return address that it has at its place
		put_push(writer, from + insn->length);
		put_jump(writer, target);
		break;
	case X86_JUMP:
		put_jump(writer, target);
		break;
	default:
		if (!insn->relative) {
			put_bytes(writer, code, insn->length);
			break;
		}
		memcpy(&displacement, code + insn->relative, 4);
		put_bytes(writer, code, insn->relative);
		put_distance(writer, from + insn->length + (uint64_t)(int64_t)displacement,
			     insn->length - insn->relative - 4u);
		put_bytes(writer, code + insn->relative + 4, insn->length - insn->relative - 4u);
	}
}

size_t entry_move(const struct entry_plan *plan, const uint8_t *code, uint64_t from,
		  uint8_t out[ENTRY_MOVED_SIZE], uint64_t to, struct entry_step *steps)
{
	struct writer writer = {.start = out, .out = out, .to = to};
	struct x86_instruction insn = {0};
	size_t at = 0, step = 0;

	memset(steps, 0, ENTRY_STEPS * sizeof(*steps));
	for (; at < plan->end; at += insn.length) {
		if (!x86_instruction_decode(code + at, plan->end - at, &insn))
			return 0;
		steps[step++] = (struct entry_step){(uint8_t)(writer.out - out), (uint8_t)at};
		put_moved(&writer, code + at, &insn, from + at);
	}
	if (insn.kind != X86_JUMP && insn.kind != X86_INDIRECT_JUMP && insn.kind != X86_RETURN &&
	    insn.kind != X86_CALL) {
		if (step < ENTRY_STEPS)
			steps[step] = (struct entry_step){(uint8_t)(writer.out - out), plan->end};
		put_jump(&writer, from + plan->end);
	}
	return writer.too_far ? 0 : (size_t)(writer.out - out);
}

size_t entry_stub(const struct entry_plan *plan, uint8_t out[ENTRY_STUB_SIZE], uint64_t to,
		  uint64_t data, uint64_t target)
{
	struct writer writer = {.start = out, .out = out, .to = to};

	if (plan->pushed) { // lea pushed(%rsp), %rsp
		put_bytes(&writer, "\x48\x8d\xa4\x24", 4);
		put_bytes(&writer, &plan->pushed, 4);
	}
	put_bytes(&writer, "\x55\x48\x8d\x2d", 4); // push %rbp; lea data(%rip), %rbp
	put_distance(&writer, data, 0);
	put_bytes(&writer, "\xff\x25", 2); // jmp *target(%rip)
	put_distance(&writer, target, 0);
	return writer.too_far ? 0 : (size_t)(writer.out - out);
}

bool entry_jump(uint8_t out[ENTRY_JUMP_SIZE], uint64_t from, uint64_t target)
{
	struct writer writer = {.start = out, .out = out, .to = from};

	put_jump(&writer, target);
	return !writer.too_far;
}
