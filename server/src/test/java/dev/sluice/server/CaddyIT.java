package dev.sluice.server;

import dev.sluice.testing.Needs;
import java.nio.file.Files;
import java.util.List;

/** Caddy with {@code reverse_proxy} and {@code handle_response}. */
@Needs("caddy")
class CaddyIT extends ProxyContract {
  @Override
  String one() {
    return "Caddyfile";
  }

  @Override
  String several() {
    return "Caddyfile.several";
  }

  @Override
  List<String> command(String file, Edit edit) throws Exception {
    String site = edit.of(Docs.named("proxies.md", "caddyfile", file));
    Files.writeString(directory.resolve("Caddyfile"), site);
    return List.of("caddy", "run", "--config", "Caddyfile", "--adapter", "caddyfile");
  }

  @Override
  Edit open() {
    return text -> text.replace("# reverse_proxy 127", "reverse_proxy 127");
  }
}
