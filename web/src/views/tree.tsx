/* The call tree as a table: who called whom, opened step by step. */
import { useMemo, useState } from 'preact/hooks';
import type { Flame, FlameChange } from '../api/generated';
import { fetchAnswer, useAnswer } from '../api/answer';
import { ApiError, target } from '../api/client';
import { Count, CountPart, Share } from '../components/amount';
import { Nothing } from '../components/nothing';
import { Shown, useSeen } from '../components/shown';
import { Switch } from '../components/switch';
import { FLUID, Table, type Column } from '../components/table';
import { bare, notHere, liveTable } from '../state/limits';
import { measure } from '../state/measure';
import { say } from '../state/say';
import { conditions, dataPath, facts, go, isDifference, place } from '../state/state';
import { interpreted, shortName } from '../text/names';
import { formatBytes, formatChange, formatCount, formatExact, formatPercent, formatTime } from '../text/units';
import { metricWords, TEMPORARY, whenWords } from './moment_words';
import { onlyOf, withoutOf } from './flame_pane';
import { merge, type Merge } from './flame_query';
import { downToFork, hidesChildren, openAtFirst, opens, rowsOf, treeOf, type TreeNode, type TreeRow } from './tree_nodes';
import '../styles/tree.css';

type FlameAnswer = Flame | FlameChange;
type Way = 'callees' | 'callers';

const way = (): Way => (place.value.view.direction === 'callers' ? 'callers' : 'callees');

const WAYS: { value: Way; text: string; title: string }[] = [
	{ value: 'callees', text: 'callees', title: 'below a function what it called' },
	{ value: 'callers', text: 'callers', title: 'who asked for the memory, and below it who called that' },
];
const MERGES: { value: Merge; text: string }[] = [
	{ value: 'functions', text: 'functions' },
	{ value: 'lines', text: 'lines' },
	{ value: 'files', text: 'files' },
	{ value: 'modules', text: 'modules' },
];

type Frames = 'own' | 'all';

/* Between functions of scripts stands the interpreter, so a reader of them wants it folded. */
const usual = (): Frames => (interpreted(facts.value?.program ?? '') ? 'own' : 'all');

const frames = (): Frames => {
	const asked = place.value.view.frames;
	return asked === 'own' || asked === 'all' ? asked : usual();
};

const FRAMES: { value: Frames; text: string; title: string }[] = [
	{ value: 'own', text: 'own code', title: 'frames in a row that are no code of yours are one row, that of the outermost' },
	{ value: 'all', text: 'all frames', title: 'a row for each frame' },
];

const params = () => ({
	...conditions.value, metric: measure.value.flame, direction: way(), merge: merge(), fold: frames() === 'own' ? 'plumbing' : 'none',
	columns: isDifference.value ? '' : 'all',
});

function NameCell({ row }: { row: TreeRow }) {
	const { node, level, rest } = row;
	const indent = { paddingLeft: `${Math.min(level - 1, 40) * 12}px` };
	if (rest)
		return (
			<span class="muted" style={indent}>
				{'\u2003'}
				{node.more ? `${formatCount(node.more)} more, each too small to show` : 'others'}
			</span>
		);
	const name = shortName(node.name);
	return (
		<span style={indent} title={`${node.name}${node.module ? ` [${node.module}]` : ''}`}>
			<span class="tree-sign" aria-hidden="true">
				{opens(node) ? (row.node && openIds.has(node.id) ? '▾' : '▸') : '\u2003'}
			</span>{' '}
			<span class={`mono${node.plumbing ? ' muted' : ' tree-own'}`}>{name}</span>
			{node.module && !name.endsWith(node.module) ? <span class="muted"> {node.module}</span> : null}
		</span>
	);
}

/* What is open while rows are drawn: cells know their row alone. */
let openIds: ReadonlySet<string> = new Set();

/* What the recording cannot fill: of several processes as one, and of a live table. */
const unknown = () => (bare.value ? ['leaked', 'age'] : liveTable.value ? ['leaked', 'temporary'] : []);

const amount = (value: number) => <span title={formatExact(value)}>{measure.value.format(value)}</span>;

function columnsOf(whole: number, change: boolean): Column<TreeRow>[] {
	const name: Column<TreeRow> = { name: 'name', head: way() === 'callees' ? 'function, and what it called' : 'function, and who called it', width: FLUID, text: true, cell: (row) => <NameCell row={row} /> };
	const of = (row: TreeRow) => (row.rest ? row.node.rest : row.node.amount);
	if (change)
		return [
			name,
			{ name: 'before', head: 'before', width: '92px', cell: ({ node, rest }) => (rest ? '' : amount(node.before)) },
			{ name: 'after', head: 'after', width: '92px', cell: ({ node, rest }) => (rest ? '' : amount(node.after)) },
			{ name: 'change', head: 'change', width: '104px', cell: ({ node, rest }) => (rest ? amount(node.rest) : formatChange(node.after - node.before, measure.value.format)) },
		];
	const columns: Column<TreeRow>[] = [
		name,
		{ name: 'amount', head: measure.value.word, width: '92px', cell: (row) => amount(of(row)) },
		{ name: 'share', head: 'share', width: '132px', cell: (row) => <Share part={of(row)} whole={whole} /> },
		{ name: 'own', head: 'own', width: '92px', title: 'what it asked for itself', cell: ({ node, rest }) => (rest || !node.own ? '' : amount(node.own)) },
		{ name: 'blocks', head: 'blocks', width: '92px', cell: ({ node, rest }) => (rest ? '' : <Count value={node.blocks} />) },
		{
			name: 'leaked', head: 'never freed', width: '104px', title: 'of these blocks',
			cell: ({ node, rest }) => (rest || !node.leaked ? '' : <span class="never-freed">{formatBytes(node.leaked)}</span>),
		},
		{ name: 'calls', head: 'calls', width: '88px', title: 'of all that matches', cell: ({ node, rest }) => (rest ? '' : <Count value={node.calls} />) },
		{
			name: 'temporary', head: 'temporary', width: '120px', title: TEMPORARY,
			cell: ({ node, rest }) => (rest ? '' : <CountPart value={node.temporary} whole={node.calls} />),
		},
		{ name: 'age', head: 'mean age', width: '88px', cell: ({ node, rest }) => (rest ? '' : formatTime(node.age)) },
	];
	return columns.filter((column) => !unknown().includes(column.name));
}

