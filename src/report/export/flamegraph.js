// Zoom, search, tooltip and keyboard of a flame graph. Its state stands in the address:
// #zoom=FRAME&search=REGEX&flip=1, so that a view can be bookmarked and sent.
(function () {
"use strict";
const XHTML = "http://www.w3.org/1999/xhtml", SVG = "http://www.w3.org/2000/svg";
const root = document.documentElement;
const ROW = +root.dataset.row, HEAD = +root.dataset.head, ROWS = +root.dataset.rows;
const CHARACTER = 7.3; // pixels of a monospaced character at 12px
const TOOLS = 26; // height of the row of tools

// Boxes as they stand in the file: parents before children, siblings from left to right.
const boxes = Array.from(document.querySelectorAll("svg.f"), (element, id) => {
	const [label, ...facts] = element.querySelector("title").textContent.split("\n");
	return {
		id, element, label, facts,
		start: +element.dataset.s, value: +element.dataset.v,
		row: (+element.getAttribute("y") - HEAD) / ROW,
		text: element.querySelector("text"), shown: true,
	};
});
if (!boxes.length || !boxes[0].value)
	return;
const byElement = new Map(boxes.map(box => [box.element, box]));
const state = { zoom: 0, search: "", flip: false };
let chosen = null;

function create(namespace, name, attributes, parent) {
	const element = document.createElementNS(namespace, name);
	for (const key in attributes)
		element.setAttribute(key, attributes[key]);
	return (parent || root).appendChild(element);
}

// --- tools and tooltip: made here, so that the bare picture has no dead buttons ---
const place = create(SVG, "foreignObject", { x: "0", y: "44", width: "100%", height: TOOLS });
const tools = create(XHTML, "div", { id: "tools" }, place);
tools.style.cssText = "display:flex;align-items:center;padding:0 8px;gap:2px";
const said = create(XHTML, "span", { id: "said", "aria-live": "polite" }, tools);
said.style.cssText = "flex:1;text-align:left;padding-left:2px;white-space:nowrap;overflow:hidden";
const field = create(XHTML, "input", { id: "search", type: "search", spellcheck: "false",
	placeholder: "search (regular expression)", "aria-label": "search" }, tools);
const flipper = create(XHTML, "button", { id: "flip", title: "outermost frames below (f)" }, tools);
flipper.textContent = "flip";
const resetter = create(XHTML, "button", { id: "reset", title: "whole graph (Esc)" }, tools);
resetter.textContent = "reset";
const tipPlace = create(SVG, "foreignObject", { x: "0", y: "0", width: "560", height: "400" });
tipPlace.style.pointerEvents = "none";
const tip = create(XHTML, "div", { id: "tip" }, tipPlace);
tip.style.visibility = "hidden";
// Ours replaces the browser's slow one; without a script the titles are still there.
for (const box of boxes) {
	const title = box.element.querySelector("title");
	box.element.setAttribute("aria-label", title.textContent);
	title.remove();
}

// --- drawing ---
function percent(part, whole) {
	const p = 100 * part / whole;
	return part && p < 0.05 ? "<0.1 %" : p.toFixed(p >= 99.95 ? 0 : 1) + " %";
}

function amount(value) {
	if (root.dataset.unit !== "B")
		return value.toLocaleString("en") + " " + root.dataset.unit;
	let unit = 0;
	while (value >= 999.5 && unit < 6) {
		value /= 1000;
		unit++;
	}
	const digits = unit === 0 ? 0 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
	return value.toFixed(digits) + " " + ["B", "KB", "MB", "GB", "TB", "PB", "EB"][unit];
}

function contains(outer, inner) {
	return outer.row <= inner.row && outer.start <= inner.start &&
	       inner.start + inner.value <= outer.start + outer.value;
}

function draw() {
	const zoom = boxes[state.zoom], width = root.clientWidth || innerWidth || 1200;
	for (const box of boxes) {
		const above = box.row < zoom.row && contains(box, zoom);
		const inside = contains(zoom, box);
		const shown = above || (inside && box.value * width >= zoom.value * 0.1);
		if (shown !== box.shown)
			box.element.style.display = shown ? "" : "none";
		box.shown = shown;
		if (!shown)
			continue;
		const part = above ? 1 : box.value / zoom.value;
		const x = above ? 0 : (box.start - zoom.start) / zoom.value;
		const row = state.flip ? ROWS - 1 - box.row : box.row;
		box.element.setAttribute("x", 100 * x + "%");
		box.element.setAttribute("width", 100 * part + "%");
		box.element.setAttribute("y", HEAD + row * ROW);
		box.element.classList.toggle("above", above);
		const room = Math.floor((part * width - 5) / CHARACTER);
		const text = room < 3 ? "" : box.label.length <= room ? box.label
			: box.label.slice(0, room - 1) + "\u2026";
		if (box.text.textContent !== text)
			box.text.textContent = text;
	}
	describe();
}

// What is zoomed and what the search found, in words. Nested matches count once.
function describe() {
	const zoom = boxes[state.zoom], words = [];
	if (state.zoom)
		words.push(zoom.label + ": " + amount(zoom.value) + ", " +
			percent(zoom.value, boxes[0].value));
	if (state.search && !field.classList.contains("wrong")) {
		let sum = 0, end = 0, count = 0;
		for (const box of boxes.filter(b => b.match).sort((a, b) =>
			a.start - b.start || b.value - a.value || a.row - b.row)) {
			count++;
			if (box.start < end)
				continue;
			sum += box.value;
			end = box.start + box.value;
		}
		words.push("matched " + percent(sum, boxes[0].value) + " (" + amount(sum) + ", " +
			count + (count === 1 ? " frame)" : " frames)"));
	}
	said.textContent = words.join(" \u00b7 ");
}

// --- state ---
function search(pattern) {
	let regex = null;
	state.search = pattern;
	try {
		regex = pattern ? new RegExp(pattern, /[A-Z]/.test(pattern) ? "" : "i") : null;
		field.classList.remove("wrong");
	} catch (error) {
		field.classList.add("wrong");
	}
	for (const box of boxes) {
		box.match = !!regex && box.row > 0 && regex.test(box.label);
		box.element.classList.toggle("match", box.match);
	}
	document.getElementById("frames").classList.toggle("searching", !!regex);
}

function remember() {
	const words = [];
	if (state.zoom)
		words.push("zoom=" + state.zoom);
	if (state.search)
		words.push("search=" + encodeURIComponent(state.search));
	if (state.flip)
		words.push("flip=1");
	try {
		history.replaceState(null, "", "#" + words.join("&"));
	} catch (error) {
		// An <object> or a sandbox has no history; the graph works all the same.
	}
}

function recall() {
	const words = new URLSearchParams(location.hash.slice(1).replace(/\+/g, "%2B"));
	const zoom = Number(words.get("zoom"));
	state.zoom = Number.isInteger(zoom) && zoom > 0 && zoom < boxes.length ? zoom : 0;
	state.flip = words.get("flip") === "1";
	field.value = words.get("search") || "";
	search(field.value);
	draw();
}

function change(action) {
	action();
	draw();
	remember();
}

function zoomTo(id) {
	change(() => { state.zoom = id; });
}

function reset() {
	change(() => { state.zoom = 0; field.value = ""; search(""); });
}

// --- pointer ---
function boxOf(event) {
	const element = event.target.closest && event.target.closest("svg.f");
	return element ? byElement.get(element) : null;
}

function showTip(box, x, y) {
	tip.textContent = [box.label, ...box.facts].join("\n");
	const size = tip.getBoundingClientRect();
	tipPlace.setAttribute("x", Math.max(0, Math.min(x + 14, root.clientWidth - size.width - 8)));
	const bottom = scrollY + innerHeight;
	tipPlace.setAttribute("y", y + 18 + size.height > bottom ? Math.max(0, y - size.height - 10)
		: y + 18);
	tip.style.visibility = "visible";
}

const frames = document.getElementById("frames");
frames.addEventListener("click", event => {
	const box = boxOf(event);
	if (box)
		zoomTo(box.id);
});
frames.addEventListener("mousemove", event => {
	const box = boxOf(event);
	if (box)
		showTip(box, event.pageX, event.pageY);
});
frames.addEventListener("mouseleave", () => { tip.style.visibility = "hidden"; });
field.addEventListener("input", () => change(() => search(field.value)));
resetter.addEventListener("click", reset);
flipper.addEventListener("click", () => change(() => { state.flip = !state.flip; }));

// --- keyboard: arrows walk from frame to frame, Enter zooms ---
function choose(box) {
	if (!box)
		return;
	if (chosen)
		chosen.element.classList.remove("chosen");
	chosen = box;
	box.element.classList.add("chosen");
	box.element.scrollIntoView({ block: "nearest" });
	const at = box.element.getBoundingClientRect();
	showTip(box, scrollX + Math.max(0, at.left), scrollY + at.top);
}

function neighbour(key) {
	const at = chosen && chosen.shown ? chosen : boxes[state.zoom];
	const seen = boxes.filter(box => box.shown);
	const inward = state.flip ? "ArrowUp" : "ArrowDown";
	if (!chosen)
		return at;
	if (key === "ArrowUp" || key === "ArrowDown")
		return key === inward ? seen.find(b => b.row === at.row + 1 && contains(at, b))
			: seen.find(b => b.row === at.row - 1 && contains(b, at));
	const row = seen.filter(b => b.row === at.row).sort((a, b) => a.start - b.start);
	return row[row.indexOf(at) + (key === "ArrowRight" ? 1 : -1)];
}

addEventListener("keydown", event => {
	const typing = event.target === field;
	if ((event.key === "f" && (event.ctrlKey || event.metaKey)) || (event.key === "/" && !typing)) {
		event.preventDefault();
		field.focus();
		field.select();
	} else if (event.key === "Escape") {
		field.blur();
		tip.style.visibility = "hidden";
		reset();
	} else if (typing || event.ctrlKey || event.metaKey || event.altKey) {
		return;
	} else if (event.key.startsWith("Arrow")) {
		event.preventDefault();
		choose(neighbour(event.key));
	} else if (event.key === "Enter" && chosen) {
		zoomTo(chosen.id);
	} else if (event.key === "Backspace" && state.zoom) {
		zoomTo(boxes.indexOf(boxes.find(b => b.row === boxes[state.zoom].row - 1 &&
			contains(b, boxes[state.zoom]))));
	} else if (event.key === "f") {
		change(() => { state.flip = !state.flip; });
	}
});
addEventListener("resize", draw);
addEventListener("hashchange", recall);
recall();
})();
