/* The flame graph: whose calls led to the memory, and what of it. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Flame, FlameChange } from '../api/generated';
import { useAnswer } from '../api/answer';
import { FlameGraph, FlamePath } from '../charts/flame/flame_graph';
import { inFile } from '../api/file';
import { Share } from '../components/amount';
import { byName, depths, foundValue, graphOf, labelOf, matching, withPath, type Graph } from '../charts/flame/graph_data';
import type { ColourBy } from '../charts/flame/colours';
import { Nothing } from '../components/nothing';
import { Shown } from '../components/shown';
import { Switch } from '../components/switch';
import { useViewKeys } from '../frame/keys';
import { bare, notHere, liveTable } from '../state/limits';
import { measure } from '../state/measure';
import { copy } from '../state/say';
import { conditions, dataPath, go, isDifference, place, summary } from '../state/state';
import { exactly, shortName } from '../text/names';
import { formatChange, formatCount, formatPercent, formatTime } from '../text/units';
import { metricWords, momentWords, whenWords } from './moment_words';
import { direction, flameParams, foldWords, MANY_ROWS, merge, type Direction, type Merge } from './flame_query';
import { conditionsOf, FlamePane, FoundLine, onlyOf, withoutOf } from './flame_pane';

type FlameAnswer = Flame | FlameChange;

const isChange = (answer: FlameAnswer): answer is FlameChange => 'flame' in answer;

const flameOf = (answer: FlameAnswer): Flame => (isChange(answer) ? answer.flame : answer);

function toGraph(answer: FlameAnswer): Graph {
	return isChange(answer) ? byName(graphOf(answer.flame, { before: answer.before, after: answer.after })) : graphOf(answer);
}

const setView = (view: Record<string, string>, replace = false) => go({ view }, replace);

/* Own code with a name. */
const isOwn = ({ flame }: Graph, node: number): boolean =>
	!flame.plumbing[flame.name[node]!] && !flame.names[flame.name[node]!]!.startsWith('[');

/** The page's sentence: the root's number, and who has most of it. */
function sentenceOf(graph: Graph): string {
	const { flame, sides } = graph;
	const { format } = measure.value;
	if (sides) {
		const change = sides.after[0]! - sides.before[0]!;
		return `${formatChange(change, format)}: ${format(sides.before[0]!)} before, ${format(sides.after[0]!)} after.`;
	}
	const whole = flame.bytes[0] ?? 0;
	if (!whole) return 'Nothing matches here.';
	// The deepest frame of own code that still has half of it.
	let best = -1;
	for (let i = 1; i < flame.parent.length; i++)
		if (flame.bytes[i]! >= whole / 2 && isOwn(graph, i)) best = i;
	const below = best > 0 ? `, ${formatPercent(flame.bytes[best]!, whole)} of it below ${labelOf(graph, best).split(' › ').pop()}` : '';
	return `${format(whole)} ${metricWords()}${whenWords()}${below}.`;
}

function Switches({ graph }: { graph: Graph | null }) {
	const { view } = place.value;
	return (
		<div class="flame-switches">
			<Switch<Direction>
				label="direction"
				value={direction()}
				choices={[
					{ value: 'callees', text: 'callees', title: 'below a function: what it called' },
					{ value: 'callers', text: 'callers', title: 'below a function: who called it' },
					{ value: 'both', text: 'both', title: 'callers above, callees below the chosen function (b)', disabled: !view.focus && !view.node, ...notHere() },
				]}
				onChange={(value) => setView({ direction: value === 'callees' ? '' : value, root: '', ...(value === 'both' && view.node ? { focus: view.node } : {}), ...(value === 'both' ? {} : { focus: '' }) })}
			/>
			<Switch<Merge>
				label="frames are"
				value={merge()}
				choices={(['functions', 'lines', 'files', 'modules'] as const).map((value) => ({ value, text: value, ...notHere(value !== 'functions') }))}
				onChange={(value) => setView({ merge: value === 'functions' ? '' : value, root: '' })}
			/>
			{isDifference.value ? (
				<Switch
					label="widths are"
					value={view.show ?? 'larger'}
					choices={[
						{ value: 'larger', text: 'larger of both' },
						{ value: 'grew', text: 'what grew' },
						{ value: 'fell', text: 'what fell' },
					]}
					onChange={(value) => setView({ show: value === 'larger' ? '' : value, root: '' })}
				/>
			) : bare.value ? null : (
				<Switch<ColourBy>
					label="colour"
					value={colourBy()}
					choices={[
						{ value: 'module', text: 'module' },
						...(liveTable.value ? [] : [{ value: 'fate' as const, text: 'fate', title: 'the share that was never freed' }]),
						{ value: 'age', text: 'age', title: 'how long blocks lived' },
						{ value: 'size', text: 'size', title: 'how large blocks are' },
					]}
					onChange={(value) => setView({ colour: value === 'module' ? '' : value })}
				/>
			)}
			<span class="top-space" />
			{graph ? <Folds graph={graph} /> : null}
		</div>
	);
}

