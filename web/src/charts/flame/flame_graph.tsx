/*
 * The flame graph as a canvas: zoom by click, keys, a box at the pointer, and a table behind it.
 * Which graph it is, and what is chosen in it, belongs to the view.
 */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { RefObject } from 'preact';
import { colour } from '../colour';
import { theme } from '../../state/theme';
import { useViewKeys } from '../../frame/keys';
import { formatChange, formatCount, formatExact, formatPercent, formatTime } from '../../text/units';
import { changePalette, paletteOf, type ColourBy } from './colours';
import { drawScene, hatchPattern, type Scene } from './draw';
import { labelOf, matching, type Graph } from './graph_data';
import { frameAt, nodeOf, pathTo, type Layout } from './layout';
import { FlameTable } from './flame_table';
import { useCover } from './use_cover';
import { useLayout } from './use_layout';
import '../../styles/flame.css';

export interface FlameGraphProps {
	graph: Graph;
	format: (value: number) => string;
	/** The colours of a difference are those of its change. */
	colourBy: ColourBy;
	/** Root at the bottom. */
	flames?: boolean;
	/** What is searched for. */
	find: string;
	/** The node that fills the width, and the one that the view speaks of: indices. */
	zoomed: number;
	selected: number;
	onZoom: (node: number) => void;
	onSelect: (node: number) => void;
	/** Opens the folds. */
	onUnfold?: (() => void) | undefined;
	label: string;
}

const ZOOM_MS = 160;
const ROW_FINE = 20;
const ROW_COARSE = 28;

const rowHeight = () => (matchMedia('(pointer: coarse)').matches ? ROW_COARSE : ROW_FINE);
const still = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

/* Moves the seen part of the width to its goal, and says where it is. */
function useSpan(from: number, to: number, draw: () => void): RefObject<{ from: number; to: number }> {
	const now = useRef({ from, to });
	const latest = useRef(draw);
	latest.current = draw;
	useEffect(() => {
		const begin = { ...now.current! };
		if (still() || (begin.from === from && begin.to === to)) {
			now.current = { from, to };
			latest.current!();
			return;
		}
		const start = performance.now();
		let timer = 0;
		const step = () => {
			const part = Math.min(1, (performance.now() - start) / ZOOM_MS);
			const eased = 1 - (1 - part) ** 3;
			now.current = { from: begin.from + (from - begin.from) * eased, to: begin.to + (to - begin.to) * eased };
			latest.current!();
			if (part < 1) timer = requestAnimationFrame(step);
		};
		timer = requestAnimationFrame(step);
		return () => cancelAnimationFrame(timer);
	}, [from, to]);
	return now;
}

/* Frames of the path above the zoomed node are wider than what is seen: their text begins at its edge. */
const spanOf = (layout: Layout, node: number) => ({
	from: layout.left[node] ?? 0,
	to: (layout.left[node] ?? 0) + Math.max(layout.width[node] ?? 1, 1e-12),
});

function edgeOf(graph: Graph): ((node: number) => 'new' | 'gone' | null) | undefined {
	const { sides } = graph;
	if (!sides) return undefined;
	return (node) => (!sides.before[node] && sides.after[node] ? 'new' : sides.before[node] && !sides.after[node] ? 'gone' : null);
}

/* A canvas is emptied and allocated again even if it is given the size that it has. */
function resize(canvas: HTMLCanvasElement, width: number, height: number): void {
	if (canvas.width !== width) canvas.width = width;
	if (canvas.height !== height) canvas.height = height;
}

