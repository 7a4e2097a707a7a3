/*
 * The time strip: the run from left to right, flags above it, and the brush, which chooses the
 * moment or range that every page is about.
 *
 *	flags   |serving     |report job   v peak 83.4 MB
 *	plot    ___,,,---****[####]******
 *	axis    0        1 s       2 s
 */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Series } from '../../api/generated';
import { fetchAnswer, useAnswer } from '../../api/answer';
import { target } from '../../api/client';
import { inFile } from '../../api/file';
import { Failure } from '../../components/shown';
import { Switch } from '../../components/switch';
import { isNarrow } from '../../components/table';
import { formatBytes, formatTime } from '../../text/units';
import { chooseMoment, chooseRange, moveBrush, rangeMode } from '../../state/moments';
import { dataPath, duration, facts, go, place, standingConditions, summary } from '../../state/state';
import { imported, liveTable } from '../../state/limits';
import { liveMark } from '../../state/live';
import { theme } from '../../state/theme';
import { dragged, type Drag, type Hold } from './drag';
import { placeFlags, snap } from './flags';
import { HoverBox } from './hover_box';
import { AXIS_BELOW, AXIS_LEFT, drawStrip, PLOT_RIGHT, type StripPlot } from './plot';
import { useKeptPages } from './kept_pages';
import { LIVE, LIVES_NOW, nearestStep, rateCurves, stripCurves, type StripCurves } from './strip_data';
import { LateChoice, Legend } from './legend';
import '../../styles/strip.css';

const FLAG_ROWS = 28;
/* Room that the peak's label takes at most; with less at its right it stands at its left. */
const PEAK_LABEL = 110;
const SNAP = 6;
const CLICK = 3;

/* `by` of the address: another chart, of the same answer as fates. */
const RATES = 'rates';

/* What the bands of the overview's chart are by. */
const BANDS = [
	{ value: '', text: 'fate', title: 'what becomes of the memory' },
	{ value: 'function', text: 'functions', title: 'the 8 that held most, and the rest' },
	{ value: 'module', text: 'modules' },
	{ value: 'thread', text: 'threads' },
	{ value: RATES, text: 'calls', title: 'allocations and frees a second' },
];

/** The span shown, in nanoseconds: all, or what `zoom` of the address says. */
function shownSpan(): { from: number; to: number } {
	const found = /^(\d+)\.\.(\d+)$/.exec(place.value.view.zoom ?? '');
	const end = duration.value;
	if (!found) return { from: 0, to: end };
	const [from, to] = [Number(found[1]), Math.min(end, Number(found[2]))];
	return from < to ? { from, to } : { from: 0, to: end };
}

/** Shows another span; the whole run needs no words in the address. */
export function zoomTo(from: number, to: number): void {
	const end = duration.value;
	const whole = from <= 0 && to >= end;
	const text = `${Math.max(0, Math.round(from))}..${Math.min(end, Math.round(to))}`;
	go({ view: { zoom: whole ? '' : text } }, true);
}

function useWidth(host: { current: HTMLElement | null }): number {
	const [width, setWidth] = useState(0);
	useEffect(() => {
		const element = host.current;
		if (!element) return;
		const observer = new ResizeObserver(() => setWidth(element.clientWidth));
		observer.observe(element);
		setWidth(element.clientWidth);
		return () => observer.disconnect();
	}, []);
	return width;
}

/* The whole run without conditions is stored in the recording: it is asked for without parameters. */
function useSeries(span: { from: number; to: number }): ReturnType<typeof useAnswer<Series>> {
	const { zoom, by, late } = place.value.view;
	const params = {
		...standingConditions.value,
		...(zoom ? { start: `${span.from}ns`, end: `${span.to}ns` } : {}),
		...(place.value.page === 'overview' && by && by !== RATES ? { by } : {}),
		...(late ? { late } : {}),
	};
	return useAnswer<Series>(summary.value?.has_curve === false ? null : dataPath('series'), params);
}

