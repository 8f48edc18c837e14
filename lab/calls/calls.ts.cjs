// Calls of a JavaScript or TypeScript folder by the TypeScript compiler: one JSON row for each call, as
// lab/call_edges.py reads them.
//
//   NODE_PATH=… node calls.ts.cjs FOLDER
const ts = require("typescript");
const path = require("path");
const fs = require("fs");

const root = path.resolve(process.argv[2]);
const files = [];
(function list(folder) {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const full = path.join(folder, entry.name);
    if (entry.isDirectory()) {
      if (entry.name !== "node_modules" && !entry.name.startsWith(".")) list(full);
    } else if (/\.(js|cjs|mjs|jsx|ts|tsx|mts|cts)$/.test(entry.name)) files.push(full);
  }
})(root);
const program = ts.createProgram(files, {
  allowJs: true, checkJs: true, noEmit: true, target: ts.ScriptTarget.ES2022, strict: true,
  module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler, allowImportingTsExtensions: true,
  jsx: ts.JsxEmit.Preserve, skipLibCheck: true,
});
const checker = program.getTypeChecker();
const at = (node) => {
  const file = node.getSourceFile();
  return [path.relative(root, file.fileName), file.getLineAndCharacterOfPosition(node.getStart()).line + 1];
};
const write = (row) => process.stdout.write(JSON.stringify(row) + "\n");
for (const name of files) {
  const file = program.getSourceFile(name);
  if (!file) continue;
  write({ path: path.relative(root, name), line: 0, name: "", callee_path: "", callee_line: 0 });
  (function visit(node) {
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      const callee = ts.isPropertyAccessExpression(node.expression) ? node.expression.name : node.expression;
      const row = { path: at(node)[0], line: at(callee)[1], name: callee.getText().slice(0, 60), callee_path: "", callee_line: 0 };
      let symbol = checker.getSymbolAtLocation(callee);
      if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol);
      const signature = checker.getResolvedSignature(node);
      let declaration = signature && signature.declaration;
      // The symbol's own declaration where it is a function; a type's call signature says nothing of where it is.
      const own = symbol && symbol.valueDeclaration;
      if (own && symbol.declarations.length >= 1) declaration = own;
      if (declaration) {
        const [where, line] = at(declaration);
        const local = ts.isParameter(declaration);
        row.callee_path = where.startsWith("..") || where.includes("node_modules") || local ? "outside" : where;
        row.callee_line = line;
      }
      write(row);
    }
    ts.forEachChild(node, visit);
  })(file);
}
