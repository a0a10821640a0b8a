package dev.sluice.spring;

import static dev.sluice.spring.RateLimit.Count.ON_FAILURE;

import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The same small application on MVC and on WebFlux. */
public final class Shop {
  static final String[] SETTINGS = {
    "sluice.facets.member.query=member",
    "sluice.facets.login.query=login",
    "sluice.facets.promo.query=promo",
    "sluice.facets.tenant.header=X-Tenant",
    "sluice.facets.key.header=X-Key",
    "sluice.facets.ip=client-address",
    "sluice.rules.Play.by=member",
    "sluice.rules.Play.limit=2 per 1m",
    "sluice.rules.Code.by=login",
    "sluice.rules.Code.limit=3 per 30m",
    "sluice.rules.Code.lock=30m",
    "sluice.rules.Promo.by=member+promo",
    "sluice.rules.Promo.limit=3 per 1m",
    "sluice.rules.Api.by[0]=key",
    "sluice.rules.Api.limits[0].token-bucket.capacity=5",
    "sluice.rules.Api.limits[0].token-bucket.refill=5",
    "sluice.rules.Api.limits[0].token-bucket.per=1d",
    "sluice.rules.Tenant.by=tenant",
    "sluice.rules.Tenant.limit=1 per 1m",
    "sluice.routes[0].path=/api/**",
    "sluice.routes[0].methods=GET",
    "sluice.routes[0].rule=Api",
    "sluice.routes[1].path=/tenants/**",
    "sluice.routes[1].rule=Tenant",
    "sluice.routes[2].path=/items/**",
    "sluice.routes[2].methods=DELETE",
    "sluice.routes[2].rule=Play",
    "spring.mvc.hiddenmethod.filter.enabled=true",
    "spring.webflux.hiddenmethod.filter.enabled=true",
  };

  /** What calls of {@code /door} wait for, by login. */
  static final Map<String, CompletableFuture<String>> DOORS = new ConcurrentHashMap<>();

  private Shop() {}

  static String[] on(String store) {
    String[] all = Arrays.copyOf(SETTINGS, SETTINGS.length + 2);
    all[SETTINGS.length] = "sluice.store=" + store;
    // Generous, because the machine that runs the tests may be busy.
    all[SETTINGS.length + 1] = "sluice.deadline=5s";
    return all;
  }

  /** On servlets. */
  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import({MvcPages.class, Work.class})
  static class Mvc {
    @Bean
    FacetResolver tenant() {
      return new TenantResolver();
    }
  }

  /** On WebFlux. */
  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import({FluxPages.class, Work.class})
  static class WebFlux {
    @Bean
    FacetResolver tenant() {
      return new TenantResolver();
    }
  }

  /** A bean that is no controller. */
  static class Work {
    @RateLimit(value = "Play", by = "member=#member")
    String run(String member) {
      return "worked";
    }

    @RateLimit(value = "Play", by = "member=#member")
    Mono<String> later(String member) {
      return Mono.just("worked");
    }
  }

  /** Fails for one tenant. */
  public static class TenantResolver implements FacetResolver {
    @Override
    public String facet() {
      return "tenant";
    }

    @Override
    public String resolve(FacetContext context) {
      String tenant = context.request().orElseThrow().headers("X-Tenant").get(0);
      if (tenant.equals("boom")) {
        throw new IllegalStateException("no such tenant");
      }
      return tenant;
    }
  }

  /** Controllers of MVC. */
  @RestController
  static class MvcPages {
    private final Work work;

    MvcPages(Work work) {
      this.work = work;
    }

    @GetMapping("/play")
    @RateLimit(value = "Play", by = "member=#member")
    public String play(@RequestParam String member) {
      return "played";
    }

    @GetMapping("/code")
    @RateLimit(value = "Code", count = ON_FAILURE)
    public String code(@RequestParam String login, @RequestParam String code) {
      if (!code.equals("42")) {
        throw new ResponseStatusException(HttpStatus.UNAUTHORIZED);
      }
      return "welcome";
    }

    @GetMapping("/answer")
    @RateLimit(value = "Code", count = ON_FAILURE, failedIf = "#result == 'no'")
    public CompletableFuture<String> answer(@RequestParam String login, @RequestParam String say) {
      return CompletableFuture.supplyAsync(() -> say);
    }