export function FlameGraph(props: FlameGraphProps) {
	const { graph, format, find } = props;
	const layout = useLayout(graph.nodes, graph.sides ? 'given' : 'value');
	const host = useRef<HTMLDivElement>(null);
	const field = useRef<HTMLDivElement>(null);
	const canvas = useRef<HTMLCanvasElement>(null);
	const [width, setWidth] = useState(0);
	const [hover, setHover] = useState<{ frame: number; x: number; y: number } | null>(null);
	const [table, setTable] = useState(false);
	const shownTheme = theme.value;
	const row = rowHeight();
	const matches = useMemo(() => matching(graph, find), [graph, find]);
	const palette = useMemo(
		() => (graph.sides ? changePalette(graph.flame, graph.sides.before, graph.sides.after) : paletteOf(graph.flame, props.colourBy)),
		[graph, props.colourBy, shownTheme],
	);
	useEffect(() => {
		const observer = new ResizeObserver(() => setWidth(host.current?.clientWidth ?? 0));
		if (host.current) observer.observe(host.current);
		return () => observer.disconnect();
	}, []);

	const zoomed = layout && props.zoomed < layout.count ? props.zoomed : 0;
	// Until a large graph is laid out, what is below it stays where it is.
	const depth = useRef(1);
	if (layout) depth.current = visibleDepth(layout, zoomed);
	const depthBelow = depth.current;
	const height = depthBelow * row;
	const cover = useCover(field, height);
	const { flame } = graph;
	const amountOf = (node: number) =>
		graph.sides ? formatChange(graph.sides.after[node]! - graph.sides.before[node]!, format) : format(flame.bytes[node]!);
	const nameOf = (node: number) => {
		const folded = flame.folded[node]! - 1;
		return labelOf(graph, node) + (folded > 0 && node > 0 ? ` +${folded}` : '');
	};
	const other = (frame: number) => {
		const node = frame % flame.parent.length;
		return frame < 2 * flame.parent.length
			? `own ${format(flame.own[node]!)}`
			: `${formatCount(flame.more[node]!)} more, ${format(flame.rest[node]!)}`;
	};

	const draw = () => {
		const context = canvas.current?.getContext('2d');
		if (!context || !layout || !width) return;
		const scale = devicePixelRatio || 1;
		resize(canvas.current!, Math.round(width * scale), Math.round((cover.bottom - cover.top) * scale));
		context.setTransform(scale, 0, 0, scale, 0, -cover.top * scale);
		const { from, to } = now.current!;
		const ground = colour('ground');
		const edge = edgeOf(graph);
		const scene: Scene = {
			layout, palette, label: nameOf, amount: amountOf,
			strong: (node) => !flame.plumbing[flame.name[node]!],
			...(edge ? { edge } : {}),
			matches, selected: props.selected, hovered: hover ? hover.frame : -1, from, to, row, height,
			flames: props.flames ?? false,
			colours: {
				ground, text: colour('text'), muted: colour('muted'), line: colour('line'), accent: colour('accent'),
				hatch: hatchPattern(colour('line'), ground),
			},
			font: `12px ${colour('sans')}`,
		};
		drawScene(context, scene, width, cover.top, cover.bottom, other);
		performance.mark('mallow:flame');
	};
	const span = layout ? spanOf(layout, zoomed) : { from: 0, to: 1 };
	const now = useSpan(span.from, span.to, draw);
	// Before the browser paints: the canvas has moved, or has another size.
	useLayoutEffect(draw, [layout, palette, matches, width, hover?.frame, props.selected, height, cover, props.flames]);

	const frameUnder = (event: MouseEvent) => {
		if (!layout) return -1;
		const box = field.current!.getBoundingClientRect();
		const fromTop = Math.floor((event.clientY - box.top) / row);
		const depth = props.flames ? depthBelow - 1 - fromTop : fromTop;
		return frameAt(layout, depth, span.from + ((event.clientX - box.left) / box.width) * (span.to - span.from));
	};
	const click = (event: MouseEvent) => {
		const frame = frameUnder(event);
		if (!layout || frame < 0) return;
		const node = nodeOf(layout, frame);
		props.onSelect(node);
		props.onZoom(node);
	};
	useFlameKeys(props, layout);
	return (
		<figure class="flame" ref={host} aria-label={props.label}>
			<div class="flame-field" ref={field} style={{ height: `${height}px` }}>
				<canvas
					ref={canvas}
					style={{ top: `${cover.top}px`, height: `${cover.bottom - cover.top}px` }}
					tabIndex={0}
					role="img"
					aria-label={`${props.label}. Arrow keys move, Enter zooms.`}
					onClick={click}
					onPointerMove={(event) => {
						const frame = frameUnder(event);
						if (frame < 0) return setHover(null);
						const box = host.current!.getBoundingClientRect();
						setHover({ frame, x: event.clientX - box.left, y: event.clientY - box.top });
					}}
					onPointerLeave={() => setHover(null)}
				/>
			</div>
			{hover && layout ? <HoverBox graph={graph} frame={hover.frame} x={hover.x} y={hover.y} width={width} format={format} other={other} /> : null}
			<figcaption class="flame-legend">
				<ul class="legend">
					{palette.legend.map((entry) => (
						<li key={entry.name}>
							<span class="key" style={{ background: entry.fill }} />
							{entry.name}
						</li>
					))}
				</ul>
				<button type="button" class="plain" aria-expanded={table} onClick={() => setTable(!table)}>
					{table ? 'Hide the table' : 'Show as table'}
				</button>
			</figcaption>
			{table && layout ? <FlameTable graph={graph} root={zoomed} format={format} onZoom={props.onZoom} /> : null}
		</figure>
	);
}

