// What the benchmark's node does: maps, JSON, zlib, buffers. One thread computes: zlib is called
// in its synchronous form.
'use strict';
const zlib = require('zlib');
const crypto = require('crypto');

const hash = crypto.createHash('md5');
const counts = new Map();
let bytes = 0;
for (let turn = 0; turn < 800; turn++) {
	const rows = [];
	for (let i = 0; i < 500; i++) {
		const key = 'key' + ((i * 7919 + turn) % 5000);
		counts.set(key, (counts.get(key) || 0) + i);
		rows.push({ key, turn, data: Buffer.alloc(20000, i).length });
	}
	const packed = zlib.deflateSync(JSON.stringify(rows), { level: 1 });
	const back = JSON.parse(zlib.inflateSync(packed));
	bytes += packed.length + back.length;
	hash.update(back[turn % 500].key);
}
for (const [key, count] of [...counts].sort())
	hash.update(key + count);
console.log(counts.size, bytes, hash.digest('hex'));