/* Of a difference: what is added up in its widths. */
const WIDTHS: Record<string, string> = {
	larger: 'widths: the larger side of each stack', grew: 'widths: what grew', fell: 'widths: what fell',
};

const colourBy = (): ColourBy => {
	const asked = place.value.view.colour;
	return asked === 'fate' || asked === 'age' || asked === 'size' ? asked : 'module';
};

/* How much is folded, and the way to open it. */
function Folds({ graph }: { graph: Graph }) {
	const { rows, frames } = depths(graph.flame);
	const { unfold } = place.value.view;
	if (unfold)
		return (
			<button type="button" onClick={() => setView({ unfold: '', root: '' })}>
				fold
			</button>
		);
	if (frames <= rows) return null;
	return (
		<button type="button" title="opens all folds (+)" onClick={() => setView({ unfold: 'all', root: '' })}>
			{frames} rows folded to {rows}
		</button>
	);
}

/* The graph, deeper than 60 rows with recursion folded; its answer says how deep it is. */
function useFlame(extra: Record<string, string>): ReturnType<typeof useAnswer<FlameAnswer>> {
	const width = Math.round((document.documentElement.clientWidth - 40) / 100) * 100;
	const plain = useAnswer<FlameAnswer>(dataPath('flame'), { ...flameParams(false, width), ...extra });
	const deep = useMemo(() => (plain.data ? depths(flameOf(plain.data)).rows > MANY_ROWS : false), [plain.data]);
	const folded = useAnswer<FlameAnswer>(deep && foldWords(true) !== foldWords(false) ? dataPath('flame') : null, {
		...flameParams(true, width),
		...extra,
	});
	return deep && folded.of && !place.value.view.unfold ? folded : plain;
}

export function FlameView() {
	return direction() === 'both' && place.value.view.focus ? <BothWays name={place.value.view.focus} /> : <OneWay />;
}

function OneWay() {
	const { view } = place.value;
	const callers = direction() === 'callers' ? { direction: 'callers' } : {};
	const answer = useFlame(callers as Record<string, string>);
	const whole = useMemo(() => (answer.data ? toGraph(answer.data) : null), [answer.data]);
	const rootNode = whole && view.root ? whole.flame.id.indexOf(view.root) : 0;
	const deeper = useDeeper(whole, rootNode, view.root ?? '', callers as Record<string, string>);
	const graph = deeper ?? whole;
	const zoomed = deeper ? deeper.path : Math.max(0, rootNode);
	return (
		<Shown answer={answer} height={420} class="flame-view">
			{() => (graph ? <Drawn graph={graph} zoomed={zoomed} whole={whole!} /> : null)}
		</Shown>
	);
}

/* What the server left out below the zoomed node. Until it is there, the graph shows what it has. */
function useDeeper(whole: Graph | null, node: number, id: string, extra: Record<string, string>): Graph | null {
	const wanted = whole !== null && id !== '' && (node < 0 || (node > 0 && hasRestBelow(whole, node)));
	const width = Math.round((document.documentElement.clientWidth - 40) / 100) * 100;
	const answer = useAnswer<FlameAnswer>(wanted ? dataPath('flame') : null, { ...flameParams(false, width), fold: foldWords(false), ...extra, root: id });
	return useMemo(() => {
		if (!wanted || !answer.data || answer.stale || !whole) return null;
		const sub = toGraph(answer.data);
		return node > 0 ? withPath(whole, node, sub.flame, sub.sides) : sub;
	}, [whole, answer.data, answer.stale, node, wanted]);
}

