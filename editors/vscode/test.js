// The client half against the real server: TREELINE names the command, FOLDER the project, whose files the test knows.
"use strict";

const assert = require("node:assert");
const { spawn } = require("node:child_process");
const path = require("node:path");
const { after, before, test } = require("node:test");
const { pathToFileURL } = require("node:url");
const rpc = require("vscode-jsonrpc/node");
const { ask, askRelated } = require("./questions");

const folder = process.env.FOLDER;
const uri = (name) => pathToFileURL(path.join(folder, name)).href;
let server, connection, send;

before(async () => {
  server = spawn(process.env.TREELINE, ["lsp"], { cwd: folder, stdio: ["pipe", "pipe", "inherit"] });
  connection = rpc.createMessageConnection(
    new rpc.StreamMessageReader(server.stdout), new rpc.StreamMessageWriter(server.stdin));
  connection.listen();
  send = (method, parameters) => connection.sendRequest(method, parameters);
  await send("initialize", { processId: process.pid, rootUri: uri(""), capabilities: {},
    workspaceFolders: [{ uri: uri(""), name: "demo" }] });
  await connection.sendNotification("initialized", {});
});

after(async () => {
  await send("shutdown");
  const end = new Promise((resolve) => server.on("exit", resolve));
  await connection.sendNotification("exit");
  assert.strictEqual(await end, 0);
});

const shape = ({ items }) => items.map(({ label, description, children }) =>
  [label, description, ...children.map((line) => [line.label, ...line.highlights.map(([a, b]) => line.label.slice(a, b))])]);

test("a question in words opens at the name", async () => {
  const { title, items } = await ask(send, "send a receipt by mail");
  assert.strictEqual(title, "send a receipt by mail");
  const [{ label, line, column }] = items.filter((one) => one.kind === "function");
  assert.deepStrictEqual([label, line, column], ["send_receipt", 0, 4]);
  assert.strictEqual(items[0].uri, uri("shop/mail.py"));
});

test("who calls a function is said, with the lines of the calls", async () => {
  const answer = await ask(send, "what calls send_receipt");
  assert.match(answer.message, /^2 functions are known to call the send_receipt/);
  assert.deepStrictEqual(shape(answer).find(([label]) => label === "Cart.pay"),
    ["Cart.pay", "shop/cart.py:5  calls", ["7: return send_receipt(to)", "send_receipt("]]);
});

test("callers, callees and similar functions of a place", async () => {
  const callers = await askRelated(send, "callers", uri("shop/mail.py"), 1);
  assert.deepStrictEqual(shape(callers).map(([label]) => label).sort(), ["Cart.pay", "refund"]);
  assert.strictEqual((await askRelated(send, "callees", uri("shop/cart.py"), 9)).items[0].label, "send_receipt");
  assert.ok((await askRelated(send, "similar", uri("shop/cart.py"), 9)).items.length > 0);
  assert.strictEqual((await askRelated(send, "callers", uri("shop/cart.py"), 9)).message, "no callers known");
});

test("what is not there is said", async () => {
  const { message, items } = await ask(send, '"nowhere to be seen"');
  assert.ok(message.length > 0 && items.length === 0);
});