/* In mode peak the brush stands for the moment of most memory within it, which the server knows. */
function usePeakOfRange(): void {
	const { brush } = place.value;
	useEffect(() => {
		if (brush?.mode !== 'peak' || brush.peak !== undefined) return;
		const params = { ...standingConditions.value, start: `${brush.from}ns`, end: `${brush.to}ns`, points: 1 };
		fetchAnswer<Series>(target(dataPath('series'), params)).then(
			(series) => {
				if (place.value.brush === brush) go({ brush: { ...brush, peak: series.peak.at_ns } }, true);
			},
			() => {
				// The views' own requests say what is wrong with the range.
			},
		);
	}, [brush]);
}

/* What is called so that was not freed: of a program that runs it may still be. */
const unfreed = () => (imported.value ? LIVE : liveTable.value ? LIVES_NOW : facts.value?.writing || facts.value?.end_reason === 'detached' || facts.value?.end_reason === 'cut' ? 'not freed yet' : 'never freed');

export function Strip(props: { plotHeight: number; legend: boolean }) {
	const host = useRef<HTMLDivElement>(null);
	const width = useWidth(host);
	const span = shownSpan();
	const answer = useSeries(span);
	const rates = place.value.page === 'overview' && place.value.view.by === RATES;
	const whole = !(place.value.page === 'overview' && place.value.view.by) && !Object.keys(standingConditions.value).length;
	const kept = useKeptPages(answer.data);
	const plain = useMemo(() => (answer.data ? (rates ? rateCurves(answer.data) : stripCurves(answer.data, whole, unfreed(), duration.value)) : null), [answer.data, rates, unfreed(), duration.value]);
	const curves = useMemo(() => plain && { ...plain, kept }, [plain, kept]);
	usePeakOfRange();
	usePlot(host, curves, width, props.plotHeight + AXIS_BELOW, span);
	return (
		<section class="strip" aria-label="time">
			<div class="strip-area" style={{ height: `${FLAG_ROWS + props.plotHeight + AXIS_BELOW}px` }}>
				<div class="strip-plot" ref={host} style={{ top: `${FLAG_ROWS}px` }} role="img" aria-label={plotWords(answer.data)} />
				{answer.error ? <Failure error={answer.error} retry={answer.retry} /> : null}
				{liveTable.value && curves ? (
					<div class="strip-note" style={{ top: '4px', left: `${AXIS_LEFT + 6}px` }}>
						what lives now, by when it was allocated
					</div>
				) : null}
				{kept ? (
					<div class="strip-note" style={{ top: `${FLAG_ROWS + 2}px`, left: `${AXIS_LEFT + 6}px` }}>
						<span class="line-key dashed" /> {isNarrow() ? 'pages kept' : 'pages that live blocks keep'}
					</div>
				) : null}
				{curves && width ? (
					<Overlay curves={curves} span={span} width={width - AXIS_LEFT - PLOT_RIGHT} height={props.plotHeight} series={answer.data} />
				) : null}
			</div>
			{props.legend && curves ? (
				<div class="strip-foot">
					<Legend curves={curves} late={answer.data?.late_ns ?? 0} />
					{place.value.view.by || liveTable.value || imported.value || inFile ? null : <LateChoice />}
					{imported.value ? null : (
						<Switch
							label="bands are"
							value={place.value.view.by ?? ''}
							choices={liveTable.value ? BANDS.filter(({ value }) => value !== RATES) : BANDS}
							onChange={(by) => go({ view: { by } })}
						/>
					)}
				</div>
			) : null}
		</section>
	);
}

function plotWords(series: Series | null): string {
	if (!series) return 'memory over the run';
	return `memory over the run; most at ${formatTime(series.peak.at_ns)}: ${formatBytes(series.peak.bytes)}`;
}

function usePlot(
	host: { current: HTMLElement | null },
	curves: StripCurves | null,
	width: number,
	height: number,
	span: { from: number; to: number },
): void {
	const plot = useRef<StripPlot | null>(null);
	const shownTheme = theme.value;
	useEffect(() => {
		if (!host.current || !curves || !width) return;
		plot.current = drawStrip(host.current, curves, { width, height }, { from: span.from / 1e9, to: span.to / 1e9 });
		return () => plot.current?.destroy();
	}, [curves, shownTheme, width, height, span.from, span.to]);
}

