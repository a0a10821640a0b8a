package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.testing.Needs;
import java.nio.file.Files;
import java.util.List;
import org.junit.jupiter.api.Test;

/** nginx with {@code auth_request}. */
@Needs("nginx")
class NginxIT extends ProxyContract {
  private static final String EVERYONE = "set $sluice_rule Everyone;";

  private static final String TEMPORARY =
      """
      http {
          access_log off;
          client_body_temp_path body;
          proxy_temp_path proxy;
          fastcgi_temp_path fastcgi;
          uwsgi_temp_path uwsgi;
          scgi_temp_path scgi;
      """;

  @Override
  String one() {
    return "nginx.conf";
  }

  @Override
  String several() {
    return "several.conf";
  }

  @Override
  List<String> command(String file, Edit edit) throws Exception {
    String site = edit.of(Docs.named("proxies.md", "nginx", file));
    Files.writeString(directory.resolve(file), site.replace("http {\n", TEMPORARY));
    String shared = edit.of(Docs.named("proxies.md", "nginx", "sluice.conf"));
    Files.writeString(directory.resolve("sluice.conf"), shared);
    String process = "daemon off; master_process off; pid nginx.pid; error_log stderr;";
    return List.of("nginx", "-p", directory + "/", "-e", "stderr", "-g", process, "-c", file);
  }

  @Override
  Edit open() {
    return text -> text.replace("# error_page 502 504", "error_page 502 504");
  }

  @Test
  void whatAsksSluiceCannotBeReachedFromOutside() throws Exception {
    start(several());

    for (String target :
        List.of("/_sluice", "/%5fsluice", "//_sluice", "/a/../_sluice", "/_sluice?tenant=a")) {
      assertThat(client.get(target).status()).describedAs(target).isEqualTo(404);
    }
    assertThat(application.asked()).isEmpty();
  }

  @Test
  void theErrorLogNamesARuleThatSluiceDoesNotHave() throws Exception {
    start(one(), text -> text.replace("sluice_rule Everyone", "sluice_rule Evryone"));

    client.get("/");

    assertThat(printed()).contains("[error]", "auth request unexpected status: 404");
  }

  @Test
  void aLocationWithoutARuleIsA500() throws Exception {
    start(several(), text -> text.replace(EVERYONE, ""));

    assertThat(client.get("/").status()).isEqualTo(500);
    assertThat(application.asked()).isEmpty();
  }

  @Test
  void aLocationCanBeExempt() throws Exception {
    start(several(), text -> text.replace(EVERYONE, "auth_request off;"));

    for (int i = 0; i < 4; i++) {
      assertThat(client.get("/").status()).isEqualTo(200);
    }
  }

  @Test
  void whatNginxItselfForbidsStaysForbidden() throws Exception {
    start(several(), text -> text.replace(EVERYONE, EVERYONE + " deny all;"));

    assertThat(client.get("/").status()).isEqualTo(403);
    assertThat(application.asked()).isEmpty();
  }
}
