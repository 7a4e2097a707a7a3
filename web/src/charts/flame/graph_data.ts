/* An answer of /flame in the form that is drawn, and what can be read off it. */
import type { Flame } from '../../api/generated';
import { shortName } from '../../text/names';
import { pathTo, type Nodes } from './layout';

export interface Graph {
	flame: Flame;
	/** Both sides of each node, of a difference. */
	sides: { before: number[]; after: number[] } | null;
	nodes: Nodes;
	/** Short names of nodes that were asked for: most of a large graph are too narrow for one. */
	labels: Map<number, string>;
	/** Nodes above the root that was asked for; they are as wide as it. */
	path: number;
}

export function graphOf(flame: Flame, sides: Graph['sides'] = null): Graph {
	return {
		flame,
		sides,
		nodes: { parent: flame.parent, value: flame.bytes, own: flame.own, rest: flame.rest },
		labels: new Map(),
		path: 0,
	};
}

/** What a node is called where there is little room. */
export function labelOf({ flame, labels }: Graph, node: number): string {
	const name = flame.name[node]!;
	let label = labels.get(name);
	if (label === undefined) {
		label = shortName(flame.names[name]!);
		labels.set(name, label);
	}
	return label;
}

const at = <T,>(columns: T[], indices: number[]): T[] => indices.map((i) => columns[i]!);

/**
 * A subtree that was asked for by itself, below the path that leads to it in the whole graph: so the
 * way back stays.
 */
export function withPath(whole: Graph, node: number, sub: Flame, sides: Graph['sides'] = null): Graph {
	const path = pathTo(whole.flame.parent, node).slice(0, -1);
	const { flame } = whole;
	const shift = path.length;
	const names = flame.names.length;
	const join = (key: 'bytes' | 'blocks' | 'leaked' | 'age' | 'folded') => [...at(flame[key], path), ...sub[key]];
	const joined: Flame = {
		metric: sub.metric,
		names: [...flame.names, ...sub.names],
		modules: [...flame.modules, ...sub.modules],
		plumbing: [...flame.plumbing, ...sub.plumbing],
		id: [...at(flame.id, path), ...sub.id],
		parent: [...path.map((_, i) => i - 1), ...sub.parent.map((parent) => parent + shift)],
		name: [...at(flame.name, path), ...sub.name.map((name) => name + names)],
		folded: join('folded'),
		bytes: join('bytes'),
		blocks: join('blocks'),
		leaked: join('leaked'),
		age: join('age'),
		own: [...path.map(() => 0), ...sub.own],
		rest: [...path.map(() => 0), ...sub.rest],
		more: [...path.map(() => 0), ...sub.more],
		calls: null,
		temporary: null,
	};
	const graph = graphOf(joined, sides && whole.sides ? {
		before: [...at(whole.sides.before, path), ...sides.before],
		after: [...at(whole.sides.after, path), ...sides.after],
	} : null);
	const width = sub.bytes[0] ?? 0;
	graph.nodes = { ...graph.nodes, value: [...path.map(() => width), ...sub.bytes] };
	graph.path = shift;
	return graph;
}

/** Which nodes have a name with the words in it, whatever the case; null: no words. */
export function matching(graph: Graph, words: string): Uint8Array | null {
	if (!words) return null;
	const find = words.toLowerCase();
	const names = graph.flame.names.map((name) => name.toLowerCase().includes(find));
	return Uint8Array.from(graph.flame.name, (name) => (names[name] ? 1 : 0));
}

/** What stacks with such a name come to, as far as they are drawn: each stack once. */
export function foundValue(graph: Graph, words: string): number {
	const matches = matching(graph, words);
	if (!matches) return 0;
	const { parent, bytes } = graph.flame;
	const inside = new Uint8Array(parent.length);
	let sum = 0;
	for (let i = 0; i < parent.length; i++) {
		const above = parent[i]! >= 0 && inside[parent[i]!] === 1;
		if (matches[i] && !above) sum += bytes[i]!;
		inside[i] = above || matches[i] ? 1 : 0;
	}
	return sum;
}

/** How many frames deep the graph is, with folds and without. */
export function depths({ parent, folded }: Flame): { rows: number; frames: number } {
	const depth = new Int32Array(parent.length);
	const frames = new Int32Array(parent.length);
	let rows = 0;
	let most = 0;
	for (let i = 0; i < parent.length; i++) {
		const above = parent[i]!;
		depth[i] = above < 0 ? 0 : depth[above]! + 1;
		frames[i] = above < 0 ? 0 : frames[above]! + folded[i]!;
		rows = Math.max(rows, depth[i]! + 1);
		most = Math.max(most, frames[i]! + 1);
	}
	return { rows, frames: most };
}

/** The same graph with each node's children in the order of their names: both sides of a difference lie alike. */
export function byName(graph: Graph): Graph {
	const { flame } = graph;
	const order = flame.parent.map((_, i) => i);
	const names = flame.names;
	// Parents must stay ahead: by depth, then parent, then name.
	const depth = new Int32Array(flame.parent.length);
	flame.parent.forEach((parent, i) => (depth[i] = parent < 0 ? 0 : depth[parent]! + 1));
	order.sort((a, b) => depth[a]! - depth[b]! || (names[flame.name[a]!]! < names[flame.name[b]!]! ? -1 : 1) || a - b);
	const place = new Int32Array(order.length);
	order.forEach((old, now) => (place[old] = now));
	const take = <T,>(columns: T[]) => at(columns, order);
	const sorted: Flame = {
		...flame,
		id: take(flame.id), name: take(flame.name), folded: take(flame.folded), bytes: take(flame.bytes), own: take(flame.own),
		blocks: take(flame.blocks), leaked: take(flame.leaked), age: take(flame.age), rest: take(flame.rest), more: take(flame.more),
		parent: take(flame.parent).map((parent) => (parent < 0 ? -1 : place[parent]!)),
	};
	const sides = graph.sides && { before: take(graph.sides.before), after: take(graph.sides.after) };
	return { ...graphOf(sorted, sides), path: graph.path };
}
