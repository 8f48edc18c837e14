// Calls of a folder of Java by the compiler: one JSON row for each call, as lab/call_edges.py reads them.
//
//   java Calls.java FOLDER [CLASSPATH]
import com.sun.source.tree.*;
import com.sun.source.util.*;
import java.io.File;
import java.nio.file.*;
import java.util.*;
import javax.lang.model.element.*;
import javax.tools.*;

public class Calls {
    static Path root;

    static void write(String path, long line, String name, String calleePath, long calleeLine) {
        System.out.printf("{\"path\":\"%s\",\"line\":%d,\"name\":\"%s\",\"callee_path\":\"%s\",\"callee_line\":%d}%n",
                path, line, name, calleePath, calleeLine);
    }

    public static void main(String[] given) throws Exception {
        root = Path.of(given[0]).toRealPath();
        List<File> files = new ArrayList<>();
        try (var all = Files.walk(root)) {
            all.filter(one -> one.toString().endsWith(".java") && !one.endsWith("module-info.java"))
               .forEach(one -> files.add(one.toFile()));
        }
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, null);
        List<String> options = new ArrayList<>(List.of("-proc:none", "-Xmaxerrs", "1"));
        if (given.length > 1) options.addAll(List.of("-cp", given[1]));
        JavacTask task = (JavacTask) compiler.getTask(null, manager, problem -> {}, options, null,
                manager.getJavaFileObjectsFromFiles(files));
        Iterable<? extends CompilationUnitTree> units = task.parse();
        task.analyze();
        Trees trees = Trees.instance(task);
        for (CompilationUnitTree unit : units) {
            String path = root.relativize(Path.of(unit.getSourceFile().toUri())).toString();
            write(path, 0, "", "", 0);
            new TreePathScanner<Void, Void>() {
                void call(Tree node, Tree named, String name, Element callee) {
                    long line = unit.getLineMap().getLineNumber(trees.getSourcePositions().getEndPosition(unit, named));
                    String where = "";
                    long at = 0;
                    if (callee instanceof ExecutableElement && callee.getEnclosingElement() != null) {
                        where = "outside";
                        TreePath found = trees.getPath(callee);
                        if (found == null) found = trees.getPath(callee.getEnclosingElement());
                        if (found != null) {
                            CompilationUnitTree other = found.getCompilationUnit();
                            where = root.relativize(Path.of(other.getSourceFile().toUri())).toString();
                            at = other.getLineMap().getLineNumber(
                                    trees.getSourcePositions().getStartPosition(other, found.getLeaf()));
                        }
                    }
                    write(path, line, name, where, at);
                }

                @Override public Void visitMethodInvocation(MethodInvocationTree node, Void none) {
                    Tree select = node.getMethodSelect();
                    String name = select instanceof MemberSelectTree m ? m.getIdentifier().toString() : select.toString();
                    call(node, select, name, trees.getElement(new TreePath(getCurrentPath(), select)));
                    return super.visitMethodInvocation(node, none);
                }

                @Override public Void visitNewClass(NewClassTree node, Void none) {
                    String name = node.getIdentifier().toString().replaceAll("<.*>|^.*\\.", "");
                    Element callee = trees.getElement(getCurrentPath());
                    if (node.getClassBody() != null)  // an anonymous class: what it extends is created
                        callee = trees.getElement(new TreePath(getCurrentPath(), node.getIdentifier()));
                    call(node, node.getIdentifier(), name, callee instanceof TypeElement t
                            ? t.getEnclosedElements().stream().filter(e -> e.getKind() == ElementKind.CONSTRUCTOR)
                                .findFirst().orElse(null) : callee);
                    return super.visitNewClass(node, none);
                }
            }.scan(unit, null);
        }
    }
}
