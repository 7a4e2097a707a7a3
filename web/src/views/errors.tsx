/* Wrong frees: what was freed twice, by a function that did not make it, or never allocated. */
import type { Errors as ErrorsReport, WrongFree } from '../api/generated';
import { useAnswer } from '../api/answer';
import { ReportStack } from '../components/report_stack';
import { Shown, useSeen } from '../components/shown';
import { dataPath } from '../state/state';
import { formatBytes, formatCount, formatTime } from '../text/units';
import '../styles/errors.css';

/** "free of a block made by operator new", in the words of `mallow report --errors`. */
export function errorWords(error: WrongFree): string {
	const by = error.allocated_by ? ` made by ${error.allocated_by}` : '';
	switch (error.kind) {
		case 'mismatch':
			return `${error.freed_by} of a block${by}`;
		case 'double_free':
			return `${error.freed_by} of a block that was freed already${by ? `,${by}` : ''}`;
		default:
			return `${error.freed_by} of an address that was never allocated`;
	}
}

/** "3 wrong frees, of 2 kinds." What cannot be judged is said behind it. */
export function sentence({ errors, pool_errors: pools, unjudged_frees: unjudged }: ErrorsReport): string {
	const all = errors.reduce((sum, { count }) => sum + count, 0) + pools.reduce((sum, { count }) => sum + count, 0);
	const kinds = errors.length + pools.length;
	const doubt = unjudged ? ` ${formatCount(unjudged)} more frees cannot be judged: what they freed is not in the recording.` : '';
	if (!all) return `No wrong free was found.${doubt}`;
	return `${formatCount(all)} wrong free${all === 1 ? '' : 's'}${kinds > 1 ? `, of ${formatCount(kinds)} kinds` : ''}.${doubt}`;
}

function Error({ report, error }: { report: ErrorsReport; error: WrongFree }) {
	const where = error.addresses.join(', ') + (error.count > error.addresses.length ? ', …' : '');
	return (
		<li class="panel heap-error">
			<h2>
				{errorWords(error)}
				{error.count > 1 ? `, ${formatCount(error.count)} times` : ''}
			</h2>
			<p class="muted">
				{error.count > 1 ? 'first ' : ''}at {formatTime(error.time_s * 1e9)} by thread {error.thread}: <code>{where}</code>
				{error.size === null ? '' : ` (${formatBytes(error.size)})`}
			</p>
			<div class="heap-error-stacks">
				<div>
					<h3>Freed by</h3>
					<ReportStack report={report} stack={error.free_stack} label="freed by" />
				</div>
				{error.kind === 'double_free' ? (
					<div>
						<h3>Freed first by</h3>
						<ReportStack report={report} stack={error.first_free_stack} label="freed first by" />
					</div>
				) : null}
				{error.allocated_by ? (
					<div>
						<h3>Allocated by</h3>
						<ReportStack report={report} stack={error.allocation_stack} label="allocated by" />
					</div>
				) : null}
			</div>
		</li>
	);
}

export function Errors() {
	const answer = useAnswer<ErrorsReport>(dataPath('errors'));
	useSeen(answer.data);
	return (
		<Shown answer={answer} height={300}>
			{(report) => (
				<>
					<h1>{sentence(report)}</h1>
					<ul class="heap-errors">
						{report.errors.map((error, i) => (
							<Error key={i} report={report} error={error} />
						))}
						{report.pool_errors.map(({ pool, count, first, free_stack: stack }) => (
							<li key={pool.address} class="panel heap-error">
								<h2>
									{formatCount(count)} free{count === 1 ? '' : 's'} of what pool {pool.name ?? pool.address} did not hold
								</h2>
								<p class="muted">
									first of <code>{first}</code>
								</p>
								<h3>Freed by</h3>
								<ReportStack report={report} stack={stack} label="freed by" />
							</li>
						))}
					</ul>
					{report.errors.some((error) => error.free_stack === null) ? (
						<p class="muted">
							Stacks of frees are recorded with <code>mallow run --free-stacks</code>.
						</p>
					) : null}
				</>
			)}
		</Shown>
	);
}