function sentence(root: TreeNode): string {
	const { format } = measure.value;
	if ('before' in root && isDifference.value) return `${formatChange(root.after - root.before, format)}: ${format(root.before)} before, ${format(root.after)} after.`;
	if (!root.amount) return 'Nothing matches.';
	let at = root;
	while (at.children[0] && at.children[0].amount >= at.amount * 0.95) at = at.children[0];
	const fork = at.children.slice(0, 2).map((child) => `${shortName(child.name)} ${formatPercent(child.amount, root.amount)}`);
	const below = at === root ? '' : ` ${way() === 'callees' ? 'below' : 'of'} ${shortName(at.name)}:`;
	return `${format(root.amount)} ${metricWords()}${whenWords()}${fork.length ? `;${below} ${fork.join(', ')}` : ''}.`;
}

export function CallTree() {
	const answer = useAnswer<FlameAnswer>(dataPath('flame'), params());
	useSeen(answer.stale ? null : answer.data);
	return (
		<Shown answer={answer} height={400}>
			{(data) => <Tree key={answer.of} answer={data} />}
		</Shown>
	);
}

function Tree({ answer }: { answer: FlameAnswer }) {
	const root = useMemo(() => treeOf(answer), [answer]);
	const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set(openAtFirst(root)));
	const [, redraw] = useState(0);
	const rows = useMemo(() => rowsOf(root, open), [root, open, root.children]);
	openIds = open;

	/* What was too small beside the whole is asked for beside its own parent. */
	const load = async (node: TreeNode) => {
		try {
			const below = treeOf(await fetchAnswer<FlameAnswer>(target(dataPath('flame'), { ...params(), root: node.id })));
			Object.assign(node, { children: below.children, rest: below.rest, more: below.more });
			setOpen((before) => new Set([...before, node.id]));
			redraw((n) => n + 1);
		} catch (error) {
			say(error instanceof ApiError ? error.message : String(error));
		}
	};
	const down = (index: number) => {
		const row = rows[index];
		if (!row) return;
		if (row.rest || (hidesChildren(row.node) && !row.node.children.length)) return void load(row.node);
		setOpen(new Set([...open, ...downToFork(row.node)]));
	};
	const close = (index: number) => {
		const row = rows[index];
		if (row && !row.rest) setOpen(new Set([...open].filter((id) => id !== row.node.id)));
	};
	const toggle = (index: number) => {
		const row = rows[index];
		if (!row) return;
		if (!row.rest && open.has(row.node.id)) close(index);
		else down(index);
	};
	const onKey = (key: string, index: number): boolean => {
		const node = rows[index]?.node;
		if (key === 'ArrowRight') down(index);
		else if (key === 'ArrowLeft') close(index);
		else if (key === 'o' && node) go({ conditions: { ...place.value.conditions, ...onlyOf(node.name) } });
		else if (key === 'x' && node) go({ conditions: { ...place.value.conditions, ...withoutOf(node.name) } });
		else return false;
		return true;
	};
	return (
		<>
			<h1>{sentence(root)}</h1>
			<div class="view-bar">
				<Switch<Way> label="below a function are" value={way()} choices={WAYS} onChange={(direction) => go({ view: { direction: direction === 'callees' ? '' : direction } })} />
				<Switch<Merge> label="rows are" value={merge()} choices={MERGES.map((choice) => ({ ...choice, ...notHere(choice.value !== 'functions') }))} onChange={(value) => go({ view: { merge: value === 'functions' ? '' : value } })} />
				<Switch<Frames> label="frames are" value={frames()} choices={FRAMES.map((choice) => ({ ...choice, ...notHere(choice.value === 'own' && usual() === 'all') }))} onChange={(value) => go({ view: { frames: value === usual() ? '' : value } })} />
				<button type="button" onClick={() => setOpen(new Set(openAtFirst(root)))} title="as at the beginning">
					close all
				</button>
			</div>
			{root.amount ? null : <Nothing />}
			<Table<TreeRow>
				label="call tree"
				columns={columnsOf(root.amount, isDifference.value)}
				count={rows.length}
				row={(index) => rows[index] ?? null}
				onOpen={toggle}
				level={({ node, level, rest }) => ({ level, open: rest || !opens(node) ? null : open.has(node.id) })}
				onKey={onKey}
			/>
		</>
	);
}
