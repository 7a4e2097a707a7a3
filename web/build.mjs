// Bundles the page: node build.mjs OUTPUT-FOLDER [DEPFILE]. The folder then has index.html, app.js,
// app.css, file.js, flame_worker.js and file_questions.txt, which the tool embeds. DEPFILE lists what they were made of.
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import './generate.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const output = resolve(process.argv[2] ?? join(here, 'dist'));
const depfile = process.argv[3];

mkdirSync(output, { recursive: true });
const { metafile } = await build({
	absWorkingDir: here,
	entryPoints: { app: 'src/main.tsx', file: 'src/file/main.ts', flame_worker: 'src/charts/flame/worker.ts' },
	outdir: output,
	bundle: true,
	minify: true,
	format: 'iife',
	target: 'es2022',
	jsx: 'automatic',
	jsxImportSource: 'preact',
	legalComments: 'none',
	metafile: true,
	logLevel: 'warning',
});
const COPIED = { 'index.html': 'src/index.html', 'file_questions.txt': 'src/file/questions.txt' };
for (const [name, from] of Object.entries(COPIED)) copyFileSync(join(here, from), join(output, name));
if (depfile) {
	const made = [...Object.keys(COPIED), 'app.js', 'file.js', 'app.css', 'flame_worker.js'].map((name) => join(output, name));
	const inputs = [...Object.values(COPIED), 'build.mjs', 'generate.mjs', 'package-lock.json',
		'../src/server/routes/answer.def', '../src/analysis/filter/filter.def', '../src/report/export/exporters.def', ...Object.keys(metafile.inputs)]
		.filter((name) => !name.startsWith('node_modules/'))
		.map((name) => resolve(here, name).replace(/ /g, '\\ '));
	writeFileSync(depfile, `${made[0]}: ${inputs.join(' ')}\n`);
}
