/* Draws the part of a layout that is seen. No state of its own: all comes in `Scene`. */
import { firstBeyond, type Layout } from './layout';
import type { Palette } from './colours';
import { afterScope } from '../../text/names';

export interface Scene {
	layout: Layout;
	palette: Palette;
	/** Of each node: its short name, and its number as text. */
	label: (node: number) => string;
	amount: (node: number) => string;
	/** Own code is bold. */
	strong: (node: number) => boolean;
	/** New or gone frames of a difference: a double edge, or hatched. */
	edge?: (node: number) => 'new' | 'gone' | null;
	matches: Uint8Array | null;
	selected: number;
	hovered: number;
	/** What is seen of the root's width. */
	from: number;
	to: number;
	row: number;
	/** The root stands at the bottom. */
	flames: boolean;
	height: number;
	colours: { ground: string; text: string; muted: string; line: string; accent: string; hatch: CanvasPattern | null };
	font: string;
}

const NAME_FROM = 28;
const AMOUNT_ROOM = 60;
const THIN = 2;
const PAD = 4;

/** A hatched tile. */
export function hatchPattern(line: string, ground: string): CanvasPattern | null {
	const tile = document.createElement('canvas');
	tile.width = tile.height = 6;
	const context = tile.getContext('2d');
	if (!context) return null;
	context.fillStyle = ground;
	context.fillRect(0, 0, 6, 6);
	context.strokeStyle = line;
	context.beginPath();
	for (const shift of [-6, 0, 6]) {
		context.moveTo(shift, 6);
		context.lineTo(shift + 6, 0);
	}
	context.stroke();
	return context.createPattern(tile, 'repeat');
}

/* The longest beginning of text that fits; '' below two letters. Widths are measured once a text. */
const widths = new Map<string, number>();

function measured(context: CanvasRenderingContext2D, text: string): number {
	const key = `${context.font}|${text}`;
	const known = widths.get(key);
	if (known !== undefined) return known;
	if (widths.size > 20000) widths.clear();
	const width = context.measureText(text).width;
	widths.set(key, width);
	return width;
}

function fitted(context: CanvasRenderingContext2D, text: string, room: number): string {
	const width = measured(context, text);
	if (width <= room) return text;
	const letters = Math.floor((text.length * room) / width) - 1;
	return letters >= 2 ? `${text.slice(0, letters)}…` : '';
}

interface Box {
	x: number;
	y: number;
	width: number;
}

function drawText(context: CanvasRenderingContext2D, scene: Scene, node: number, box: Box): void {
	const room = box.width - 2 * PAD;
	if (box.width < NAME_FROM) return;
	context.font = `${scene.strong(node) ? '600 ' : ''}${scene.font}`;
	let label = scene.label(node);
	// Scopes go first, as in the text report, while something is left.
	for (let rest; measured(context, label) > room && (rest = afterScope(label)); ) label = rest;
	const name = fitted(context, label, room);
	if (!name) return;
	context.fillStyle = scene.palette.text(node);
	const middle = box.y + scene.row / 2 + 0.5;
	context.fillText(name, box.x + PAD, middle);
	const used = measured(context, name);
	const amount = scene.amount(node);
	if (!amount || room - used < AMOUNT_ROOM) return;
	context.font = scene.font;
	context.globalAlpha = 0.8;
	context.fillText(amount, box.x + PAD + used + 6, middle);
	context.globalAlpha = 1;
}

function drawNode(context: CanvasRenderingContext2D, scene: Scene, node: number, box: Box): void {
	const gap = box.width > 3 ? 1 : 0;
	context.fillStyle = scene.palette.fill(node);
	context.fillRect(box.x, box.y, box.width - gap, scene.row - 1);
	const edge = scene.edge?.(node) ?? null;
	if (edge === 'gone' && scene.colours.hatch) {
		context.globalAlpha = 0.35;
		context.fillStyle = scene.colours.hatch;
		context.fillRect(box.x, box.y, box.width - gap, scene.row - 1);
		context.globalAlpha = 1;
	}
	if (edge === 'new' && box.width > 8) {
		context.strokeStyle = scene.colours.text;
		context.lineWidth = 1;
		context.strokeRect(box.x + 2.5, box.y + 2.5, box.width - gap - 5, scene.row - 6);
	}
	drawText(context, scene, node, box);
	const outlined = scene.matches?.[node] || node === scene.hovered || node === scene.selected;
	if (!outlined || box.width < THIN) return;
	context.strokeStyle = scene.matches?.[node] ? scene.colours.accent : scene.colours.text;
	context.lineWidth = 2;
	context.strokeRect(box.x + 1, box.y + 1, box.width - gap - 2, scene.row - 3);
}

/* What a node asked for itself, or what was left out of it: hatched. */
function drawOther(context: CanvasRenderingContext2D, scene: Scene, box: Box, text: string): void {
	context.fillStyle = scene.colours.hatch ?? scene.colours.line;
	context.fillRect(box.x, box.y, box.width - (box.width > 3 ? 1 : 0), scene.row - 1);
	if (!text || box.width < NAME_FROM * 2) return;
	context.font = scene.font;
	const words = fitted(context, text, box.width - 4 * PAD);
	if (!words) return;
	context.fillStyle = scene.colours.ground;
	context.fillRect(box.x + PAD, box.y + 3, measured(context, words) + 2 * PAD, scene.row - 7);
	context.fillStyle = scene.colours.muted;
	context.fillText(words, box.x + 2 * PAD, box.y + scene.row / 2 + 0.5);
}

function drawRow(context: CanvasRenderingContext2D, scene: Scene, depth: number, width: number, other: (frame: number) => string): void {
	const { layout, from, to } = scene;
	const row = layout.rows[depth]!;
	const factor = width / (to - from);
	const y = scene.flames ? scene.height - (depth + 1) * scene.row : depth * scene.row;
	let thin: Box | null = null;
	const flush = () => {
		if (thin) drawOther(context, scene, thin, '');
		thin = null;
	};
	for (let i = firstBeyond(layout, row, from); i < row.length; i++) {
		const frame = row[i]!;
		if (layout.left[frame]! >= to) break;
		const x = Math.max(0, (layout.left[frame]! - from) * factor);
		const end = Math.min(width, (layout.left[frame]! + layout.width[frame]! - from) * factor);
		// What is too narrow joins its neighbours: a hatched run, never nothing.
		if (end - x < THIN) {
			if (thin) thin.width = end - (thin as Box).x;
			else thin = { x, y, width: Math.max(0.5, end - x) };
			continue;
		}
		flush();
		const box = { x, y, width: end - x };
		if (frame < layout.count) drawNode(context, scene, frame, box);
		else drawOther(context, scene, box, other(frame));
	}
	flush();
}

/** Draws the rows between two heights. `other` says what a hatched frame is. */
export function drawScene(
	context: CanvasRenderingContext2D,
	scene: Scene,
	width: number,
	top: number,
	bottom: number,
	other: (frame: number) => string,
): void {
	context.clearRect(0, top, width, bottom - top);
	context.textBaseline = 'middle';
	for (let depth = 0; depth < scene.layout.rows.length; depth++) {
		const y = scene.flames ? scene.height - (depth + 1) * scene.row : depth * scene.row;
		if (y + scene.row < top || y > bottom) continue;
		drawRow(context, scene, depth, width, other);
	}
}
