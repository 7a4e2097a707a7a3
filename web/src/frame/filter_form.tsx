/* All conditions, made of the server's own table of them. */
import { useState } from 'preact/hooks';
import { CONDITIONS, type Condition } from '../api/generated';
import { Dialog } from '../components/dialog';
import { go, place } from '../state/state';

const inputId = (name: string) => `condition-${name}`;

/* What it asks, in the words of its help: "bytes as requested ≥". A moment's help says which side it bounds. */
function wordsOf({ name, kind, text }: Condition): string {
	const bound = kind === 'MOMENT' ? null : /_(min|max)$/.exec(name);
	return bound ? `${text} ${bound[1] === 'min' ? '≥' : '≤'}` : text;
}

function Field(props: { condition: Condition; value: string; onChange: (value: string) => void }) {
	const { condition, value } = props;
	const shared = {
		id: inputId(condition.name),
		value,
	};
	if (condition.choices)
		return (
			<select {...shared} onChange={(event) => props.onChange(event.currentTarget.value)}>
				<option value="">–</option>
				{condition.choices.map((choice) => (
					<option key={choice}>{choice}</option>
				))}
			</select>
		);
	if (condition.kind === 'SUPPRESSIONS')
		return <textarea {...shared} rows={2} placeholder="leak:PATTERN" onInput={(event) => props.onChange(event.currentTarget.value)} />;
	return (
		<input
			{...shared}
			type="text"
			spellcheck={false}
			autocomplete="off"
			placeholder={condition.value}
			onInput={(event) => props.onChange(event.currentTarget.value)}
		/>
	);
}

export function FilterForm({ onClose }: { onClose: () => void }) {
	const [values, setValues] = useState<Record<string, string>>(place.value.conditions);
	const [find, setFind] = useState('');
	const matches = (condition: Condition) =>
		condition.name in values || `${condition.name} ${condition.text}`.toLowerCase().includes(find.toLowerCase());
	const apply = (event: Event) => {
		event.preventDefault();
		const conditions = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''));
		go({ conditions });
		onClose();
	};
	return (
		<Dialog title="Only allocations for which all of these hold" onClose={onClose}>
			<form class="filter-form" onSubmit={apply}>
				<input
					type="search"
					aria-label="find a condition"
					placeholder="find a condition"
					value={find}
					onInput={(event) => setFind(event.currentTarget.value)}
				/>
				<div class="conditions" tabIndex={0} role="group" aria-label="conditions">
					{CONDITIONS.filter(matches).map((condition) => (
						<div class="condition" key={condition.name}>
							<label for={inputId(condition.name)}>{wordsOf(condition)}</label>
							<Field
								condition={condition}
								value={values[condition.name] ?? ''}
								onChange={(value) => setValues({ ...values, [condition.name]: value })}
							/>
							<code class="muted" title="its name in addresses, commands and docs/filter.md">
								{condition.name}
							</code>
						</div>
					))}
				</div>
				<div class="dialog-foot">
					<button type="button" onClick={() => setValues({})}>
						Clear
					</button>
					<button type="submit" class="main">
						Filter
					</button>
				</div>
			</form>
		</Dialog>
	);
}