interface OverlayProps {
	curves: StripCurves;
	span: { from: number; to: number };
	width: number;
	height: number;
	series: Series | null;
}

function Overlay({ curves, span, width, height, series }: OverlayProps) {
	const [hover, setHover] = useState<number | null>(null);
	const drag = useRef<Drag | null>(null);
	const area = useRef<HTMLDivElement>(null);
	const { brush } = place.value;
	const end = duration.value;
	const perPixel = (span.to - span.from) / Math.max(1, width);
	const part = (ns: number) => (span.to > span.from ? (ns - span.from) / (span.to - span.from) : 0);
	const percent = (ns: number) => `${100 * Math.max(0, Math.min(1, part(ns)))}%`;
	const peak = series?.peak ?? null;
	const marks = (summary.value?.marks ?? []).map((mark) => ({ at: mark.at_ns, text: mark.name }));
	if (liveMark.value !== null) marks.push({ at: liveMark.value, text: 'mark' });

	const timeAt = (event: PointerEvent | WheelEvent) => {
		const box = (area.current as HTMLDivElement).getBoundingClientRect();
		return span.from + Math.max(0, Math.min(1, (event.clientX - box.left) / box.width)) * (span.to - span.from);
	};
	// A step's end has an exact number on the curve; flags and ends draw the brush to them.
	const snapped = (event: PointerEvent) => {
		const time = timeAt(event);
		const step = curves.x.length ? Math.round(curves.x[nearestStep(curves.x, time / 1e9)]! * 1e9) : time;
		if (event.altKey) return Math.round(time);
		const points = [0, end, ...marks.map((mark) => mark.at), ...(peak ? [peak.at_ns] : [])];
		const drawn = snap(time, points, SNAP * perPixel);
		return drawn === time ? step : drawn;
	};

	const down = (hold: Hold) => (event: PointerEvent) => {
		if (event.button !== 0) return;
		event.preventDefault();
		event.stopPropagation();
		area.current?.setPointerCapture(event.pointerId);
		drag.current = { hold, start: hold === 'middle' ? timeAt(event) : snapped(event), before: brush, moved: false };
	};
	const move = (event: PointerEvent) => {
		setHover(timeAt(event));
		const held = drag.current;
		if (!held || (!held.moved && Math.abs(timeAt(event) - held.start) < CLICK * perPixel)) return;
		const now = held.hold === 'middle' ? timeAt(event) : snapped(event);
		const range = dragged(held, now, end, event.shiftKey ? 'grew' : rangeMode());
		chooseRange(range.from, range.to, range.mode, held.moved);
		held.moved = true;
	};
	const up = (event: PointerEvent) => {
		const held = drag.current;
		drag.current = null;
		if (held && !held.moved && held.hold === 'new') chooseMoment(snapped(event));
	};
	const wheel = (event: WheelEvent) => {
		const length = span.to - span.from;
		if (event.shiftKey) {
			const shift = Math.max(-span.from, Math.min(end - span.to, Math.sign(event.deltaY || event.deltaX) * length * 0.1));
			event.preventDefault();
			return zoomTo(span.from + shift, span.to + shift);
		}
		const factor = event.deltaY > 0 ? 1.25 : 0.8;
		const next = Math.min(end, Math.max(1000, length * factor));
		if (next >= end && length >= end) return; // the page may scroll
		event.preventDefault();
		const centre = timeAt(event);
		const from = Math.max(0, Math.min(end - next, centre - (centre - span.from) * (next / length)));
		zoomTo(from, from + next);
	};
	useEffect(() => {
		const element = area.current;
		element?.addEventListener('wheel', wheel, { passive: false });
		return () => element?.removeEventListener('wheel', wheel);
	});

	const step = hover === null ? null : nearestStep(curves.x, hover / 1e9);
	return (
		<div class="strip-over" style={{ left: `${AXIS_LEFT}px`, right: `${PLOT_RIGHT}px`, height: `${FLAG_ROWS + height}px` }}>
			{placeFlags(marks, span.from, span.to, width).map((flag) => (
				<div key={`${flag.at}${flag.text}`} class="flag" style={{ left: `${100 * flag.x}%` }}>
					<button type="button" class="flag-name" aria-label={flag.text} title={`${flag.text}, ${formatTime(flag.at)}`} onClick={() => chooseMoment(flag.at)}>
						{flag.labelled ? `⚑ ${flag.text}` : ''}
					</button>
				</div>
			))}
			{peak && !liveTable.value && peak.at_ns >= span.from && peak.at_ns <= span.to ? (
				<button
					type="button"
					class={`peak-flag${(1 - part(peak.at_ns)) * width < PEAK_LABEL ? ' left' : ''}`}
					style={{ left: percent(peak.at_ns) }}
					title={`most memory, at ${formatTime(peak.at_ns)} (P)`}
					onClick={() => chooseMoment(peak.at_ns)}
				>
					<span aria-hidden="true">▼</span> <b>peak {formatBytes(peak.bytes)}</b>
				</button>
			) : null}
			<div
				ref={area}
				class="strip-field"
				style={{ top: `${FLAG_ROWS}px`, height: `${height}px` }}
				onPointerDown={down('new')}
				onPointerMove={move}
				onPointerUp={up}
				onPointerLeave={() => setHover(null)}
				onDblClick={() => go({ brush: null })}
			>
				{peak && !liveTable.value ? <div class="peak-line" style={{ left: percent(peak.at_ns) }} /> : null}
				{brush && brush.mode !== 'moment' ? (
					<div class="brush-range" style={{ left: percent(brush.from), width: `${100 * (part(brush.to) - part(brush.from))}%` }} />
				) : null}
				{hover !== null && !drag.current ? <div class="crosshair" style={{ left: percent(hover) }} /> : null}
				{step !== null && hover !== null && !drag.current ? <HoverBox curves={curves} step={step} x={part(hover)} /> : null}
			</div>
			{brush ? <BrushHandles percent={percent} part={part} down={down} height={height} /> : null}
		</div>
	);
}

