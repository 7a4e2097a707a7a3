/* What components without state draw, as HTML. */
import { Fragment, type ComponentChildren, type VNode } from 'preact';

const isVoid = (value: unknown) => value === null || value === undefined || typeof value === 'boolean';

export function drawn(node: ComponentChildren): string {
	if (isVoid(node)) return '';
	if (Array.isArray(node)) return node.map(drawn).join('');
	if (typeof node !== 'object') return String(node);
	const { type, props } = node as VNode<Record<string, unknown>>;
	const children = props.children as ComponentChildren;
	if (type === Fragment) return drawn(children);
	if (typeof type === 'function') return drawn((type as (given: object) => ComponentChildren)(props));
	const attributes = Object.entries(props)
		.filter(([name, value]) => name !== 'children' && !isVoid(value) && typeof value !== 'function' && typeof value !== 'object')
		.map(([name, value]) => ` ${name}="${value}"`);
	return `<${type}${attributes.join('')}>${drawn(children)}</${type}>`.replace(/\u00a0/g, ' ');
}

/** The text of each cell, row by row. */
export const cells = (node: ComponentChildren): string[][] =>
	[...drawn(node).matchAll(/<tr.*?<\/tr>/g)].map(([row]) => [...row.matchAll(/<t[hd].*?<\/t[hd]>/g)].map(([cell]) => cell.replace(/<[^>]*>/g, '').trim()));
