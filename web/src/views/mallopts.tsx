/* How the program tuned its allocator: calls of mallopt, in their order. */
import type { Mallopt } from '../api/generated';
import { useAnswer } from '../api/answer';
import { Rows, type Field } from '../components/rows';
import { Shown, useSeen } from '../components/shown';
import { SiteName } from '../components/site_name';
import { dataPath } from '../state/state';
import { formatCount, formatExact } from '../text/units';

const named = ({ param, raw_param: raw }: Mallopt): string => param ?? String(raw);

/* The innermost frame: who called mallopt. */
function Caller({ call }: { call: Mallopt }) {
	const frame = call.backtrace[call.backtrace.length - 1];
	return <SiteName name={frame?.function ?? null} file={frame?.source} line={frame?.line} />;
}

const FIELDS: Field<Mallopt>[] = [
	{ head: 'parameter', text: true, cell: (call) => <code>{named(call)}</code> },
	{ head: 'value', cell: ({ value }) => formatExact(value) },
	{ head: 'taken', cell: ({ result }) => (result ? 'yes' : 'no') },
	{ head: 'thread', cell: ({ thread }) => thread ?? '' },
	{ head: 'called by', text: true, cell: (call) => <Caller call={call} /> },
];

/** "3 calls of mallopt; the last set M_MMAP_THRESHOLD to 65,536." */
export function sentence(calls: Mallopt[]): string {
	if (!calls.length) return 'The program did not call mallopt.';
	const last = calls[calls.length - 1]!;
	return `${formatCount(calls.length)} call${calls.length === 1 ? '' : 's'} of mallopt; the last set ${named(last)} to ${formatExact(last.value)}.`;
}

export function Mallopts() {
	const answer = useAnswer<Mallopt[]>(dataPath('mallopts'));
	useSeen(answer.data);
	return (
		<Shown answer={answer} height={200}>
			{(calls) => (
				<>
					<h1>{sentence(calls)}</h1>
					<Rows label="calls of mallopt" class="fit" fields={FIELDS} rows={calls} />
				</>
			)}
		</Shown>
	);
}
