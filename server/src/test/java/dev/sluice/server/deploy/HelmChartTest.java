package dev.sluice.server.deploy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.marcnuri.helm.Helm;
import com.marcnuri.helm.LintResult;
import com.marcnuri.helm.TemplateCommand;
import dev.sluice.rules.RuleFiles;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

/** The Helm chart, linted and rendered by Helm itself. */
class HelmChartTest {
  private final Path chart = Archive.root().resolve("deploy/helm/sluice");

  /** The rendered manifests, by kind. */
  private Map<String, Map<String, Object>> rendered(String... values) {
    TemplateCommand template = new Helm(chart).template().withName("shop");
    for (String value : values) {
      int equals = value.indexOf('=');
      template.set(value.substring(0, equals), value.substring(equals + 1));
    }
    Map<String, Map<String, Object>> manifests = new LinkedHashMap<>();
    Load yaml = new Load(LoadSettings.builder().build());
    for (Object each : yaml.loadAllFromString(template.call())) {
      if (each != null) {
        Map<String, Object> manifest = map(each);
        assertThat(manifests.put(String.valueOf(manifest.get("kind")), manifest)).isNull();
      }
    }
    return manifests;
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> map(Object value) {
    return (Map<String, Object>) value;
  }

  /** What is at a path of keys; a number is an index. */
  private static Object at(Object value, String path) {
    Object found = value;
    for (String key : path.split("/", -1)) {
      found = found instanceof List<?> list ? list.get(Integer.parseInt(key)) : map(found).get(key);
    }
    return found;
  }

  private static List<String> strings(Object list) {
    List<String> strings = new ArrayList<>();
    ((List<?>) list).forEach(each -> strings.add(String.valueOf(each)));
    return strings;
  }

  @Test
  void lintFindsNothing() {
    LintResult result = new Helm(chart).lint().strict().call();

    assertThat(result.isFailed()).as("%s", result.getMessages()).isFalse();
  }

  @Test
  void byDefaultThereAreADeploymentAServiceAndTheRules() {
    Map<String, Map<String, Object>> manifests = rendered();

    assertThat(manifests).containsOnlyKeys("ConfigMap", "Service", "Deployment");
    String rules = String.valueOf(at(manifests.get("ConfigMap"), "data/rules.yaml"));
    assertThat(RuleFiles.parse("rules.yaml", rules).all()).hasSize(1);
    assertThat(at(manifests.get("Service"), "spec/ports/0/targetPort")).isEqualTo("http");
    assertThat(at(manifests.get("Service"), "spec/selector"))
        .isEqualTo(at(manifests.get("Deployment"), "spec/selector/matchLabels"));
  }

  @Test
  void podsRunWithoutRightsAndAreProbed() {
    Object pod = at(rendered().get("Deployment"), "spec/template/spec");
    Object container = at(pod, "containers/0");

    assertThat(at(pod, "securityContext/runAsNonRoot")).isEqualTo(true);
    assertThat(at(pod, "automountServiceAccountToken")).isEqualTo(false);
    assertThat(at(container, "securityContext/readOnlyRootFilesystem")).isEqualTo(true);
    assertThat(at(container, "securityContext/allowPrivilegeEscalation")).isEqualTo(false);
    assertThat(at(container, "securityContext/capabilities/drop")).isEqualTo(List.of("ALL"));
    assertThat(at(container, "livenessProbe/httpGet/path")).isEqualTo("/health/live");
    assertThat(at(container, "readinessProbe/httpGet/path")).isEqualTo("/health/ready");
    assertThat(at(container, "volumeMounts/0/mountPath")).isEqualTo("/etc/sluice");
    assertThat(at(pod, "volumes/0/configMap/name")).isEqualTo("shop-sluice");
  }

  @Test
  void thePodIsNotKilledBeforeItHasDrained() {
    Object pod =
        at(rendered("drainDelay=20", "drainTimeout=7").get("Deployment"), "spec/template/spec");

    assertThat(strings(at(pod, "containers/0/args")))
        .contains("--drain-delay=20s", "--drain-timeout=7s", "--nodes=2");
    assertThat(at(pod, "terminationGracePeriodSeconds")).isEqualTo(32);
  }

  @Test
  void theAdminTokenIsInASecretOnly() {
    Map<String, Map<String, Object>> manifests = rendered("adminToken.value=0123456789abcdef");

    assertThat(at(manifests.get("Secret"), "stringData/admin-token")).isEqualTo("0123456789abcdef");
    assertThat(manifests.get("Deployment").toString())
        .doesNotContain("0123456789abcdef")
        .contains("secretKeyRef={name=shop-sluice, key=admin-token}");
    assertThat(rendered("adminToken.existingSecret=mine", "storeSecret.name=redis").toString())
        .contains("name=mine, key=admin-token", "name=redis, key=store")
        .doesNotContain("kind=Secret");
    assertThatThrownBy(() -> rendered("adminToken.value=short"))
        .hasMessageContaining("expected: 16 characters or more");
  }

  @Test
  void whatIsOptionalCanBeSwitchedOn() {
    Map<String, Map<String, Object>> manifests =
        rendered(
            "podDisruptionBudget.enabled=true",
            "autoscaling.enabled=true",
            "serviceMonitor.enabled=true",
            "networkPolicy.enabled=true");

    assertThat(manifests)
        .containsOnlyKeys(
            "ConfigMap",
            "Service",
            "Deployment",
            "PodDisruptionBudget",
            "HorizontalPodAutoscaler",
            "ServiceMonitor",
            "NetworkPolicy");
    assertThat(map(at(manifests.get("Deployment"), "spec"))).doesNotContainKey("replicas");
    assertThat(at(manifests.get("HorizontalPodAutoscaler"), "spec/scaleTargetRef/name"))
        .isEqualTo("shop-sluice");
    assertThat(at(manifests.get("ServiceMonitor"), "spec/endpoints/0/path")).isEqualTo("/metrics");
    assertThat(at(manifests.get("NetworkPolicy"), "spec/ingress/0/ports/0/port")).isEqualTo("http");
    assertThat(at(manifests.get("PodDisruptionBudget"), "spec/maxUnavailable")).isEqualTo(1);
  }
}