/* How many rows the graph has where the zoomed node stands: those above it, and below it as deep as it goes. */
function visibleDepth(layout: Layout, zoomed: number): number {
	const from = layout.left[zoomed]!;
	const to = from + layout.width[zoomed]!;
	let depth = layout.depth[zoomed]! + 1;
	while (depth < layout.rows.length) {
		const frame = frameAtOrAfter(layout, depth, from);
		if (frame < 0 || layout.left[frame]! >= to) break;
		depth++;
	}
	return depth;
}

function frameAtOrAfter(layout: Layout, depth: number, x: number): number {
	const row = layout.rows[depth]!;
	let low = 0;
	let high = row.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		const frame = row[middle]!;
		if (layout.left[frame]! + layout.width[frame]! <= x) low = middle + 1;
		else high = middle;
	}
	return row[low] ?? -1;
}

function useFlameKeys(props: FlameGraphProps, layout: Layout | null): void {
	useViewKeys((event) => {
		if (!layout || !(event.target as HTMLElement).matches('canvas, body, main')) return false;
		const { parent } = props.graph.flame;
		const at = props.selected >= 0 ? props.selected : props.zoomed;
		const row = layout.rows[layout.depth[at]!]!;
		const place = row.indexOf(at);
		const beside = (step: number) => {
			for (let i = place + step; i >= 0 && i < row.length; i += step) if (row[i]! < layout.count) return row[i]!;
			return -1;
		};
		const child = () => {
			const below = layout.rows[layout.depth[at]! + 1];
			const frame = below?.find((item) => item < layout.count && parent[item] === at);
			return frame ?? -1;
		};
		const moves: Record<string, () => number> = {
			ArrowUp: () => (props.flames ? child() : parent[at]!),
			ArrowDown: () => (props.flames ? parent[at]! : child()),
			ArrowLeft: () => beside(-1),
			ArrowRight: () => beside(1),
		};
		const move = moves[event.key];
		if (move) {
			const next = move();
			if (next >= 0) props.onSelect(next);
			return true;
		}
		if (event.key === 'Enter') props.onZoom(at);
		else if (event.key === 'Backspace') props.onZoom(Math.max(0, parent[props.zoomed] ?? 0));
		else if (event.key === '+' && props.onUnfold) props.onUnfold();
		else return false;
		return true;
	});
}

interface HoverProps {
	graph: Graph;
	frame: number;
	x: number;
	y: number;
	width: number;
	format: (value: number) => string;
	other: (frame: number) => string;
}

function HoverBox({ graph, frame, x, y, width, format, other }: HoverProps) {
	const { flame } = graph;
	const count = flame.parent.length;
	const node = frame % count;
	const whole = flame.bytes[graph.path] ?? 0;
	const side = x > width / 2 ? { right: `${width - x + 12}px` } : { left: `${x + 12}px` };
	const bytes = flame.metric === 'peak' || flame.metric === 'total';
	return (
		<div class="flame-box" style={{ ...side, top: `${y + 16}px` }}>
			<div class="mono">{frame < count ? flame.names[flame.name[node]!] : other(frame)}</div>
			{frame >= count ? <div class="muted">of {labelOf(graph, node)}</div> : null}
			<div class="muted">{flame.modules[flame.name[node]!]}</div>
			{frame < count ? (
				<div>
					{graph.sides ? (
						<>
							<b>{formatChange(graph.sides.after[node]! - graph.sides.before[node]!, format)}</b>: {format(graph.sides.before[node]!)} before,{' '}
							{format(graph.sides.after[node]!)} after
						</>
					) : (
						<>
							<b>{format(flame.bytes[node]!)}</b> ({formatExact(flame.bytes[node]!)}) · {formatPercent(flame.bytes[node]!, whole)} · own{' '}
							{format(flame.own[node]!)} · {formatCount(flame.blocks[node]!)} blocks · mean age {formatTime(flame.age[node]!)}
							{bytes && flame.leaked[node] ? <> · {formatPercent(flame.leaked[node]!, flame.bytes[node]!)} never freed</> : null}
						</>
					)}
				</div>
			) : null}
			{frame < count && flame.folded[node]! > 1 ? <div class="muted">{flame.folded[node]} frames as one: + opens them</div> : null}
		</div>
	);
}

/** From the root to the node, as words that lead back. */
export function FlamePath(props: { graph: Graph; node: number; onZoom: (node: number) => void }) {
	const path = pathTo(props.graph.flame.parent, props.node);
	return (
		<nav class="flame-path" aria-label="path">
			{path.map((node, i) => (
				<span key={node}>
					{i ? ' › ' : ''}
					<button type="button" class="plain mono" onClick={() => props.onZoom(node)}>
						{labelOf(props.graph, node)}
					</button>
				</span>
			))}
		</nav>
	);
}
