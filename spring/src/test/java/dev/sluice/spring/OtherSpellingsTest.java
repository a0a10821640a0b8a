package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.util.AntPathMatcher;
import org.springframework.util.ReflectionUtils;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.reactive.config.WebFluxConfigurer;
import org.springframework.web.servlet.config.annotation.PathMatchConfigurer;
import org.springframework.web.servlet.config.annotation.WebMvcConfigurer;
import org.springframework.web.servlet.function.RouterFunction;
import org.springframework.web.servlet.function.RouterFunctions;
import org.springframework.web.servlet.function.ServerResponse;
import org.springframework.web.util.pattern.PathPatternParser;
import reactor.core.publisher.Mono;

/** No other way to write a path reaches a limited handler uncounted. */
class OtherSpellingsTest {
  private static final String[] SETTINGS = {
    "sluice.rules.Api.by=ip",
    "sluice.rules.Api.limit=1000000 per 1d",
    "sluice.rules.Two.by=ip",
    "sluice.rules.Two.limit=2 per 1d",
    "sluice.routes[0].path=/api/*",
    "sluice.routes[0].methods=GET",
    "sluice.routes[0].rule=Api",
    "sluice.routes[1].path=/exact",
    "sluice.routes[1].rule=Api",
    "sluice.routes[2].path=/files/a.txt",
    "sluice.routes[2].rule=Api",
    "sluice.routes[3].path=/fn/{id}",
    "sluice.routes[3].methods=get",
    "sluice.routes[3].rule=Api",
  };

  private static final List<String> PATHS = List.of("/api/1", "/exact", "/files/a.txt", "/fn/1");

