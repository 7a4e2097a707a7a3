/* What stands out: the number at stake, the sentence, why, and the view that shows it. */
import type { Finding } from '../api/generated';
import { isNeverFreed } from '../api/reports';
import { brushConditions } from '../state/brush';
import type { Metric, Page } from '../state/place';
import { baseName } from '../components/site_name';
import { facts, linkTo, place } from '../state/state';
import { Sentence } from '../text/sentence';
import { formatBytes, formatCount, formatTime } from '../text/units';

const SHOWN = 6;

/* Which page shows a kind, and what the link is called. */
const PAGE_OF: Record<string, [Page, string]> = {
	temporary: ['churn', 'Churn'],
	churn: ['churn', 'Churn'],
	realloc_chains: ['churn', 'Churn'],
	freed_by_others: ['threads', 'Threads'],
	sparse_pages: ['space', 'Address space'],
	stayed_resident: ['space', 'Address space'],
	slack: ['sites', 'Sites'],
	large_block: ['flame', 'Peak'],
};

const METRIC_OF: Record<string, Metric> = {
	temporary: 'temporary', churn: 'calls', slack: 'slack', leaked: 'leaked', total: 'calls', calls: 'calls',
};

/* Pages that show a kind beside all others: its conditions would leave these out. */
const BESIDE: Page[] = ['churn', 'threads', 'space'];

/** The view that shows it; null: none does. */
export function linkOf(finding: Finding): { href: string; text: string; page: Page } | null {
	if (finding.view === 'mappings') return { page: 'mappings', text: 'Mappings', href: linkTo({ page: 'mappings' }) };
	if (!Object.keys(finding.conditions).length) return null;
	const [page, text] = isNeverFreed(finding) ? (['leaks', 'Leaks'] as const) : (PAGE_OF[finding.kind] ?? ['sites', 'Sites']);
	const moment = /^(\d+)ns$/.exec(finding.conditions.alive_at ?? '');
	const { alive_at: _, ...own } = finding.conditions;
	const rest = BESIDE.includes(page) ? {} : own;
	const metric = METRIC_OF[finding.sort ?? finding.kind] ?? 'bytes';
	if (!moment) return { page, text, href: linkTo({ page, conditions: rest, brush: null, metric }) };
	const ns = Number(moment[1]);
	return { page, text, href: linkTo({ page, conditions: rest, brush: { mode: 'moment', from: ns, to: ns }, metric }) };
}

/** The number in front: bytes at stake, else calls. */
export function stake(finding: Finding): string {
	if (finding.bytes) return formatBytes(finding.bytes);
	const { calls, chains, events, bytes, chunks } = finding.numbers;
	const count = calls ?? chains ?? events ?? chunks;
	return count !== undefined ? formatCount(count) : bytes !== undefined ? formatBytes(bytes) : '';
}

/** What the sentence rests on. */
export function why(finding: Finding): string {
	const { numbers, confidence } = finding;
	const parts: string[] = [];
	if (numbers.bytes_per_second) parts.push(`${formatBytes(numbers.bytes_per_second)} a second`);
	if (numbers.since_ns) parts.push(`since ${formatTime(numbers.since_ns)}`);
	if (numbers.blocks && finding.bytes) parts.push(`${formatCount(numbers.blocks)} blocks`);
	if (numbers.without_bytes) {
		const at = numbers.without_ns ? `, at ${formatTime(numbers.without_ns)}` : '';
		parts.push(`without it the peak would be ${formatBytes(numbers.without_bytes)}${at}`);
	}
	if (numbers.copied_bytes) parts.push(`${formatBytes(numbers.copied_bytes)} copied at most`);
	if (numbers.few_pages) parts.push(`${formatCount(numbers.few_pages)} pages are kept by few blocks`);
	const at = finding.file ? `${baseName(finding.file)}${finding.line ? `:${finding.line}` : ''}` : '';
	if (at && !finding.sentence.includes(at)) parts.push(at);
	if (confidence) parts.push(confidence);
	return parts.join(' · ');
}

/** The sentence without the number that stands in front of it already. */
export function restOf(sentence: string, number: string): string {
	const plain = number.replace(/\u00a0/g, ' ');
	return sentence.startsWith(`${plain} `) ? sentence.slice(plain.length + 1) : sentence;
}

function Card({ finding }: { finding: Finding }) {
	const link = linkOf(finding);
	return (
		<li class="panel finding" data-kind={finding.kind}>
			<span class={`finding-stake${isNeverFreed(finding) ? ' never-freed' : ''}`}>{stake(finding)}</span>
			<div class="finding-text">
				<p>
					<Sentence text={restOf(finding.sentence, stake(finding))} names={[finding.short, finding.function]} />
				</p>
				<p class="muted">{why(finding)}</p>
			</div>
			{link && link.page !== place.value.page ? (
				<a href={link.href} class="finding-link">
					{link.text} →
				</a>
			) : null}
		</li>
	);
}

/* Of what a recording has not seen nothing can be said. */
function nothing(): string {
	const shown = facts.value;
	if (!shown?.unseen.length && !shown?.lost && !shown?.damaged_chunks && !shown?.missing_chunks)
		return 'Nothing stands out: nothing large is kept, grows, or is done over and over.';
	return shown.allocations ? 'Nothing stands out in what was seen. Not all was.' : 'Nothing was seen that could stand out.';
}

export function FindingCards({ findings }: { findings: Finding[] }) {
	const more = findings.length - SHOWN;
	if (!findings.length) return <p class="muted">{nothing()}</p>;
	return (
		<>
			<ul class="findings">
				{findings.slice(0, SHOWN).map((finding) => (
					<Card key={finding.sentence} finding={finding} />
				))}
			</ul>
			{more > 0 ? (
				<details>
					<summary>{more} more</summary>
					<ul class="findings">
						{findings.slice(SHOWN).map((finding) => (
							<Card key={finding.sentence} finding={finding} />
						))}
					</ul>
				</details>
			) : null}
		</>
	);
}

/** Whether a brush chooses something else than the headline speaks of. */
export const isNarrowed = (brush: Parameters<typeof brushConditions>[0], conditions: Record<string, string>): boolean =>
	brush !== null || Object.keys(conditions).length > 0;
