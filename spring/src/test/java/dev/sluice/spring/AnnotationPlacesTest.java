package dev.sluice.spring;

import static dev.sluice.spring.RateLimit.Count.ON_FAILURE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.concurrent.Callable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Scope;
import org.springframework.context.annotation.ScopedProxyMode;
import org.springframework.core.annotation.AliasFor;
import reactor.core.publisher.Mono;

/** Wherever the annotation may stand, calls through the bean are counted, and once. */
class AnnotationPlacesTest {
  /** On the method of an interface, with a type of its own in the class: a bridge leads to it. */
  interface Repository<T> {
    @RateLimit(value = "Once", by = "who='interface'")
    String save(T value);

    @RateLimit(value = "Once", by = "who='default'")
    default String list() {
      return "listed";
    }
  }

  static class Texts implements Repository<String> {
    @Override
    public String save(String value) {
      return value;
    }
  }

  @RateLimit(value = "Once", by = "who='class'")
  interface Limited {
    String call();
  }

  static class Calls implements Limited {
    @Override
    public String call() {
      return "called";
    }
  }

  static class Parent {
    @RateLimit(value = "Once", by = "who='parent'")
    public String work() {
      return "parent";
    }

    public String unlimited() {
      return "unlimited";
    }
  }

  static class Child extends Parent {
    @Override
    public String work() {
      return "child";
    }
  }

  @Retention(RetentionPolicy.RUNTIME)
  @RateLimit(value = "Once", by = "who='meta'")
  @interface Seldom {
    @AliasFor(annotation = RateLimit.class, attribute = "cost")
    String cost() default "";
  }

  @Retention(RetentionPolicy.RUNTIME)
  @RateLimit(value = "Once", by = "who='meta2'")
  @RateLimit(value = "Twice", by = "who='meta2'")
  @interface Rarely {}

  static class Meta {
    @Seldom
    public String seldom() {
      return "seldom";
    }

    @Rarely
    public String rarely() {
      return "rarely";
    }
  }

  interface Made {
    @RateLimit(value = "Once", by = "who='made'")
    String make();
  }

  static class Maker implements FactoryBean<Made> {
    @Override
    public Made getObject() {
      return () -> "made";
    }

    @Override
    public Class<?> getObjectType() {
      return Made.class;
    }
  }

  static class Scoped {
    @RateLimit(value = "Once", by = "who='scoped'")
    public String scoped() {
      return "scoped";
    }
  }

  static class Ends {
    @RateLimit(value = "Once", by = "who='ends'", count = ON_FAILURE)
    public Object anything(boolean ok) {
      return ok ? Mono.just("good") : Mono.error(new IllegalStateException("bad"));
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Main {
    @Bean
    Ends ends() {
      return new Ends();
    }

    @Bean
    Repository<String> texts() {
      return new Texts();
    }

    @Bean
    Limited calls() {
      return new Calls();
    }

    @Bean
    Child child() {
      return new Child();
    }

    @Bean
    Meta meta() {
      return new Meta();
    }

    @Bean
    Maker maker() {
      return new Maker();
    }

    @Bean
    @Scope(value = "prototype", proxyMode = ScopedProxyMode.TARGET_CLASS)
    Scoped scoped() {
      return new Scoped();
    }
  }

  private static void assertOnce(Callable<String> call) throws Exception {
    assertThat(call.call()).isNotEmpty();
    assertThatThrownBy(call::call).isInstanceOf(RateLimitedException.class);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  @SuppressWarnings({"unchecked", "rawtypes"})
  void callsThroughTheBeanAreCountedOnce(boolean classProxies) throws Exception {
    try (App app =
        App.start(
            WebApplicationType.NONE,
            Main.class,
            "spring.aop.proxy-target-class=" + classProxies,
            "sluice.rules.Once.by=who",
            "sluice.rules.Once.limit=1 per 1d",
            "sluice.rules.Twice.by=who",
            "sluice.rules.Twice.limit=2 per 1d")) {
      Repository raw = app.bean(Repository.class);
      assertOnce(() -> raw.save("x"));
      assertOnce(raw::list);
      assertOnce(app.bean(Limited.class)::call);
      assertOnce(app.bean(Child.class)::work);
      assertOnce(app.bean(Meta.class)::seldom);
      assertOnce(app.bean(Meta.class)::rarely);
      assertOnce(app.bean(Made.class)::make);
      assertOnce(app.bean(Scoped.class)::scoped);
      Ends ends = app.bean(Ends.class);
      assertThat(((Mono<?>) ends.anything(true)).block()).isEqualTo("good");
      assertThatThrownBy(() -> ((Mono<?>) ends.anything(false)).block()).hasMessage("bad");
      assertThatThrownBy(() -> ends.anything(false)).isInstanceOf(RateLimitedException.class);
      assertThat(app.bean(Child.class).unlimited()).isEqualTo("unlimited");
      assertThat(app.bean(Child.class).unlimited()).isEqualTo("unlimited");
    }
  }
}