function hasRestBelow(graph: Graph, node: number): boolean {
	const { parent, rest } = graph.flame;
	const inside = new Uint8Array(parent.length);
	inside[node] = 1;
	for (let i = node; i < parent.length; i++) {
		if (i > node && inside[parent[i]!]) inside[i] = 1;
		if (inside[i] && rest[i]! > 0) return true;
	}
	return false;
}

function Drawn({ graph, zoomed, whole }: { graph: Graph; zoomed: number; whole: Graph }) {
	const { view } = place.value;
	const [selected, setSelected] = useState(-1);
	const { flame } = graph;
	const { format, column } = measure.value;
	const at = selected >= 0 && selected < flame.parent.length ? selected : zoomed;
	const find = view.find ?? '';
	const name = flame.names[flame.name[at]!] ?? 'all';
	const zoom = (node: number) => {
		setSelected(node);
		setView({ root: node > 0 ? flame.id[node]! : '', node: node > 0 ? firstLabel(flame.names[flame.name[node]!]!) : '' });
	};
	useEffect(() => {
		performance.mark('mallow:view');
	}, [graph]);
	useNodeKeys(graph, at, find, (node) => {
		setSelected(node);
	});
	const functions = useMemo(() => new Set(flame.name).size - 1, [flame]);
	const sentence = useMemo(() => sentenceOf(whole), [whole, measure.value]);
	const whenOf = summary.value?.peak.at_ns ?? null;
	return (
		<>
			<h1>{sentence}</h1>
			<Switches graph={graph} />
			{whole.flame.bytes[0] ? null : <Nothing />}
			<div class="flame-switches muted">
				{find && inFile ? (
					<FoundInFile find={find} whole={whole.flame.bytes[0]!} />
				) : find ? (
					<FoundLine
						find={find}
						at={Object.keys(conditions.value).length ? null : whenOf}
						names={countNames(graph, find)}
						whole={whole.flame.bytes[0]!}
						column={column}
						format={format}
					/>
				) : null}
				<span class="top-space" />
				<span>
					{graph.sides ? WIDTHS[view.show ?? 'larger'] ?? WIDTHS.larger : `${format(flame.bytes[graph.path]!)} · ${formatCount(flame.blocks[graph.path]!)} blocks`} ·{' '}
					{formatCount(functions)} functions shown
				</span>
			</div>
			<FlameGraph
				graph={graph}
				format={format}
				colourBy={colourBy()}
				flames={view.flames === '1'}
				find={find}
				zoomed={zoomed}
				selected={selected}
				onZoom={zoom}
				onSelect={setSelected}
				onUnfold={() => setView({ unfold: view.unfold ? '' : 'all', root: '' })}
				label={sentence}
			/>
			<FlamePath graph={graph} node={at} onZoom={zoom} />
			<p class="muted">
				{graph.sides ? (
					<>
						<b>{formatChange(graph.sides.after[at]! - graph.sides.before[at]!, format)}</b>: {format(graph.sides.before[at]!)} before,{' '}
						{format(graph.sides.after[at]!)} after.
					</>
				) : (
					<>
						<b>{format(flame.bytes[at]!)}</b> · {formatPercent(flame.bytes[at]!, flame.bytes[0]!)} · own {format(flame.own[at]!)}
						{bare.value ? '' : ` · mean age ${formatTime(flame.age[at]!)}`}.
					</>
				)}
				{at > 0 && !bare.value ? ` Below: all places of ${shortName(name)}.` : ''}
			</p>
			{bare.value || (inFile && at > 0) ? null : <FlamePane chosen={{ words: shortName(name), conditions: conditionsOf(name, merge()) }} />}
		</>
	);
}

