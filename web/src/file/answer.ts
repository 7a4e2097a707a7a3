/*
 * Answers of the page as one file: as a server would give them, out of what lies in it. What does
 * not lie in it is refused by a line that says who has it.
 */
import type { AllStacks, Backtrace, Frame, Maps, ReportFrame, Series, SumsTable } from '../api/generated';
import { framesOf } from '../api/reports';
import { bySecond, joined, kept, sorted, taken } from './tables';
import { leftOut, type PageFile } from '../api/file';
import { factsOf, packed, type Packed } from './packed';
import { mapsOf } from './maps';
import { nameOf } from '../text/names';
import { keyOf, questionOf, type Question } from './question';
import { within } from './series';

/* The file does not have it. */
class NotInFile extends Error {}

const refusal = () => `This file does not have that. The recording does: mallow serve ${factsOf().name}`;

const ASCENDING = ['first', 'last', 'key'];

/* A table as a question wants it: in its order, that many rows. */
function shaped(table: SumsTable, { params }: Question, of: string): SumsTable {
	const column = params.sort_by ?? 'bytes';
	const order = params.order ?? (ASCENDING.includes(column) ? 'asc' : 'dsc');
	const before = questionOf(of).params;
	const same = (before.sort_by ?? 'bytes') === column && (before.order ?? order) === order;
	const ordered = same ? table : sorted(table, column, order === 'dsc');
	const first = Number(params.skip ?? 0);
	const end = params.count === undefined ? ordered.key.length : first + Number(params.count);
	if (first === 0 && end >= ordered.key.length) return ordered;
	return taken(ordered, [...ordered.key.keys()].slice(first, end));
}

interface FoundTable {
	table: SumsTable;
	/** What was asked for it. */
	of: string;
}

async function makeTable(key: string): Promise<FoundTable | null> {
	const pages = await packed(key);
	if (!pages.length) return null;
	failOf(pages[0]!);
	const table = joined(pages.map(({ data }) => data as SumsTable));
	const left = { left_out: table.rows - table.key.length }; // for leftOut()
	return { table: { ...table, ...left, rows: table.key.length }, of: pages[0]!.of };
}

const tables = new Map<string, Promise<FoundTable | null>>();

function tableOf(key: string): Promise<FoundTable | null> {
	if (!tables.has(key)) tables.set(key, makeTable(key));
	return tables.get(key)!;
}

function failOf({ failed }: Packed): void {
	if (failed !== undefined) throw new NotInFile(failed);
}

/* Conditions that choose rows of a table by site. */
const CHOOSING = ['backtraces', 'allocated_by'] as const;

interface Choice {
	/** The question without that condition. */
	rest: Question;
	/** Of a table, whether it means the row with that first key. */
	wanted: (table: SumsTable) => (key: number) => boolean;
	/** It means one site, not all of a name. */
	one: boolean;
}

/* Which keys of a table by site, or by site and something else, a condition means; null: it is none of those. */
function chosen(question: Question): Choice | null {
	const name = CHOOSING.find((one) => question.params[one] !== undefined);
	if (!name) return null;
	const { [name]: value, ...params } = question.params;
	const exact = name === 'allocated_by' ? nameOf(value!) : value!;
	if (exact === null) return null;
	const wanted = ({ keys }: SumsTable) =>
		name === 'backtraces' ? (key: number) => String(keys[0]!.backtrace_id?.[key]) === exact : (key: number) => keys[0]!.name[key] === exact;
	return { rest: { ...question, params }, wanted, one: name === 'backtraces' };
}

const withBy = (question: Question, by: string): string => keyOf({ ...question, params: { ...question.params, by } });

/* Whether the file has all rows of some sites, if it lacks some of the table: they are as many calls as the sites have. */
async function isWhole(rows: SumsTable, { rest, wanted, one }: Choice): Promise<boolean> {
	const sites = await tableOf(withBy(rest, 'site'));
	if (!sites) return false;
	const { calls } = kept(sites.table, wanted(sites.table)).all;
	return calls > 0 && calls === rows.all.calls && (one || !leftOut(sites.table));
}

