package dev.sluice.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import javax.tools.ToolProvider;

/** Java sources that a test compiles and loads, such as the code of a {@link Page}. */
public final class JavaSources {
  private final Path folder;
  private final List<String> files = new ArrayList<>();

  private JavaSources(Path folder) {
    this.folder = folder;
  }

  /** Sources and classes in a folder. */
  public static JavaSources in(Path folder) {
    return new JavaSources(folder);
  }

  /** Adds a class by its full name; the line with its package is written here. */
  public JavaSources add(String name, String code) throws IOException {
    Path file = folder.resolve(name.replace('.', '/') + ".java");
    Files.createDirectories(file.getParent());
    int dot = name.lastIndexOf('.');
    Files.writeString(file, dot < 0 ? code : "package " + name.substring(0, dot) + ";\n" + code);
    files.add(file.toString());
    return this;
  }

  /** Adds every source below a folder. */
  public JavaSources addAll(Path sources) throws IOException {
    try (Stream<Path> all = Files.walk(sources)) {
      all.map(Path::toString).filter(file -> file.endsWith(".java")).forEach(files::add);
    }
    return this;
  }

  /** Compiles them with the class path of the tests. */
  public ClassLoader compile(String... options) throws IOException {
    List<String> arguments = new ArrayList<>(List.of(options));
    arguments.addAll(List.of("-proc:none", "-parameters", "-d", folder.toString(), "-cp"));
    arguments.add(
        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")));
    arguments.addAll(files);
    ByteArrayOutputStream errors = new ByteArrayOutputStream();
    int result =
        ToolProvider.getSystemJavaCompiler()
            .run(null, null, errors, arguments.toArray(new String[0]));
    assertThat(result).describedAs(errors.toString(StandardCharsets.UTF_8)).isZero();
    return new URLClassLoader(
        new URL[] {folder.toUri().toURL()}, JavaSources.class.getClassLoader());
  }

  /** Runs statements as a program, and returns the lines that it printed. */
  public static List<String> run(Path folder, String imports, String statements) throws Exception {
    String program =
        "%s\npublic class Program {\n  public static void main(String[] args) throws Exception {\n%s  }\n}\n"
            .formatted(imports, statements);
    Class<?> main = in(folder).add("Program", program).compile().loadClass("Program");
    PrintStream console = System.out;
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
    try {
      main.getMethod("main", String[].class).invoke(null, (Object) new String[0]);
    } finally {
      System.setOut(console);
    }
    return printed.toString(StandardCharsets.UTF_8).lines().toList();
  }
}
