/* Questions to the server, without one. */
import './browser';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { edition, fetchAnswer, renewAnswers, underWay } from '../src/api/answer';
import { ApiError, get, takeToken, target } from '../src/api/client';
import { lastAnswer, retryDelay, unreachedSince } from '../src/api/reach';

const answers = (...given: (() => Response | Promise<Response>)[]) => {
	const fetch = vi.fn(async (_at: string, _init?: RequestInit) => given.shift()!());
	vi.stubGlobal('fetch', fetch);
	return fetch;
};
const json = (value: unknown) => () => new Response(JSON.stringify(value));

afterEach(() => vi.unstubAllGlobals());

test('a target leaves out what is not asked', () => {
	expect(target('/x')).toBe('/x');
	expect(target('/x', { a: 'b c&d', n: 0, left: undefined, empty: '' })).toBe('/x?a=b%20c%26d&n=0');
});

test('what goes wrong is a line of text, with the status; 0: nobody answered', async () => {
	answers(() => new Response('no such id\n', { status: 404 }), () => new Response('', { status: 500 }), () => new Response('{"half"'), () => Promise.reject(new TypeError('refused')), json(1));
	const said = () => get('/x').then(String, (error: ApiError) => `${error.status} ${error.message}`);
	expect(await said()).toBe('404 no such id');
	expect(await said()).toBe('500 the server answered with status 500');
	expect(await said()).toBe('0 the answer broke off');
	expect([unreachedSince.value, await said()]).toEqual([null, '0 the server was not reached']);
	expect(unreachedSince.value).not.toBeNull();
	expect(await said()).toBe('1');
	expect([unreachedSince.value, typeof lastAnswer.value]).toEqual([null, 'number']);
	expect([0, 1, 2, 3, 9].map(retryDelay)).toEqual([1000, 2000, 5000, 10000, 10000]);
});

describe('answers', () => {
	test('are fetched once for all that ask at a time, and kept', async () => {
		const fetch = answers(json('first'), json('second'));
		const both = [fetchAnswer('/once'), fetchAnswer('/once')];
		expect(underWay.value).toBe(1);
		expect(await Promise.all(both)).toEqual(['first', 'first']);
		expect([await fetchAnswer('/once'), underWay.value, fetch.mock.calls.length]).toEqual(['first', 0, 1]);
		renewAnswers();
		expect([await fetchAnswer('/once'), fetch.mock.calls.length]).toEqual(['second', 2]);
	});
	test('that were asked for before the recording grew are not kept', async () => {
		let send: (response: Response) => void = () => undefined;
		answers(() => new Promise((resolve) => (send = resolve)), json('new'));
		const old = fetchAnswer('/grows');
		const before = edition.value;
		renewAnswers();
		send(new Response('"old"'));
		expect([await old, edition.value]).toEqual(['old', before + 1]);
		expect(await fetchAnswer('/grows')).toBe('new');
	});
	test('of which the oldest are forgotten', async () => {
		const fetch = answers(...Array.from({ length: 60 }, (_, i) => json(i)));
		for (let i = 0; i < 50; i++) await fetchAnswer(`/many/${i}`);
		await fetchAnswer('/many/49');
		expect(fetch).toHaveBeenCalledTimes(50);
		await fetchAnswer('/many/0');
		expect(fetch).toHaveBeenCalledTimes(51);
	});
	test('that failed are asked for again', async () => {
		answers(() => new Response('busy', { status: 503 }), json('here'));
		await expect(fetchAnswer('/busy')).rejects.toThrow('busy');
		expect([await fetchAnswer('/busy'), underWay.value]).toEqual(['here', 0]);
	});
});

test('a token of the address is kept for the tab and sent, and the address has it no more', async () => {
	const kept = new Map<string, string>();
	vi.stubGlobal('sessionStorage', { setItem: (name: string, text: string) => kept.set(name, text) });
	const fetch = answers(() => new Response(''), json(1));
	location.hash = '#/flame?metric=calls&token=a%26b';
	await takeToken();
	await get('/x');
	expect(location.hash).toBe('/#/flame?metric=calls');
	expect([...kept.values()]).toEqual(['a&b']);
	expect(fetch.mock.calls.map(([at, init]) => [at, (init!.headers as Record<string, string>).Authorization])).toEqual([['/session', 'Bearer a&b'], ['/x', 'Bearer a&b']]);
});