/* Sums of some sites: rows of a table by site, or by function. */
async function narrowSums(question: Question): Promise<SumsTable | null> {
	const choice = chosen(question);
	if (!choice) return null;
	const by = question.params.by ?? 'site';
	const alone = by === 'site' || (by === 'function' && question.params.allocated_by !== undefined);
	const found = await tableOf(withBy(choice.rest, alone ? by : `site,${by}`));
	if (!found) return null;
	const wanted = choice.wanted(found.table);
	const rows = kept(found.table, wanted);
	const sure = !leftOut(found.table) || (alone && (choice.one || by === 'function'));
	if (!(sure ? rows.rows : await isWhole(rows, choice))) return null;
	return alone ? shaped(rows, question, found.of) : shaped(bySecond(rows), question, '?sort_by=key');
}

/* The curve of some sites: of 64 points, without the moment of its peak. */
async function narrowSeries(question: Question): Promise<Series | null> {
	const { points: _, ...params } = question.params;
	const choice = chosen({ ...question, params });
	const by = params.allocated_by !== undefined ? 'function' : 'site';
	const found = choice && (await tableOf(keyOf({ path: 'sums', params: { ...choice.rest.params, by } })));
	if (!found) return null;
	const rows = kept(found.table, choice!.wanted(found.table));
	const curve = rows.spark_ns.map((_, i) => rows.curve.reduce((sum, one) => sum + one[i]!, 0));
	const end = rows.spark_ns[rows.spark_ns.length - 1] ?? 0;
	const most = rows.key.length === 1 ? rows.own_peak[0] ?? null : null;
	return {
		start_ns: 0, end_ns: end, late_ns: 0, at_ns: rows.spark_ns, live_last: curve, live_most: curve, live_slack: [], live_blocks: [],
		allocated_bytes: [], allocated_blocks: [], freed_bytes: [], freed_blocks: [], curves: [],
		peak: { at_ns: -1, bytes: most ?? Math.max(0, ...curve), blocks: 0, thread: null, backtrace_id: null },
		memory: { usual_ns: 0, at_ns: [], virtual_size: [], resident: [], anonymous: [], file: [], shared: [], swap: [] },
	};
}

const frameOf = (frame: ReportFrame): Frame => ({
	address: 0, address_s: '', count: 0, library: frame.module, function: frame.function, raw_function: null, source: frame.file, line: frame.line,
	column: null, is_inline: false,
});

async function backtrace(id: number): Promise<Backtrace | null> {
	const [all] = await packed('stacks');
	const stacks = all?.data as AllStacks | undefined;
	const site = stacks?.backtrace_id.indexOf(id) ?? -1;
	if (!stacks || site < 0) return null;
	const frames = framesOf(stacks, stacks.stack[site] ?? null).reverse();
	return { frames: frames.map(frameOf), plumbing: frames.map(({ plumbing }) => plumbing) };
}

/* Nodes are called by their numbers: the file's graphs have no ids of the server. */
function withIds(data: unknown): unknown {
	const flame = data as { id: string[]; parent: number[] };
	return flame.id.length ? flame : { ...flame, id: flame.parent.map((_, i) => String(i)) };
}

async function answer(question: Question): Promise<unknown> {
	const { path, params } = question;
	if (path === 'flame' && params.root !== undefined) return null;
	if (path.startsWith('backtrace/')) return backtrace(Number(path.slice('backtrace/'.length)));
	if (path === 'sums') {
		const found = await tableOf(keyOf(question));
		return found ? shaped(found.table, question, found.of) : narrowSums(question);
	}
	const [found] = await packed(keyOf(question));
	if (!found) return path === 'series' ? narrowSeries(question) : null;
	failOf(found);
	if (path === 'series') return within(found.data as Series, params);
	if (path === 'maps') return mapsOf(found.data as Maps, params);
	return path === 'flame' ? withIds(found.data) : found.data;
}

/* "peak" and "end" are moments of the file by their times; one that is both is "peak and end", and comes first. */
function timed(question: Question): Question {
	const at = factsOf().moments.find(({ name }) => name.split(' and ').includes(question.params.alive_at ?? ''))?.at_ns;
	return at === undefined ? question : { ...question, params: { ...question.params, alive_at: `${at}ns` } };
}

/** The answer to a target, or the line by which it is refused. */
export const fileAnswer: PageFile['answer'] = async (target) => {
	try {
		const data = await answer(timed(questionOf(target)));
		return data === null ? { refused: refusal() } : { data };
	} catch (error) {
		if (error instanceof NotInFile) return { refused: error.message };
		throw error;
	}
};
