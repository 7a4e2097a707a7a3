/* The call tree: nodes of /flame as a tree that is opened step by step. */
import type { Flame, FlameChange } from '../api/generated';

export interface TreeNode {
	/** What /flame knows it by: root=. */
	id: string;
	name: string;
	module: string | null;
	plumbing: boolean;
	/** By the metric. */
	amount: number;
	own: number;
	blocks: number;
	leaked: number;
	age: number;
	/** Of all allocations that match, whatever the metric. */
	calls: number;
	temporary: number;
	/** Of a difference. */
	before: number;
	after: number;
	/** What its children leave out, and how many that are. */
	rest: number;
	more: number;
	children: TreeNode[];
}

/** The tree of an answer, the largest children first. */
export function treeOf(answer: Flame | FlameChange): TreeNode {
	const change = 'flame' in answer ? answer : null;
	const flame = change ? change.flame : (answer as Flame);
	const nodes = flame.parent.map((_, i): TreeNode => ({
		id: flame.id[i]!,
		name: flame.names[flame.name[i]!]!,
		module: flame.modules[flame.name[i]!] ?? null,
		plumbing: flame.plumbing[flame.name[i]!] ?? false,
		amount: flame.bytes[i]!,
		own: flame.own[i]!,
		blocks: flame.blocks[i]!,
		leaked: flame.leaked[i]!,
		age: flame.age[i]!,
		calls: flame.calls?.[i] ?? 0,
		temporary: flame.temporary?.[i] ?? 0,
		before: change?.before[i] ?? 0,
		after: change?.after[i] ?? 0,
		rest: flame.rest[i]!,
		more: flame.more[i]!,
		children: [],
	}));
	flame.parent.forEach((parent, i) => {
		if (parent >= 0) nodes[parent]!.children.push(nodes[i]!);
	});
	for (const node of nodes) node.children.sort((a, b) => b.amount - a.amount);
	return nodes[0]!;
}

/** A row of the table: a node, or (`rest`) what a node's children leave out. */
export interface TreeRow {
	node: TreeNode;
	level: number;
	rest: boolean;
}

/** `open`: the ids of open nodes. */
export function rowsOf(root: TreeNode, open: ReadonlySet<string>): TreeRow[] {
	const rows: TreeRow[] = [];
	// By hand: stacks of thousands of frames are deeper than calls may be.
	const ahead: TreeRow[] = [{ node: root, level: 1, rest: false }];
	for (let row = ahead.pop(); row; row = ahead.pop()) {
		rows.push(row);
		if (row.rest || !open.has(row.node.id)) continue;
		const level = row.level + 1;
		if (row.node.rest) ahead.push({ node: row.node, level, rest: true });
		for (let i = row.node.children.length - 1; i >= 0; i--) ahead.push({ node: row.node.children[i]!, level, rest: false });
	}
	return rows;
}

/** Whether something is below a node. */
export const opens = (node: TreeNode): boolean => node.children.length > 0 || node.rest > 0;

/* One child that has nearly all of it: no fork. */
const TRUNK = 0.95;

/** The ids of a node and of those below it down to the next fork. */
export function downToFork(node: TreeNode): string[] {
	const ids: string[] = [];
	for (let at: TreeNode | undefined = node; at && opens(at); at = at.children[0]) {
		ids.push(at.id);
		const first: TreeNode | undefined = at.children[0];
		if (!first || first.amount < at.amount * TRUNK) break;
	}
	return ids;
}

/** Whether an answer to the node's own id would have more of it than is here. */
export const hidesChildren = (node: TreeNode): boolean => node.more > 0;

const FIRST_ROWS = 24;

/** What is open at the beginning: always the largest that is not, while the rows are not too many. */
export function openAtFirst(root: TreeNode): string[] {
	const ids: string[] = [];
	const ahead = [root];
	for (let rows = 1; ahead.length; ) {
		ahead.sort((a, b) => a.amount - b.amount);
		const node = ahead.pop()!;
		const below = node.children.length + (node.rest ? 1 : 0);
		if (ids.length && rows + below > FIRST_ROWS) break;
		if (!below) continue;
		ids.push(node.id);
		rows += below;
		ahead.push(...node.children);
	}
	return ids;
}