  @RestController
  static class Pages {
    @GetMapping({"/api/{id}", "/exact", "/two/{id}"})
    public Mono<String> limited() {
      return Mono.just("limited");
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import(Pages.class)
  static class Mvc {
    @Bean
    RouterFunction<ServerResponse> functions() {
      return RouterFunctions.route()
          .GET("/fn/{id}", request -> ServerResponse.ok().body("limited"))
          .build();
    }
  }

  @Configuration(proxyBeanMethods = false)
  @Import(Mvc.class)
  static class MvcThatIgnoresCase implements WebMvcConfigurer {
    @Override
    public void configurePathMatch(PathMatchConfigurer paths) {
      PathPatternParser parser = new PathPatternParser();
      parser.setCaseSensitive(false);
      paths.setPatternParser(parser);
    }
  }

  /** Handlers answer for a slash and an extension more, in any case, as far as Spring has that. */
  @Configuration(proxyBeanMethods = false)
  @Import(Mvc.class)
  static class MvcOfOldHabits implements WebMvcConfigurer {
    @Override
    @SuppressWarnings({"deprecation", "removal"})
    public void configurePathMatch(PathMatchConfigurer paths) {
      AntPathMatcher matcher = new AntPathMatcher();
      matcher.setCaseSensitive(false);
      paths.setPathMatcher(matcher);
      for (String name : List.of("setUseTrailingSlashMatch", "setUseSuffixPatternMatch")) {
        Method setter = ReflectionUtils.findMethod(PathMatchConfigurer.class, name, Boolean.class);
        if (setter != null) { // gone with Spring 7
          ReflectionUtils.invokeMethod(setter, paths, true);
        }
      }
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import(Pages.class)
  static class WebFlux {
    @Bean
    org.springframework.web.reactive.function.server.RouterFunction<
            org.springframework.web.reactive.function.server.ServerResponse>
        functions() {
      return org.springframework.web.reactive.function.server.RouterFunctions.route()
          .GET(
              "/fn/{id}",
              request ->
                  org.springframework.web.reactive.function.server.ServerResponse.ok()
                      .bodyValue("limited"))
          .build();
    }
  }

  @Configuration(proxyBeanMethods = false)
  @Import(WebFlux.class)
  static class WebFluxThatIgnoresCase implements WebFluxConfigurer {
    @Override
    public void configurePathMatching(
        org.springframework.web.reactive.config.PathMatchConfigurer paths) {
      paths.setUseCaseSensitiveMatch(false);
    }
  }

  static Stream<Arguments> applications() {
    String ant = "spring.mvc.pathmatch.matching-strategy=ant_path_matcher";
    String servlet = "spring.mvc.servlet.path=/app";
    String context = "server.servlet.context-path=/shop";
    String base = "spring.webflux.base-path=/app";
    WebApplicationType mvc = WebApplicationType.SERVLET;
    WebApplicationType flux = WebApplicationType.REACTIVE;
    return Stream.of(
        Arguments.of(mvc, Mvc.class, "", new String[0]),
        Arguments.of(mvc, Mvc.class, "/app", new String[] {servlet}),
        Arguments.of(mvc, Mvc.class, "/shop", new String[] {context}),
        Arguments.of(mvc, Mvc.class, "/shop/app", new String[] {context, servlet}),
        Arguments.of(mvc, Mvc.class, "", new String[] {ant}),
        Arguments.of(mvc, Mvc.class, "/app", new String[] {ant, servlet}),
        Arguments.of(mvc, Mvc.class, "/shop/app", new String[] {ant, context, servlet}),
        Arguments.of(mvc, MvcThatIgnoresCase.class, "", new String[0]),
        Arguments.of(mvc, MvcOfOldHabits.class, "", new String[] {ant}),
        Arguments.of(flux, WebFlux.class, "", new String[0]),
        Arguments.of(flux, WebFlux.class, "/app", new String[] {base}),
        Arguments.of(flux, WebFluxThatIgnoresCase.class, "", new String[0]));
  }

  @TempDir static Path folder;

  private static String[] settings(String... more) throws IOException {
    Files.createDirectories(folder.resolve("files"));
    Files.writeString(folder.resolve("files/a.txt"), "limited");
    return Stream.of(
            SETTINGS,
            new String[] {"spring.web.resources.static-locations=" + folder.toUri()},
            more)
        .flatMap(Arrays::stream)
        .toArray(String[]::new);
  }

  /** Ways to write a path that some server, matcher or resource handler takes for the same. */
  private static List<String> spellings(String prefix, String path) {
    List<String> all = new ArrayList<>();
    String last = path.substring(path.lastIndexOf('/'));
    String first = path.substring(0, path.length() - last.length());
    for (String root :
        List.of("", "/", "/.", "/%2e", "/%2E", "/x/..", "/x/%2e%2e", "/;x", "/%2F", "\\", "%5C")) {
      all.add(prefix + root + path);
      all.add(root + prefix + path);
    }
    for (String between :
        List.of(
            "/",
            "//",
            "/./",
            "/x/../",
            "%2F",
            "%2f",
            "\\",
            "%5C",
            ";v=1/",
            "%3Bv=1/",
            "/;v/",
            "/%2e/",
            "/x/%2e%2e/",
            "/%2F",
            "/%5C",
            "/%20",
            "/%00")) {
      all.add(prefix + first + between + last.substring(1));
    }
    for (String end :
        List.of(
            "/",
            "//",
            ";v=1",
            "%3Bv=1",
            "/;v",
            "/.",
            "/%2e",
            ".json",
            ".",
            "%2F",
            "%20",
            "%00",
            "%09",
            "#x",
            "?x",
            "/x/..",
            "/..;" + last,
            "\\",
            "%5C",
            "%0a")) {
      all.add(prefix + path + end);
    }
    all.add(prefix + path.toUpperCase(Locale.ROOT));
    all.add(prefix + "/%" + Integer.toHexString(path.charAt(1)) + path.substring(2));
    all.add(prefix + "/%25" + Integer.toHexString(path.charAt(1)) + path.substring(2));
    all.add("http://127.0.0.1" + prefix + path);
    all.add("http://127.0.0.1/" + prefix + path);
    all.add("http://x@y" + prefix + path);
    return all;
  }

  @ParameterizedTest
  @MethodSource("applications")
  void everySpellingThatReachesALimitedHandlerIsCounted(
      WebApplicationType type, Class<?> main, String prefix, String[] more) throws IOException {
    List<String> uncounted = new ArrayList<>();
    List<String> reached = new ArrayList<>();
    try (App app = App.start(type, main, settings(more))) {
      for (String path : PATHS) {
        for (String spelling : spellings(prefix, path)) {
          App.Raw answer = app.raw("GET", spelling);
          if (answer.status() == 200) {
            (answer.counted() ? reached : uncounted).add(spelling);
          }
        }
      }
    }

    assertThat(uncounted).isEmpty();
    assertThat(reached).contains(PATHS.stream().map(path -> prefix + path).toArray(String[]::new));
  }

  static Stream<Arguments> prefixedApplications() {
    return applications().filter(each -> !each.get()[2].equals(""));
  }

  @ParameterizedTest
  @MethodSource("prefixedApplications")
  void routeMayBeWrittenWithThePrefixesOfTheApplication(
      WebApplicationType type, Class<?> main, String prefix, String[] more) throws IOException {
    String[] written = {
      "sluice.routes[4].path=" + prefix + "/two/**",
      "sluice.routes[4].methods=GET",
      "sluice.routes[4].rule=Two",
    };
    String[] all =
        Stream.of(settings(more), written).flatMap(Arrays::stream).toArray(String[]::new);
    try (App app = App.start(type, main, all)) {
      assertThat(IntStream.range(0, 4).mapToObj(i -> app.get(prefix + "/two/1").statusCode()))
          .containsExactly(200, 200, 429, 429);
    }
  }
}
