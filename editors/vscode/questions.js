// The questions to `treeline lsp`, and its answers as items of a tree; nothing here needs VS Code.
"use strict";

const RELATIONS = { callers: "Callers", callees: "What it calls", similar: "Similar" };

/** Ask a question in words, for a name, `what calls NAME`, "exact text", /regex/. */
async function ask(send, query) {
  return answer(query, await send("treeline/search", { query }));
}

/** Ask for the callers, callees or similar functions of what is at a line, from 0, of a document. */
async function askRelated(send, relation, uri, line) {
  return answer(RELATIONS[relation], await send("treeline/related", { relation, uri, line }));
}

function answer(title, { notices, total, results }) {
  const more = total > results.length ? [`The best ${results.length} of ${total.toLocaleString("en")}`] : [];
  return { title, message: [...notices, ...more].join("\n"), items: results.map(unit) };
}

/** A unit, whose children are the lines that match. */
function unit({ name, kind, note, uri, path, line, column, lines }) {
  const description = [`${path}:${line + 1}`, note].filter(Boolean).join("  ");
  return { label: name, description, kind, uri, line, column, children: lines.map((one) => row(uri, one)) };
}

function row(uri, { line, text, matches }) {
  const indent = text.length - text.trimStart().length;
  const before = `${line + 1}: `;
  const highlights = matches.map(([begin, end]) => [begin, end].map((at) => Math.max(at - indent, 0) + before.length));
  const column = matches.length ? matches[0][0] : indent;
  return { label: before + text.trim(), highlights, uri, line, column, children: [] };
}

module.exports = { RELATIONS, ask, askRelated };
