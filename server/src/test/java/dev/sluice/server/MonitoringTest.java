package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.sluice.server.Dashboard.Panel;
import java.io.IOException;
import java.nio.file.Files;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The files of docs/monitoring fit together; MonitoringIT runs them. */
class MonitoringTest {
  private static final Pattern ALERT = Pattern.compile("- alert: (\\w+)");

  private static String text(String file) throws IOException {
    return Files.readString(Dashboard.FOLDER.resolve(file));
  }

  private static List<String> alerts() throws IOException {
    return ALERT.matcher(text("alerts.yaml")).results().map(found -> found.group(1)).toList();
  }

  @Test
  void everyAlertHasARunbookATestInWhichItFiresAndAPlaceInTheDocs() throws IOException {
    String tests = text("alerts-test.yaml");
    String page = text("README.md");

    assertThat(alerts()).hasSize(9).doesNotHaveDuplicates();
    assertThat(text("alerts.yaml").split("runbook: >-", -1)).hasSize(10);
    for (String alert : alerts()) {
      assertThat(tests).contains("alertname=\"" + alert + "\", alertstate=\"firing\"");
      assertThat(page).contains("`" + alert + "`");
    }
  }

  @Test
  void everyPanelHasItsOwnPlaceAndIdAndTheChosenDataSource() throws IOException {
    Dashboard dashboard = Dashboard.read();
    Set<Integer> ids = new HashSet<>();
    Set<String> taken = new HashSet<>();
    for (JsonNode panel : dashboard.json().path("panels")) {
      assertThat(ids.add(panel.path("id").asInt())).describedAs("%s", panel).isTrue();
      for (JsonNode target : panel.path("targets")) {
        assertThat(target.path("datasource").path("uid").asText()).isEqualTo("${datasource}");
      }
    }
    for (Panel panel : dashboard.panels()) {
      for (int x = panel.x(); x < panel.x() + panel.width(); x++) {
        for (int y = panel.y(); y < panel.y() + panel.height(); y++) {
          assertThat(x).isLessThan(24);
          assertThat(taken.add(x + "," + y)).describedAs(panel.title()).isTrue();
        }
      }
    }
  }

  @Test
  void everyQueryFollowsTheChosenServicesAndNamesItsVariables() throws IOException {
    Set<String> variables = new HashSet<>();
    for (JsonNode each : Dashboard.read().json().path("templating").path("list")) {
      variables.add(each.path("name").asText());
    }

    assertThat(variables).containsExactlyInAnyOrder("datasource", "job", "instance", "rule");
    for (Panel panel : Dashboard.read().panels()) {
      for (Dashboard.Target target : panel.targets()) {
        assertThat(target.expr()).contains("job=~\"$job\", instance=~\"$instance\"");
        assertThat(Dashboard.filled(target.expr(), "1m")).doesNotContain("$");
      }
    }
  }
}