    @GetMapping("/later")
    @RateLimit(value = "Code", count = ON_FAILURE)
    public Callable<String> later(@RequestParam String login, @RequestParam boolean ok) {
      return () -> {
        if (!ok) {
          throw new ResponseStatusException(HttpStatus.UNAUTHORIZED);
        }
        return "later";
      };
    }

    @GetMapping("/door")
    @RateLimit(value = "Code", by = "login=#login", count = ON_FAILURE)
    public CompletableFuture<String> door(@RequestParam String login) {
      return DOORS.computeIfAbsent(login, key -> new CompletableFuture<>());
    }

    @GetMapping("/both")
    @RateLimit("Play")
    @RateLimit("Promo")
    public String both(@RequestParam String member, @RequestParam String promo) {
      return "both";
    }

    @GetMapping("/bulk")
    @RateLimit(value = "Promo", cost = "#n")
    public String bulk(@RequestParam long n) {
      return "bulk";
    }

    @GetMapping("/nested")
    @RateLimit("Promo")
    public String nested(@RequestParam String member, @RequestParam String promo) {
      return work.run(member);
    }

    @GetMapping("/work")
    public String work(@RequestParam String member) {
      return work.run(member);
    }

    @GetMapping("/tenant")
    @RateLimit("Tenant")
    public String tenant() {
      return "tenant";
    }

    @GetMapping({"/api/{id}", "/tenants/{id}"})
    public String api() {
      return "api";
    }

    @DeleteMapping("/items/{id}")
    public String delete() {
      return "deleted";
    }

    @PostMapping("/items/{id}")
    public String post() {
      return "posted";
    }

    @GetMapping("/free")
    public String free() {
      return "free";
    }
  }

  /** Controllers of WebFlux. */
  @RestController
  static class FluxPages {
    private final Work work;

    FluxPages(Work work) {
      this.work = work;
    }

    @GetMapping("/play")
    @RateLimit(value = "Play", by = "member=#member")
    public Mono<String> play(@RequestParam String member) {
      return Mono.just("played");
    }

    @GetMapping("/code")
    @RateLimit(value = "Code", count = ON_FAILURE)
    public Mono<String> code(@RequestParam String login, @RequestParam String code) {
      return code.equals("42")
          ? Mono.just("welcome")
          : Mono.error(new ResponseStatusException(HttpStatus.UNAUTHORIZED));
    }

    @GetMapping("/answer")
    @RateLimit(value = "Code", count = ON_FAILURE, failedIf = "#result == 'no'")
    public Mono<String> answer(@RequestParam String login, @RequestParam String say) {
      return Mono.just(say);
    }

    @GetMapping("/later")
    @RateLimit(value = "Code", count = ON_FAILURE)
    public Flux<String> later(@RequestParam String login, @RequestParam boolean ok) {
      return ok
          ? Flux.just("la", "ter")
          : Flux.error(new ResponseStatusException(HttpStatus.UNAUTHORIZED));
    }

    @GetMapping("/door")
    @RateLimit(value = "Code", by = "login=#login", count = ON_FAILURE)
    public CompletableFuture<String> door(@RequestParam String login) {
      return DOORS.computeIfAbsent(login, key -> new CompletableFuture<>());
    }

    @GetMapping("/both")
    @RateLimit("Play")
    @RateLimit("Promo")
    public Mono<String> both(@RequestParam String member, @RequestParam String promo) {
      return Mono.just("both");
    }

    @GetMapping("/bulk")
    @RateLimit(value = "Promo", cost = "#n")
    public Mono<String> bulk(@RequestParam long n) {
      return Mono.just("bulk");
    }

    @GetMapping("/nested")
    @RateLimit("Promo")
    public Mono<String> nested(@RequestParam String member, @RequestParam String promo) {
      return Mono.fromSupplier(() -> work.run(member));
    }

    @GetMapping("/work")
    public Mono<String> work(@RequestParam String member) {
      return work.later(member);
    }

    @GetMapping("/tenant")
    @RateLimit("Tenant")
    public Mono<String> tenant() {
      return Mono.just("tenant");
    }

    @GetMapping({"/api/{id}", "/tenants/{id}"})
    public Mono<String> api() {
      return Mono.just("api");
    }

    @DeleteMapping("/items/{id}")
    public Mono<String> delete() {
      return Mono.just("deleted");
    }

    @PostMapping("/items/{id}")
    public Mono<String> post() {
      return Mono.just("posted");
    }

    @GetMapping("/free")
    public Mono<String> free() {
      return Mono.just("free");
    }
  }
}
