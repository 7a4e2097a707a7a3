/* What the colour of a frame says. */
import type { Flame } from '../../api/generated';
import { colour } from '../colour';

export type ColourBy = 'module' | 'fate' | 'age' | 'size';

const MODULES = 8;
const SHADES = 5;
const SPREAD = 0.08;

export interface Palette {
	/** The fill of node i. */
	fill: (node: number) => string;
	/** The text on it. */
	text: (node: number) => string;
	/** What colours mean, for the legend. */
	legend: { name: string; fill: string }[];
}

function channels(hex: string): [number, number, number] {
	const value = parseInt(hex.slice(1), 16);
	return [value >> 16, (value >> 8) & 255, value & 255];
}

/** A colour between two, `part` of the way. */
export function mixed(from: string, to: string, part: number): string {
	const a = channels(from);
	const b = channels(to);
	const [red, green, blue] = a.map((value, i) => Math.round(value + (b[i]! - value) * part));
	return `rgb(${red} ${green} ${blue})`;
}

function hash(text: string): number {
	let value = 2166136261;
	for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
	return value >>> 0;
}

const isLibc = (module: string) => /^(libc[.-]|ld-)/.test(module);
const isLibcxx = (module: string) => /^libstdc\+\+|^libc\+\+/.test(module);

/** Modules in the order of their colours: that with most of its own first, libstdc++ second, libc third. */
export function moduleOrder(flame: Flame): string[] {
	const own = new Map<string, number>();
	flame.name.forEach((name, i) => {
		const module = flame.modules[name];
		if (module) own.set(module, (own.get(module) ?? 0) + flame.own[i]! + flame.rest[i]!);
	});
	const all = [...own].sort((a, b) => b[1] - a[1]).map(([module]) => module);
	const plain = all.filter((module) => !isLibc(module) && !isLibcxx(module));
	const second = all.find(isLibcxx) ?? '';
	const third = all.find(isLibc) ?? '';
	const rest = all.filter((module) => (isLibc(module) || isLibcxx(module)) && module !== second && module !== third);
	return [plain[0] ?? '', second, third, ...plain.slice(1), ...rest];
}

function byModule(flame: Flame): Palette {
	const order = moduleOrder(flame);
	const white = '#ffffff';
	const black = '#000000';
	const ground = colour('ground');
	const base = Array.from({ length: MODULES }, (_, i) => colour(`module-${i + 1}`));
	const grey = colour('same');
	// One library would be one slab: its functions differ a little.
	const shades = [...base, grey].map((hue) =>
		Array.from({ length: SHADES }, (_, i) => {
			const part = (i / (SHADES - 1)) * 2 - 1;
			return part < 0 ? mixed(hue, black, -part * SPREAD) : mixed(hue, white, part * SPREAD);
		}),
	);
	const pale = [...base, grey].map((hue) => mixed(hue, ground, 0.35));
	const fills = flame.names.map((name, i) => {
		const module = flame.modules[i];
		const at = module ? order.indexOf(module) : -1;
		const hue = at >= 0 && at < MODULES ? at : MODULES;
		if (!module) return colour('panel');
		return flame.plumbing[i] ? pale[hue]! : shades[hue]![hash(name) % SHADES]!;
	});
	const text = colour('module-text');
	const plain = colour('text');
	return {
		fill: (node) => fills[flame.name[node]!]!,
		text: (node) => (flame.modules[flame.name[node]!] && !flame.plumbing[flame.name[node]!] ? text : plain),
		legend: order.slice(0, MODULES).flatMap((name, i) => (name ? [{ name, fill: base[i]! }] : [])),
	};
}

/* From pale to full in five steps. */
function scale(part: (node: number) => number, hue: string, words: [string, string]): Palette {
	const ground = colour('same');
	const steps = Array.from({ length: SHADES }, (_, i) => mixed(ground, colour(hue), i / (SHADES - 1)));
	const step = (node: number) => Math.min(SHADES - 1, Math.max(0, Math.round(part(node) * (SHADES - 1))));
	const dark = colour('text');
	const ends = colour('ground');
	return {
		fill: (node) => steps[step(node)]!,
		text: (node) => (step(node) >= SHADES - 2 ? ends : dark),
		legend: [
			{ name: words[0], fill: steps[0]! },
			{ name: words[1], fill: steps[SHADES - 1]! },
		],
	};
}

export function paletteOf(flame: Flame, by: ColourBy): Palette {
	switch (by) {
		case 'module':
			return byModule(flame);
		case 'fate': {
			const bytes = flame.metric === 'peak' || flame.metric === 'total' || flame.metric === 'leaked';
			return scale(
				(i) => (bytes ? flame.leaked[i]! / (flame.bytes[i] || 1) : flame.leaked[i]! > 0 ? 1 : 0),
				'never-freed',
				['freed', 'never freed'],
			);
		}
		case 'age': {
			const oldest = Math.max(1, ...flame.age.slice(0, 1000));
			return scale((i) => Math.log1p(flame.age[i]!) / Math.log1p(oldest), 'freed-late', ['lived short', 'lived long']);
		}
		case 'size': {
			const mean = (i: number) => flame.bytes[i]! / (flame.blocks[i] || 1);
			return scale((i) => Math.log2(1 + mean(i)) / 24, 'slack', ['small blocks', 'large blocks']);
		}
	}
}

/* Full from 10 % of the larger total, middle from 1 %, pale from 0.1 %. */
export function changeStep(change: number, total: number): number {
	const part = Math.abs(change) / (total || 1);
	const step = part >= 0.1 ? 3 : part >= 0.01 ? 2 : part >= 0.001 ? 1 : 0;
	return change < 0 ? -step : step;
}

const ONE_CHILD = 0.95;

/**
 * Of a difference. A frame whose change is that of one child is grey, so that colour stands where a
 * change arises.
 */
export function changePalette(flame: Flame, before: number[], after: number[]): Palette {
	const names = ['fell-3', 'fell-2', 'fell-1', 'same', 'grew-1', 'grew-2', 'grew-3'];
	const fills = names.map(colour);
	const total = Math.max(before[0] ?? 0, after[0] ?? 0);
	const change = (i: number) => after[i]! - before[i]!;
	const passed = new Uint8Array(flame.parent.length);
	for (let i = 1; i < flame.parent.length; i++) {
		const parent = flame.parent[i]!;
		if (change(parent) !== 0 && change(i) / change(parent) >= ONE_CHILD) passed[parent] = 1;
	}
	const step = (i: number) => (passed[i] ? 0 : changeStep(change(i), total));
	const light = document.documentElement.dataset.theme !== 'dark';
	const white = (i: number) => (light ? Math.abs(step(i)) === 3 : Math.abs(step(i)) < 3);
	return {
		fill: (i) => fills[step(i) + 3]!,
		text: (i) => (white(i) ? '#ffffff' : '#14181f'),
		legend: [
			{ name: 'fell by 10 % of all or more', fill: fills[0]! },
			{ name: 'by 1 %', fill: fills[1]! },
			{ name: 'by 0.1 %', fill: fills[2]! },
			{ name: 'same, or as its child', fill: fills[3]! },
			{ name: 'grew by 0.1 %', fill: fills[4]! },
			{ name: 'by 1 %', fill: fills[5]! },
			{ name: 'by 10 % or more', fill: fills[6]! },
		],
	};
}
