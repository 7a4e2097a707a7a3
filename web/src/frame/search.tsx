/* The search: marks matches in the flame graph; elsewhere, or on wish, it becomes a condition. */
import { useRef, useState } from 'preact/hooks';
import { CONDITIONS } from '../api/generated';
import { inFile } from '../api/file';
import { go, place } from '../state/state';

interface Offer {
	text: string;
	run: (words: string) => void;
}

const withCondition = (name: string, value: string) => go({ conditions: { ...place.value.conditions, [name]: value } });

const asCondition = (name: string, words: string): Offer => ({
	text: `${words} ~ …`,
	run: (value) => withCondition(name, value),
});

const FIND: Offer = { text: 'find in the flame graph', run: (find) => go({ page: 'flame', view: { find } }) };
const OFFERS: Offer[] = [
	asCondition('function_regex', 'function'),
	asCondition('source_regex', 'source file'),
	asCondition('module_regex', 'module'),
	asCondition('allocated_by', 'allocated by'),
];

/** `size_min=1M` is a condition. */
function typedCondition(words: string): Offer[] {
	const [name = '', value = ''] = words.split(/[=:](.*)/s);
	if (!value || !CONDITIONS.some((condition) => condition.name === name)) return [];
	return [{ text: `only ${name} = ${value}`, run: () => withCondition(name, value) }];
}

export function Search() {
	const [words, setWords] = useState(place.value.view.find ?? '');
	const [open, setOpen] = useState(false);
	const [chosen, setChosen] = useState(0);
	const input = useRef<HTMLInputElement>(null);
	const flame = place.value.page === 'flame';
	const offers = inFile ? [FIND] : [...typedCondition(words), ...(flame ? [FIND, ...OFFERS] : [...OFFERS, FIND])];
	const take = (offer: Offer | undefined) => {
		if (!words || !offer) return;
		offer.run(words);
		setOpen(false);
		if (offer !== FIND) setWords('');
		input.current?.blur();
	};
	const typed = (text: string) => {
		setWords(text);
		setOpen(text !== '');
		setChosen(0);
		if (flame) go({ view: { find: text } }, true);
	};
	const key = (event: KeyboardEvent) => {
		event.stopPropagation();
		if (event.key === 'Enter') take(offers[chosen]);
		else if (event.key === 'Escape') {
			if (open) setOpen(false);
			else typed('');
			input.current?.blur();
		} else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
			event.preventDefault();
			const step = event.key === 'ArrowDown' ? 1 : -1;
			setChosen((chosen + step + offers.length) % offers.length);
		}
	};
	return (
		<div class="search" role="search">
			<input
				ref={input}
				id="search"
				type="text"
				autocomplete="off"
				spellcheck={false}
				placeholder={inFile ? 'Find in the flame graph   /' : 'Search functions, files, libraries   /'}
				aria-label="search or filter"
				role="combobox"
				aria-expanded={open}
				aria-controls="search-offers"
				aria-activedescendant={open ? `offer-${chosen}` : undefined}
				value={words}
				onInput={(event) => typed(event.currentTarget.value)}
				onKeyDown={key}
				onBlur={() => setTimeout(() => setOpen(false), 150)}
			/>
			<div class="offers" id="search-offers" role="listbox" aria-label="what to do with it" hidden={!open}>
				{offers.map((offer, i) => (
					<div
						key={offer.text}
						id={`offer-${i}`}
						role="option"
						aria-selected={i === chosen}
						onPointerDown={(event) => {
							event.preventDefault();
							take(offer);
						}}
					>
						{offer.text.replace('…', words)}
					</div>
				))}
			</div>
		</div>
	);
}
