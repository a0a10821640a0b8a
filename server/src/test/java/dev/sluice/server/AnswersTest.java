package dev.sluice.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import dev.sluice.server.health.HealthRoutes;
import dev.sluice.server.http.Settings;
import java.net.http.HttpRequest;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

/** What the service answers has the members that openapi.yaml names, and no others. */
class AnswersTest {
  private static final ObjectNode DOCUMENT = document();
  private static final String RULES =
      """
      facets:
        apiKey: {header: X-Api-Key}
        login: caller
      rules:
        Api: {by: [apiKey], limits: [{token-bucket: {capacity: 10, refill: 1, per: 1h}}]}
        Window: {by: [apiKey], limit: 10 per 1h}
        Gate:
          by: [apiKey]
          limit: 1 per 1h
          overrides: [{when: {apiKey: acme}, limit: 2 per 1h}]
          exempt: [{apiKey: probe}]
        Login: {by: [login], limit: 2 per 1h, lock: 1h, lockOn: limit}
      """;

  private static Sluice sluice;

  @BeforeAll
  static void start() {
    sluice = Sluice.start(Settings.defaults(), RULES);
  }

  @AfterAll
  static void stop() {
    sluice.close();
  }

  @Test
  void decisions() {
    String call = "{\"rule\": \"Window\", \"identity\": {\"apiKey\": \"k1\"}, \"cost\": %s}";
    String taking = call.formatted("6, \"receipt\": true");
    Sluice.Answer allowed = isDescribed("/v1/check", "post", 200, sluice.post("/v1/check", taking));
    String receipt = allowed.json().path("receipt").asText();
    isDescribed("/v1/check", "post", 200, sluice.post("/v1/check", taking));
    isDescribed("/v1/check", "post", 200, sluice.post("/v1/check", call.formatted("100")));
    isDescribed(
        "/v1/check",
        "post",
        200,
        sluice.post("/v1/check", call.formatted("9, \"intent\": \"record\"")));
    isDescribed("/v1/check", "post", 400, sluice.post("/v1/check", "{}"));
    isDescribed(
        "/v1/check", "post", 404, sluice.post("/v1/check", taking.replace("Window", "Wndow")));
    String settlement = "{\"receipt\": \"%s\", \"cost\": 1000}".formatted(receipt);
    JsonNode settled =
        isDescribed("/v1/settle", "post", 200, sluice.post("/v1/settle", settlement)).json();

    assertThat(settled.has("unchargedBy")).isTrue();
    isDescribed("/v1/settle", "post", 400, sluice.post("/v1/settle", "{}"));
  }

  @Test
  void refusalsOfTheGate() {
    HttpRequest.Builder request = sluice.request("GET", "/v1/gate/Gate").header("X-Api-Key", "k1");

    assertThat(sluice.send(request).status()).isEqualTo(200);
    isDescribed("/v1/gate/{rules}", "get", 429, sluice.send(request));
    isDescribed("/v1/gate/{rules}", "get", 400, sluice.get("/v1/gate/Gate"));
    isDescribed("/v1/gate/{rules}", "get", 404, sluice.get("/v1/gate/Gaet"));
  }

  @Test
  void routesOfOperators() {
    String call = "{\"rule\": \"Login\", \"identity\": {\"login\": \"ann\"}}";
    sluice.post("/v1/check", call);
    sluice.post("/v1/check", call);
    String ann = "/Login?login=ann";

    isDescribed("/v1/rules", "get", 200, operator("GET", "/v1/rules", ""));
    isDescribed("/v1/rules", "get", 401, sluice.get("/v1/rules"));
    isDescribed("/v1/rules/{name}", "get", 200, operator("GET", "/v1/rules/Gate", ""));
    isDescribed("/v1/accounts/{rule}", "get", 200, operator("GET", "/v1/accounts" + ann, ""));
    JsonNode page = isDescribed("/v1/locks", "get", 200, operator("GET", "/v1/locks", "")).json();
    assertThat(page.path("locks")).hasSize(1);
    isDescribed("/v1/locks/{rule}", "delete", 200, operator("DELETE", "/v1/locks" + ann, ""));
    String lock = "{\"duration\": \"1m\"}";
    isDescribed("/v1/locks/{rule}", "put", 200, operator("PUT", "/v1/locks" + ann, lock));
    isDescribed("/v1/locks/{rule}", "put", 400, operator("PUT", "/v1/locks" + ann, "{}"));
    isDescribed("/v1/accounts/{rule}", "delete", 200, operator("DELETE", "/v1/accounts" + ann, ""));
    String rotate = "/v1/receipts/rotate";
    isDescribed(rotate, "post", 200, operator("POST", rotate, ""));
  }

  @Test
  void health() {
    isDescribed("/health/live", "get", 200, sluice.get("/health/live"));
    isDescribed("/health/ready", "get", 200, sluice.get("/health/ready"));
  }

  private static Sluice.Answer operator(String method, String path, String body) {
    return sluice.send(
        sluice.admin(method, path).method(method, HttpRequest.BodyPublishers.ofString(body)));
  }

  /** Checks an answer against the schema of its operation and status. */
  private static Sluice.Answer isDescribed(
      String path, String method, int status, Sluice.Answer answer) {
    assertThat(answer.status()).describedAs(answer.response().body()).isEqualTo(status);
    JsonNode response =
        DOCUMENT.path("paths").path(path).path(method).path("responses").path("" + status);
    if (response.has("$ref")) {
      response = DOCUMENT.at(response.path("$ref").asText().substring(1));
    }
    JsonNode schema = response.path("content").path(type(answer)).path("schema");
    assertThat(schema.isObject()).describedAs("%s %s %s", method, path, status).isTrue();
    ObjectNode root = schema.deepCopy();
    root.set("components", DOCUMENT.path("components"));

    assertThat(
            JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012)
                .getSchema(root)
                .validate(answer.json()))
        .describedAs("%s %s: %s", method, path, answer.response().body())
        .isEmpty();
    return answer;
  }

  private static String type(Sluice.Answer answer) {
    return answer.header("Content-Type").replaceFirst(";.*", "");
  }

  private static ObjectNode document() {
    Object loaded =
        new Load(LoadSettings.builder().build())
            .loadFromString(
                new String(HealthRoutes.resource("openapi.yaml"), StandardCharsets.UTF_8));
    ObjectNode document = new ObjectMapper().valueToTree(loaded);
    refuseOthers(document);
    return document;
  }

  /** A member that the document does not name is a mistake here, though no client minds it. */
  private static void refuseOthers(JsonNode node) {
    if (node instanceof ObjectNode object
        && object.path("properties").isObject()
        && !object.has("additionalProperties")) {
      object.set("additionalProperties", JsonNodeFactory.instance.booleanNode(false));
    }
    if (node instanceof ObjectNode || node instanceof ArrayNode) {
      node.forEach(AnswersTest::refuseOthers);
    }
  }
}
