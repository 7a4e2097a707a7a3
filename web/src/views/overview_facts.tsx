/* What the recording is, and what is in doubt about it. */
import type { Backtrace, Findings } from '../api/generated';
import { useAnswer } from '../api/answer';
import { fileFacts } from '../api/file';
import { ownFrame, Stack } from '../components/stack';
import { leftWords } from '../state/limits';
import { dataPath, facts, summary, threadWords } from '../state/state';
import { shortName } from '../text/names';
import { formatBytes, formatCount, formatTime } from '../text/units';

/** Doubts about the numbers, each with what can be done. */
export function doubts(): string[] {
	const shown = facts.value;
	if (!shown) return [];
	const lines = shown.unseen.map(({ text }) => `${text.replace(/^the /, 'The ')}.`);
	const file = fileFacts();
	if (file) lines.push(`This page is one file: single allocations, ranges and filters are not in it. The recording has them: mallow serve ${file.name}`);
	if (shown.sample_bytes)
		lines.push(`Numbers are estimates: one allocation in ${formatBytes(shown.sample_bytes)} was recorded (--sample).`);
	if (shown.stripped && shown.culled_allocations)
		lines.push(`${formatCount(shown.culled_allocations)} blocks that were freed and not live at the peak are only counted (mallow strip).`);
	else if (shown.culled_allocations && shown.cull_s !== null)
		lines.push(`${formatCount(shown.culled_allocations)} blocks that lived less than ${formatTime(shown.cull_s * 1e9)} are only counted (--cull).`);
	if (shown.lost) lines.push(`${formatCount(shown.lost)} events were lost: mallow info says why.`);
	if (shown.damaged_chunks || shown.missing_chunks)
		lines.push(`${shown.damaged_chunks + shown.missing_chunks} pieces of the file are damaged or missing: what was in them is not counted.`);
	if (shown.attached) lines.push('mallow attached while the program ran: what it allocated before is not here.');
	if (shown.end_reason === 'detached' || shown.end_reason === 'cut') lines.push('The program went on: what is not freed here may have been later.');
	else if (shown.writing) lines.push('The program still runs: what is not freed yet may still be.');
	else if (shown.ended && !shown.complete && !lines.length) lines.push("The recording's file was cut off: what was behind is not counted.");
	else if (shown.core)
		lines.push(
			`A core dump, ${shown.core.signal ? `of ${shown.core.signal}` : 'of a program that went on'}: what was live then.` +
				(shown.core.missing_bytes ? ` ${formatBytes(shown.core.missing_bytes)} of the table are not in it.` : ''),
		);
	else if (!shown.ended) lines.push('The program was killed, or the recording was cut short; all that was complete is here.');
	return lines;
}

export function Doubts() {
	const lines = doubts();
	if (!lines.length) return null;
	return (
		<ul class="doubts" aria-label="doubts">
			{lines.map((line) => (
				<li key={line}>{line}</li>
			))}
		</ul>
	);
}

/** Whose allocation it was that reached the peak: in a sentence, and its stack behind it. */
export function PeakReached() {
	const peak = summary.value?.peak;
	const id = peak?.backtrace_id ?? null;
	const answer = useAnswer<Backtrace>(id === null ? null : dataPath(`backtrace/${id}`));
	if (!peak || id === null || !answer.data) return null;
	const own = ownFrame(answer.data);
	return (
		<details class="run-facts">
			<summary>
				The peak was reached by thread {threadWords(peak.thread)}
				{own?.function ? (
					<>
						{' '}
						in <code>{shortName(own.function)}</code>
					</>
				) : null}
			</summary>
			<Stack id={id} label="stack of the allocation that reached the peak" />
		</details>
	);
}

export function RunFacts() {
	const shown = facts.value;
	const all = summary.value;
	const mapped = useAnswer<Findings>(dataPath('findings')).data?.mapped;
	if (!shown || !all) return null;
	const end = shown.end_reason ? `${shown.end_reason}${shown.end_status !== null ? `, status ${shown.end_status}` : ''}` : 'not known';
	const rows: [string, string][] = [
		['command', shown.arguments.join(' ')],
		['program', `${shown.program ?? 'not known'}, pid ${shown.pid}`],
		['ran', `${formatTime(shown.duration_s * 1e9)}; end: ${end}`],
		['allocated', `${formatBytes(all.all.total_bytes)} in ${formatCount(all.all.calls)} calls, ${formatCount(all.all.temporary)} temporary`],
		[shown.complete ? leftWords.value : 'not freed', `${formatBytes(all.all.leaked_bytes)} in ${formatCount(all.all.leaked_blocks)} blocks`],
		...(mapped?.mappings ? [['mapped itself', `${formatBytes(mapped.left_bytes)} at the end, ${formatBytes(mapped.peak_bytes)} at most, in ${formatCount(mapped.mappings)} mappings`] as [string, string]] : []),
		['threads', formatCount(all.threads.length)],
		['modules', formatCount(all.modules.length)],
		['allocator', shown.allocator ?? 'not known'],
		['recording', `${shown.path}, ${shown.id}`],
	];
	return (
		<>
			<Doubts />
			<details class="run-facts">
				<summary>About this recording</summary>
				<dl>
					{rows.map(([name, value]) => (
						<div key={name}>
							<dt>{name}</dt>
							<dd>{value}</dd>
						</div>
					))}
				</dl>
			</details>
		</>
	);
}
