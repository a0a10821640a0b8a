package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.spring.call.UncountableException;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Facets that code supplies count beside those that the settings name. */
class CallerFacetsTest {
  private static App app;

  /** Who asks is an argument. */
  static class Door {
    @RateLimit(value = "Login", by = "login=#login")
    public Object plain(Object login) {
      return login;
    }

    @RateLimit(value = "Member", by = "member=#member")
    public String normalized(String member) {
      return member;
    }

    @RateLimit("Tenant")
    public String ofABean() {
      return "";
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Main {
    @Bean
    Door door() {
      return new Door();
    }

    @Bean
    FacetResolver tenant() {
      return new FacetResolver() {
        @Override
        public String facet() {
          return "tenant";
        }

        @Override
        public String resolve(FacetContext context) {
          return "acme";
        }
      };
    }
  }

  @BeforeAll
  static void start() {
    app =
        App.start(
            WebApplicationType.NONE,
            Main.class,
            "sluice.facets.account.claim=account_id",
            "sluice.facets.member.from=caller",
            "sluice.facets.member.normalize=lowercase",
            "sluice.rules.Login.by=login",
            "sluice.rules.Login.limit=1 per 1d",
            "sluice.rules.Member.by=member",
            "sluice.rules.Member.limit=1 per 1d",
            "sluice.rules.Tenant.by=tenant",
            "sluice.rules.Tenant.limit=1 per 1d");
  }

  @AfterAll
  static void stop() {
    app.close();
  }

  private static Door door() {
    return app.bean(Door.class);
  }

  @Test
  void facetWithoutAnEntryCounts() {
    assertThat(door().plain("ann")).isEqualTo("ann");
    assertThat(door().plain("bob")).isEqualTo("bob");
    assertThatThrownBy(() -> door().plain("ann")).isInstanceOf(RateLimitedException.class);
    assertThat(door().ofABean()).isEmpty();
    assertThatThrownBy(() -> door().ofABean()).isInstanceOf(RateLimitedException.class);
  }

  @Test
  void facetOfTheCallerCanBeNormalized() {
    assertThat(door().normalized("Ann")).isEqualTo("Ann");
    assertThatThrownBy(() -> door().normalized("ann")).isInstanceOf(RateLimitedException.class);
  }

  @Test
  void valueIsSingle() {
    assertThat(door().plain(17)).isEqualTo(17);
    assertThatThrownBy(() -> door().plain("17")).isInstanceOf(RateLimitedException.class);
    assertThatThrownBy(() -> door().plain(List.of("a")))
        .isInstanceOf(UncountableException.class)
        .hasMessage(
            "Door.plain: by = \"login=#login\" is a list (expected: a single value: text, a number,"
                + " true or false)");
    assertThatThrownBy(() -> door().plain(new Object()))
        .isInstanceOf(UncountableException.class)
        .hasMessageContaining("is a Object (expected: a single value");
  }
}
