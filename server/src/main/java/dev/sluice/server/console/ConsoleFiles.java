package dev.sluice.server.console;

import com.linecorp.armeria.common.HttpHeaders;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.ServerBuilder;
import com.linecorp.armeria.server.file.FileService;
import com.linecorp.armeria.server.file.HttpFile;

/** The files of the console: one page, its style and its modules, all from the jar. */
final class ConsoleFiles {
  /** A folder that is no Java package, so that no class file is in it. */
  private static final String FOLDER = "dev/sluice/server/console/pages";

  private static final String CHARTS =
      "META-INF/resources/webjars/chart.js/4.4.9/dist/chart.umd.js";

  /** Nothing from another host, nothing inline, and no page of others around it. */
  private static final String POLICY =
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
          + " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

  private static final HttpHeaders HEADERS =
      HttpHeaders.builder()
          .add("content-security-policy", POLICY)
          .add("referrer-policy", "no-referrer")
          .add("cross-origin-opener-policy", "same-origin")
          .add("cross-origin-resource-policy", "same-origin")
          .add("cache-control", "no-cache")
          .build();

  private ConsoleFiles() {}

  static void serve(ServerBuilder builder) {
    ClassLoader loader = ConsoleFiles.class.getClassLoader();
    builder.route().get("/").build(file(loader, FOLDER + "/index.html"));
    builder.route().get("/console/chart.js").build(file(loader, CHARTS));
    builder
        .route()
        .get("prefix:/console/")
        .build(FileService.builder(loader, FOLDER).addHeaders(HEADERS).build());
  }

  private static HttpService file(ClassLoader loader, String path) {
    return HttpFile.builder(loader, path).addHeaders(HEADERS).build().asService();
  }
}
