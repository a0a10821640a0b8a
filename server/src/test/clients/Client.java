import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.DecisionsApi;
import org.openapitools.client.api.OperatorsApi;
import org.openapitools.client.model.Call;
import org.openapitools.client.model.Decision;
import org.openapitools.client.model.Lifted;
import org.openapitools.client.model.LockPage;
import org.openapitools.client.model.Refusal;
import org.openapitools.client.model.Settlement;

/** Calls a service with the client that openapi-generator makes: java Client URL TOKEN. */
public class Client {
  public static void main(String[] args) throws Exception {
    ApiClient client = new ApiClient();
    client.updateBaseUri(args[0]);
    DecisionsApi sluice = new DecisionsApi(client);
    Call large = new Call().rule("Api").identity(Map.of("apiKey", "k1")).cost(60L);

    Decision first = sluice.check(large.receipt(true));
    print("check", first.getAllowed(), first.getRemaining());
    Decision second = sluice.check(large.receipt(false));
    print("check", second.getAllowed(), second.getRetryAfterMs() > 0);
    Settlement settlement = new Settlement().receipt(first.getReceipt()).cost(10L);
    print("settle", sluice.settle(settlement).getSettled());
    Decision third = sluice.check(large);
    print("check", third.getAllowed(), third.getRemaining());

    gate(sluice, Map.of("X-Api-Key", "k2"));

    for (int i = 0; i < 2; i++) {
      sluice.check(new Call().rule("Login").identity(Map.of("login", "ann")));
    }
    locks(client, args[1]);
  }

  private static void gate(DecisionsApi sluice, Map<String, String> key) throws Exception {
    var passed = sluice.gateWithHttpInfo("Gate", null, key);
    print("gate", passed.getStatusCode(), passed.getHeaders().get("x-ratelimit-remaining").get(0));
    try {
      sluice.gate("Gate", null, key);
    } catch (ApiException e) {
      Refusal problem = new ObjectMapper().readValue(e.getResponseBody(), Refusal.class);
      String policies = String.join(",", problem.getViolatedPolicies());
      print("gate", e.getCode(), problem.getTitle(), policies);
      long wait = e.getResponseHeaders().firstValueAsLong("retry-after").orElseThrow();
      print("retry", wait >= 1 && wait <= 3600, problem.getRetryAfterMs() > 0);
    }
  }

  private static void locks(ApiClient client, String token) throws ApiException {
    try {
      new OperatorsApi(client).listLocks(null, null, null);
    } catch (ApiException e) {
      print("locks", e.getCode());
    }
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + token));
    OperatorsApi operators = new OperatorsApi(client);
    LockPage locks = operators.listLocks(null, null, null);
    String account = locks.getLocks().get(0).getAccount();
    print("locks", locks.getTotal(), account);
    Lifted lifted = operators.liftLock("Login", null, null, account);
    print("lift", lifted.getLifted(), lifted.getAllowed());
    print("locks", operators.listLocks(null, null, null).getTotal());
  }

  private static void print(Object... words) {
    StringBuilder line = new StringBuilder();
    for (Object word : words) {
      line.append(line.length() == 0 ? "" : " ").append(word);
    }
    System.out.println(line);
  }
}
