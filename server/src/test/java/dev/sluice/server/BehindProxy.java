package dev.sluice.server;

import dev.sluice.http.ClientAddress;
import dev.sluice.memory.MemoryStore;
import dev.sluice.server.http.Settings;
import dev.sluice.store.Store;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/**
 * A client, a real proxy with the configurations of docs/proxies.md, Sluice, and an application.
 * Only the ports, the temporary directories and the timeouts are others: machines that test are
 * slow.
 */
abstract class BehindProxy {
  private static Application protectedOne;
  static Sluice sluice;

  @TempDir Path directory;
  Application application;
  Wire client;
  private Program proxy;
  private int port;

  /** The names of the files on the page: for one rule, and for several. */
  abstract String one();

  abstract String several();

  /** Puts the files of the page into {@link #directory}, each text changed by the edit. */
  abstract List<String> command(String file, Edit edit) throws Exception;

  /** A line of the page that lets requests pass while Sluice is away, and the same in force. */
  abstract Edit open();

  /** Changes the text of a configuration. */
  interface Edit {
    String of(String text);
  }

  @BeforeAll
  static void startServers() throws Exception {
    protectedOne = Application.start();
    sluice = started(MemoryStore.create());
  }

  @AfterAll
  static void stopServers() {
    sluice.close();
    protectedOne.close();
  }

  static Sluice started(Store store) throws Exception {
    Settings settings =
        Settings.builder().client(ClientAddress.trusting(List.of("127.0.0.1"))).build();
    return Sluice.start(settings, Docs.named("proxies.md", "yaml", "rules.yaml"), store);
  }

  @BeforeEach
  void begin() throws Exception {
    application = protectedOne;
    application.asked().clear();
    forgetUsage();
    port = Program.freePort();
    client = new Wire(port);
  }

  /** All clients of these tests have one address. */
  private static void forgetUsage() {
    sluice.send(sluice.admin("DELETE", "/v1/accounts/Everyone?ip=127.0.0.1"));
    sluice.send(sluice.admin("DELETE", "/v1/accounts/Report?tenant=a"));
  }

  @AfterEach
  void stop() throws Exception {
    if (proxy != null) {
      proxy.close();
    }
  }

  void start(String file) throws Exception {
    start(file, text -> text);
  }

  void start(String file, Edit edit) throws Exception {
    startProxy(file, sluice.service().port(), text -> edit.of(patient(text)));
  }

  void startProxy(String file, int gate, Edit edit) throws Exception {
    List<String> command = command(file, text -> edit.of(ported(text, gate)));
    proxy = Program.start(directory, command);
    proxy.awaitPort(port);
  }

  private String ported(String text, int gate) {
    return text.replace("127.0.0.1:8080", "127.0.0.1:" + gate)
        .replace("127.0.0.1:9000", "127.0.0.1:" + application.port())
        .replace("127.0.0.1:8000", "127.0.0.1:" + port);
  }

  static String patient(String text) {
    return text.replace(" 2s", " 50s");
  }

  String printed() throws IOException {
    return proxy.printed();
  }

  /** What is left of 3 for a tenant. */
  static int left(String tenant) {
    String query = URLEncoder.encode(tenant, StandardCharsets.UTF_8);
    return sluice
        .send(sluice.admin("GET", "/v1/accounts/Report?tenant=" + query))
        .json()
        .path("balances")
        .get(0)
        .path("remaining")
        .asInt();
  }
}
