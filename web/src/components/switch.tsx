/* One of a few choices, all of them seen: buttons side by side. */

export interface Choice<T extends string> {
	value: T;
	text: string;
	/** What the choice means, and its key. */
	title?: string;
	disabled?: boolean;
}

export function Switch<T extends string>(props: {
	label: string;
	choices: Choice<T>[];
	value: T;
	onChange: (value: T) => void;
}) {
	return (
		<div class="switch" role="group" aria-label={props.label}>
			{props.choices.map((choice) => (
				<button
					key={choice.value}
					type="button"
					title={choice.title}
					disabled={choice.disabled}
					aria-pressed={choice.value === props.value}
					onClick={() => props.onChange(choice.value)}
				>
					{choice.text}
				</button>
			))}
		</div>
	);
}