/* What a search finds in the page as one file: in its graph without folds, whose nodes have all names. */
function FoundInFile({ find, whole }: { find: string; whole: number }) {
	const answer = useAnswer<Flame>(dataPath('flame'), { ...flameParams(false, 0), fold: 'none' });
	const found = useMemo(() => (answer.data ? foundValue(graphOf(answer.data), find) : null), [answer.data, find]);
	if (found === null) return null;
	const all = answer.data!.rest.every((rest) => !rest);
	return (
		<span aria-live="polite">
			<b>{measure.value.format(found)}</b>, <Share part={found} whole={whole} /> in stacks with “{find}”{all ? '' : ', not counting what is too small for this file'} (n, N)
		</span>
	);
}

/* By which /flame knows a function: focus=. */
const firstLabel = (name: string): string => name.split(' > ')[0]!;

const countNames = (graph: Graph, find: string): number => {
	const matches = matching(graph, find);
	return matches ? new Set(graph.flame.name.filter((_, i) => matches[i])).size : 0;
};

/* Keys that are about the chosen node. */
function useNodeKeys(graph: Graph, at: number, find: string, select: (node: number) => void): void {
	useViewKeys((event) => {
		const { flame } = graph;
		const label = firstLabel(flame.names[flame.name[at]!]!);
		const module = flame.modules[flame.name[at]!];
		const own = place.value.conditions;
		const keys: Record<string, () => void> = {
			f: () => setView({ flames: place.value.view.flames === '1' ? '' : '1' }),
			b: () => at > 0 && !inFile && setView({ direction: 'both', focus: label, root: '' }),
			o: () => at > 0 && go({ conditions: { ...own, ...onlyOf(label) }, view: { root: '' } }),
			x: () => at > 0 && go({ conditions: { ...own, ...withoutOf(label) }, view: { root: '' } }),
			X: () => at > 0 && module && go({ conditions: { ...own, negative_module_regex: `(^|/)${exactly(module).slice(1)}` }, view: { root: '' } }),
			r: () => setView({ unfold: place.value.view.unfold === 'recursion' ? '' : 'recursion', root: '' }),
			c: () => void copy(stackOf(graph, at), 'the stack'),
			n: () => step(graph, find, at, 1, select),
			N: () => step(graph, find, at, -1, select),
		};
		const run = keys[event.key];
		run?.();
		return run !== undefined;
	});
}

function step(graph: Graph, find: string, at: number, by: number, select: (node: number) => void): void {
	const matches = matching(graph, find);
	if (!matches) return;
	for (let i = 1; i <= matches.length; i++) {
		const node = (at + by * i + matches.length * 2) % matches.length;
		if (matches[node]) return select(node);
	}
}

/** From the innermost frame outwards, as a debugger prints it. */
function stackOf(graph: Graph, node: number): string {
	const { parent, names, name } = graph.flame;
	const lines: string[] = [];
	for (let at = node; at > 0; at = parent[at]!) lines.push(names[name[at]!]!);
	return lines.join('\n');
}

/* Callers above, callees below the same function. */
function BothWays({ name }: { name: string }) {
	const callees = useFlame({ focus: name });
	const callers = useFlame({ focus: name, direction: 'callers' });
	const [chosen, setChosen] = useState(0);
	const below = useMemo(() => (callees.data ? toGraph(callees.data) : null), [callees.data]);
	const above = useMemo(() => (callers.data ? toGraph(callers.data) : null), [callers.data]);
	const { format } = measure.value;
	const find = place.value.view.find ?? '';
	const draw = (graph: Graph | null, flames: boolean, label: string) =>
		graph ? (
			<FlameGraph
				graph={graph}
				format={format}
				colourBy={colourBy()}
				flames={flames}
				find={find}
				zoomed={0}
				selected={chosen}
				onZoom={(node) => node > 0 && setView({ focus: firstLabel(graph.flame.names[graph.flame.name[node]!]!) })}
				onSelect={setChosen}
				label={label}
			/>
		) : null;
	return (
		<Shown answer={callees} height={420} class="flame-view">
			{() => (
				<>
					<h1>
						{below ? format(below.flame.bytes[0]!) : ''} in all places of <code>{shortName(name)}</code>, {momentWords()}.
					</h1>
					<Switches graph={null} />
					{draw(above, true, `who called ${shortName(name)}`)}
					{draw(below, false, `what ${shortName(name)} called`)}
				</>
			)}
		</Shown>
	);
}
