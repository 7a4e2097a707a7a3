/*
 * The recordings that are served, to choose one: directories, runs and processes as a tree, and a search in it. Arrows move
 * through what is open, and open and close it.
 */
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { Recording } from '../api/generated';
import { Dialog } from '../components/dialog';
import { baseName } from '../components/site_name';
import { family, familyId, merged } from '../state/limits';
import { recordingTree, type Run } from '../state/recording_tree';
import { facts, linkTo, recordings } from '../state/state';
import { formatBytes, formatCount } from '../text/units';
import '../styles/recordings.css';

const open = signal(false);

export const chooseRecording = (): void => {
	open.value = true;
};

/** Another recording, with nothing of what was chosen in this one. */
export const toRecording = (recording: string) => ({ page: 'overview' as const, recording, brush: null, conditions: {}, view: { zoom: '', sel: '', root: '' } });

/* As many rows of a list are drawn at once. */
const STEP = 200;

const nameOf = ({ executable }: Recording): string => baseName(executable || '[unknown]');

function Row({ recording, level = 0 }: { recording: Recording; level?: number }) {
	const here = !merged.value && recording.id === facts.value?.id;
	return (
		<a class="recording-row" href={linkTo(toRecording(recording.id))} title={`${recording.path}\n${recording.cmdline}`} style={{ paddingLeft: `${8 + 16 * level}px` }} aria-current={here ? 'true' : undefined}>
			<b>{nameOf(recording)}</b>{' '}
			<span class="muted">
				{baseName(recording.path)} · pid {recording.pid} · peak {formatBytes(recording.peak)} · {formatCount(recording.calls)} calls
			</span>
		</a>
	);
}

/* A list of any length: more of it on wish. */
function Some<T>({ items, children }: { items: T[]; children: (item: T) => ComponentChildren }) {
	const [shown, setShown] = useState(STEP);
	return (
		<>
			{items.slice(0, shown).map(children)}
			{items.length > shown ? (
				<button type="button" class="plain" onClick={() => setShown(shown + STEP)}>
					{formatCount(items.length - shown)} more
				</button>
			) : null}
		</>
	);
}

function RunRows({ run, found }: { run: Run; found: boolean }) {
	if (run.size === 1) return <Row recording={run.root} />;
	const asOne = familyId(run.root.id);
	const own = run.processes.some(({ recording }) => recording.id === facts.value?.id);
	return (
		<details open={found || own}>
			<summary title={run.root.cmdline}>
				<b>{nameOf(run.root)}</b> <span class="muted">{baseName(run.root.path)} · {formatCount(run.size)} processes</span>
			</summary>
			<a class="recording-row" href={linkTo(toRecording(asOne))} aria-current={own && merged.value ? 'true' : undefined}>
				<b>all as one</b> <span class="muted">sums of all {formatCount(run.size)} processes</span>
			</a>
			<Some items={run.processes}>{({ recording, level }) => <Row key={recording.id} recording={recording} level={level} />}</Some>
		</details>
	);
}

/* What the arrows move through: what is seen of it. */
const stops = (host: HTMLElement): HTMLElement[] => [...host.querySelectorAll<HTMLElement>('input, summary, a, button.plain')].filter((one) => one.offsetParent && one.closest('.recordings'));

function moveFocus(event: KeyboardEvent): void {
	const host = event.currentTarget as HTMLElement;
	const at = document.activeElement as HTMLElement;
	const all = stops(host);
	const details = at.closest('details');
	if (event.key === 'ArrowDown' || event.key === 'ArrowUp') all[all.indexOf(at) + (event.key === 'ArrowDown' ? 1 : -1)]?.focus();
	else if (at.tagName === 'INPUT') {
		if (event.key !== 'Enter') return;
		host.querySelector<HTMLElement>('a')?.click();
	} else if (event.key === 'ArrowRight' && at.tagName === 'SUMMARY') details!.open = true;
	else if (event.key === 'ArrowLeft' && at.tagName === 'SUMMARY' && details!.open) details!.open = false;
	else if (event.key === 'ArrowLeft') (at.tagName === 'SUMMARY' ? details?.parentElement?.closest('details') : details)?.querySelector('summary')?.focus();
	else return;
	event.preventDefault();
}

function Tree() {
	const [words, setWords] = useState('');
	const list = recordings.value ?? [];
	const folders = useMemo(() => recordingTree(list, words), [list, words]);
	const count = folders.reduce((sum, { runs }) => sum + runs.reduce((all, { processes }) => all + processes.length, 0), 0);
	// What was opened by hand stays as long as the words do.
	return (
		<div class="recordings" onKeyDown={moveFocus} onClick={(event) => (event.target as Element).closest('a') && (open.value = false)}>
			<input type="search" aria-label="search recordings" placeholder="program, argument, pid or file" value={words} onInput={(event) => setWords(event.currentTarget.value)} />
			<p class="muted" role="status">
				{words ? `${formatCount(count)} of ` : ''}
				{formatCount(list.length)} recordings
			</p>
			<div class="recording-tree" key={words}>
				{folders.map(({ path, runs }) => (
					<details key={path} open={words !== '' || folders.length === 1 || runs.some(({ processes }) => processes.some(({ recording }) => recording.id === facts.value?.id))}>
						<summary>
							{path || '.'} <span class="muted">{formatCount(runs.length)} run{runs.length === 1 ? '' : 's'}</span>
						</summary>
						<Some items={runs}>{(run) => <RunRows key={run.root.id} run={run} found={words !== ''} />}</Some>
					</details>
				))}
			</div>
		</div>
	);
}

export function Recordings() {
	if (!open.value) return null;
	return (
		<Dialog title="Recordings" onClose={() => (open.value = false)}>
			<Tree />
		</Dialog>
	);
}

/** Of a run of several processes: how many there are, and all of them as one first. */
export function OfRun() {
	const count = family.value.length;
	const others = (recordings.value?.length ?? 0) - count;
	if (count < 2 && others < 1) return null;
	const root = family.value.find(({ parent }) => !family.value.some(({ id }) => id === parent)) ?? family.value[0];
	return (
		<p class="of-run">
			{count > 1 && root ? (
				merged.value ? (
					<>
						All {formatCount(count)} processes of the run as one. <a href={linkTo({ page: 'processes' })}>Each by itself</a>
					</>
				) : (
					<>
						One of {formatCount(count)} processes of its run: <a href={linkTo(toRecording(familyId(root.id)))}>all as one</a> · <a href={linkTo({ page: 'processes' })}>each by itself</a>
					</>
				)
			) : null}
			{count > 1 && others > 0 ? ' · ' : null}
			{others > 0 ? (
				<button type="button" class="plain" onClick={chooseRecording}>
					{formatCount(others)} recording{others === 1 ? '' : 's'} of other runs
				</button>
			) : null}
		</p>
	);
}
