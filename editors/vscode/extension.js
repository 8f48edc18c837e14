// Treeline in VS Code: a question box and a tree of results, over the language server `treeline lsp`.
"use strict";

const vscode = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");
const { RELATIONS, ask, askRelated } = require("./questions");

const ICONS = { method: "symbol-method", class: "symbol-class", interface: "symbol-interface", type: "symbol-struct",
  enum: "symbol-enum", constant: "symbol-constant", file: "symbol-file", section: "symbol-string", config: "symbol-key" };

/** The last answer as a tree: units, and below each the lines that match. */
class Results {
  constructor() {
    this.items = [];
    this.changes = new vscode.EventEmitter();
    this.onDidChangeTreeData = this.changes.event;
    this.view = vscode.window.createTreeView("treeline.results", { treeDataProvider: this, showCollapseAll: true });
  }

  async show({ title, message, items }) {
    this.items = items;
    this.view.description = title;
    this.view.message = message || (items.length ? undefined : "Nothing found");
    this.changes.fire();
    await vscode.commands.executeCommand("treeline.results.focus");
  }

  getChildren(item) {
    return item ? item.children : this.items;
  }

  getTreeItem(item) {
    const { Collapsed, Expanded, None } = vscode.TreeItemCollapsibleState;
    const state = item.children.length ? (this.items.length > 5 ? Collapsed : Expanded) : None;
    const node = new vscode.TreeItem({ label: item.label, highlights: item.highlights }, state);
    node.description = item.description;
    node.tooltip = item.description ? `${item.label}\n${item.description}` : item.label;
    if (item.kind) {
      node.iconPath = new vscode.ThemeIcon(ICONS[item.kind] ?? "symbol-function");
      node.contextValue = "treeline.unit";
    }
    const at = new vscode.Position(item.line, item.column);
    const options = { selection: new vscode.Range(at, at), preview: true };
    node.command = { command: "vscode.open", title: "Open", arguments: [vscode.Uri.parse(item.uri), options] };
    return node;
  }
}

/** The unit of a tree item, or at the cursor. */
function place(item) {
  if (item?.uri && item.line !== undefined) return [item.uri, item.line];
  const editor = vscode.window.activeTextEditor;
  return editor ? [editor.document.uri.toString(), editor.selection.active.line] : undefined;
}

let client;

async function activate(context) {
  const results = new Results();
  const send = async (method, parameters) => {
    if (!client.isRunning()) await client.start();
    return client.sendRequest(method, parameters);
  };
  const show = async (title, question) => {
    try {
      const options = { location: { viewId: "treeline.results" }, title };
      await results.show(await vscode.window.withProgress(options, () => question));
    } catch (error) {
      vscode.window.showErrorMessage(`Treeline: ${error.message}`);
    }
  };
  const showRelated = (relation, uri, line) => show(RELATIONS[relation], askRelated(send, relation, uri, line));

  const command = vscode.workspace.getConfiguration("treeline").get("command");
  client = new LanguageClient("treeline", "Treeline", { command, args: ["lsp"], transport: TransportKind.stdio }, {
    documentSelector: [{ scheme: "file" }],
    // The lens "3 callers" and the code actions show their answer in the tree.
    middleware: {
      executeCommand: (name, args, next) => (name === "treeline.show" ? showRelated(...args) : next(name, args)),
    },
  });

  const commands = {
    "treeline.ask": async (query) => {
      const prompt = 'What the code does; or a name, what calls NAME, "exact text", /regex/';
      const text = query ?? (await vscode.window.showInputBox({ prompt, placeHolder: "retry with exponential backoff" }));
      if (text?.trim()) await show(text, ask(send, text));
    },
  };
  for (const relation of Object.keys(RELATIONS)) {
    commands[`treeline.find${relation[0].toUpperCase()}${relation.slice(1)}`] = async (item) => {
      const where = place(item);
      if (where) await showRelated(relation, ...where);
    };
  }
  context.subscriptions.push(results.view);
  for (const [name, run] of Object.entries(commands)) {
    context.subscriptions.push(vscode.commands.registerCommand(name, run));
  }
  try {
    await client.start();
  } catch (error) {
    const hint = "the setting treeline.command names the command";
    vscode.window.showErrorMessage(`Treeline cannot start “${command} lsp”: ${error.message} (${hint})`);
  }
}

module.exports = { activate, deactivate: () => client?.stop() };