/** The brush's lines, and what moves it: by pointer, or focused by the arrow keys. */
function BrushHandles(props: {
	percent: (ns: number) => string;
	part: (ns: number) => number;
	down: (hold: Hold) => (event: PointerEvent) => void;
	height: number;
}) {
	const brush = place.value.brush!;
	const end = duration.value;
	const handle = (hold: 'from' | 'to', ns: number, label: string) => {
		const key = (event: KeyboardEvent) => {
			const by = event.shiftKey ? end / 1000 : end / 100;
			const shift = event.key === 'ArrowLeft' ? -by : event.key === 'ArrowRight' ? by : 0;
			if (!shift) return;
			event.preventDefault();
			event.stopPropagation();
			if (brush.mode === 'moment') return moveBrush(shift / end);
			const moved = Math.max(0, Math.min(end, Math.round(ns + shift)));
			const other = hold === 'from' ? brush.to : brush.from;
			chooseRange(Math.min(moved, other), Math.max(moved, other), brush.mode, true);
		};
		return (
			<div class="brush-edge" key={hold} style={{ left: props.percent(ns), height: `${FLAG_ROWS + props.height}px` }}>
				<div
					class="brush-handle"
					role="slider"
					tabIndex={0}
					aria-label={label}
					aria-valuemin={0}
					aria-valuemax={end}
					aria-valuenow={ns}
					aria-valuetext={formatTime(ns)}
					onKeyDown={key}
					onPointerDown={props.down(brush.mode === 'moment' ? 'middle' : hold)}
				/>
			</div>
		);
	};
	if (brush.mode === 'moment') return handle('to', brush.to, 'moment');
	return (
		<>
			<div
				class="brush-grip"
				title="moves the range"
				style={{ left: props.percent(brush.from), width: `${100 * (props.part(brush.to) - props.part(brush.from))}%` }}
				onPointerDown={props.down('middle')}
			/>
			{handle('from', brush.from, 'begin of the range')}
			{handle('to', brush.to, 'end of the range')}
		</>
	);
}
