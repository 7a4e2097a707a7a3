/* The keys of all pages. A view's own keys are the view's (useViewKeys), and come first. */
import { useEffect } from 'preact/hooks';
import { brushConditions } from '../state/brush';
import { command } from '../state/asked';
import { METRICS } from '../state/place';
import { chooseMoment, moveBrush, nextMode, stepMark } from '../state/moments';
import { copy } from '../state/say';
import { duration, go, place, summary } from '../state/state';
import { markNow, togglePause } from '../state/live';
import { toggleTheme } from '../state/theme';
import { zoomTo } from '../charts/strip/strip';
import { showHelp } from './help';
import { keysOff } from './keys_setting';
import { ENTRIES } from './rail';

/** Handles a key; false: it is not the view's. */
export type KeyHandler = (event: KeyboardEvent) => boolean;

const viewKeys = new Set<KeyHandler>();

/** A view's own keys, while it is shown. */
export function useViewKeys(handler: KeyHandler): void {
	useEffect(() => {
		viewKeys.add(handler);
		return () => void viewKeys.delete(handler);
	});
}

let goesTo = 0; // until when the key after `g` names a page

/** What is shown becomes the side before: of the same recording its moment. */
function becomeBefore(): void {
	const { brush, recording } = place.value;
	const before = Object.entries(brushConditions(brush)).filter(([name]) => !name.startsWith('b.'));
	const conditions = Object.fromEntries(before.map(([name, value]) => [`b.${name}`, value]));
	go({ page: 'compare', brush: null, conditions: { ...place.value.conditions, 'b.id': recording, ...conditions } });
}

const COMMANDS: Record<string, () => void> = {
	'?': showHelp,
	'/': () => document.getElementById('search')?.focus(),
	P: () => summary.value && chooseMoment(summary.value.peak.at_ns),
	E: () => chooseMoment(duration.value),
	'[': () => stepMark(-1),
	']': () => stepMark(1),
	',': () => moveBrush(-0.01),
	'.': () => moveBrush(0.01),
	'<': () => moveBrush(-0.001),
	'>': () => moveBrush(0.001),
	v: nextMode,
	Z: () => place.value.brush && zoomTo(place.value.brush.from, place.value.brush.to),
	'0': () => {
		zoomTo(0, duration.value);
		go({ brush: null });
	},
	D: becomeBefore,
	C: () => void copy(command(), command()),
	e: () => document.querySelector<HTMLElement>('.export > button')?.click(),
	T: toggleTheme,
	' ': togglePause,
	m: markNow,
	M: markNow,
	Escape: () => place.value.view.sel && go({ view: { sel: '' } }),
};

function handle(event: KeyboardEvent): void {
	const element = event.target as HTMLElement;
	if (event.ctrlKey || event.metaKey || event.altKey || keysOff.value) return;
	if (/^(INPUT|SELECT|TEXTAREA)$/.test(element.tagName)) return;
	// Space presses what has the focus.
	if (event.key === ' ' && /^(BUTTON|A|SUMMARY)$/.test(element.tagName)) return;
	if (performance.now() < goesTo) {
		const entry = ENTRIES.find(({ key }) => key === event.key);
		goesTo = 0;
		if (entry) go({ page: entry.page });
		return;
	}
	for (const handler of viewKeys) if (handler(event)) return event.preventDefault();
	if (event.key === 'g') {
		goesTo = performance.now() + 1500;
		return;
	}
	const metric = METRICS[Number(event.key) - 1];
	if (metric) return go({ metric });
	const run = COMMANDS[event.key];
	if (!run) return;
	event.preventDefault();
	run();
}

export function useKeys(): void {
	useEffect(() => {
		document.addEventListener('keydown', handle);
		return () => document.removeEventListener('keydown', handle);
	}, []);
}
