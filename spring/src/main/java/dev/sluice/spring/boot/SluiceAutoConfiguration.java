package dev.sluice.spring.boot;

import dev.sluice.Call;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.LimiterListener;
import dev.sluice.RuleSource;
import dev.sluice.Rules;
import dev.sluice.http.ClientAddress;
import dev.sluice.http.HeaderProfile;
import dev.sluice.spring.FacetResolver;
import dev.sluice.spring.RefusalBody;
import dev.sluice.spring.SluiceProperties;
import dev.sluice.spring.call.EdgeRequest;
import dev.sluice.spring.call.Facets;
import dev.sluice.spring.call.Gate;
import dev.sluice.spring.login.LoginGuard;
import dev.sluice.spring.method.Expressions;
import dev.sluice.spring.method.RateLimitAdvice;
import dev.sluice.spring.method.RateLimitAdvisor;
import dev.sluice.spring.mvc.ServletEdge;
import dev.sluice.spring.peer.PeerSetup;
import dev.sluice.spring.webflux.ReactiveEdge;
import dev.sluice.store.Store;
import io.micrometer.observation.ObservationRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;
import org.springframework.aop.config.AopConfigUtils;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.context.annotation.Role;
import org.springframework.core.env.Environment;
import org.springframework.core.io.ResourceLoader;
import org.springframework.core.type.AnnotatedTypeMetadata;
import org.springframework.core.type.AnnotationMetadata;
import org.springframework.util.ClassUtils;

/** Configures store, rules, limiter, annotation and start check. */
@AutoConfiguration(
    afterName = {
      "org.springframework.boot.actuate.autoconfigure.metrics.CompositeMeterRegistryAutoConfiguration",
      "org.springframework.boot.actuate.autoconfigure.observation.ObservationAutoConfiguration",
      "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration",
      "org.springframework.boot.micrometer.observation.autoconfigure.ObservationAutoConfiguration",
      "org.springframework.boot.autoconfigure.aop.AopAutoConfiguration"
    })
@EnableConfigurationProperties(SluiceProperties.class)
@Import({SluiceAutoConfiguration.Active.class, SluiceAutoConfiguration.Off.class})
public class SluiceAutoConfiguration {

  /** Logs that Sluice is off. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnProperty(name = "sluice.enabled", havingValue = "false")
  static class Off {
    Off() {
      LoggerFactory.getLogger(SluiceAutoConfiguration.class)
          .warn("Sluice is off (sluice.enabled=false): nothing is limited");
    }
  }

  /** Everything that does not depend on the web. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnProperty(name = "sluice.enabled", havingValue = "true", matchIfMissing = true)
  @Import({Proxies.class, EmbeddedServer.class})
  public static class Active {
    @Bean
    @ConditionalOnMissingBean
    Store sluiceStore(
        SluiceProperties properties, Environment environment, ObjectProvider<Meters> meters) {
      Meters known = meters.getIfAvailable();
      return StoreSettings.open(
          properties,
          environment,
          known == null ? fault -> {} : fault -> known.countFault(fault.kind()));
    }

    @Bean(autowireCandidate = false)
    RuleLayers sluiceRules(
        SluiceProperties properties,
        ObjectProvider<RuleSource> beans,
        ResourceLoader loader,
        Environment environment) {
      return RuleSettings.layers(properties, beans.orderedStream().toList(), loader, environment);
    }

    @Bean
    @ConditionalOnMissingBean
    Limiter sluiceLimiter(
        Store store,
        ConfigurableListableBeanFactory beans,
        ObjectProvider<Meters> meters,
        ObjectProvider<LimiterListener> listeners) {
      return limiter(store, beans, meters, listeners).build();
    }

    /** The limiter of an application with its listeners. */
    public static Limiter.Builder limiter(
        Store store,
        ConfigurableListableBeanFactory beans,
        ObjectProvider<Meters> meters,
        ObjectProvider<LimiterListener> listeners) {
      Limiter.Builder limiter =
          Limiter.builder(store, beans.getBean("sluiceRules", RuleLayers.class));
      meters.ifAvailable(known -> limiter.listener(new MeteredDecisions(known)));
      listeners.orderedStream().forEach(limiter::listener);
      return limiter;
    }

    @Bean
    Gate sluiceGate(
        Limiter limiter,
        SluiceProperties properties,
        ObjectProvider<FacetResolver> resolvers,
        ObjectProvider<ObservationRegistry> observations,
        ObjectProvider<Meters> meters,
        ObjectProvider<RefusalBody> body) {
      Meters known = meters.getIfAvailable();
      return new Gate(
          limiter,
          new Facets(resolvers.orderedStream().toList(), client(properties)),
          StartFailure.reading("sluice.headers", () -> HeaderProfile.parse(properties.headers())),
          observations.getIfAvailable(() -> ofMeters(known)),
          body.getIfAvailable());
    }

    private static ClientAddress client(SluiceProperties properties) {
      List<String> proxies = properties.trustedProxies();
      StartFailure.reading("sluice.trusted-proxies", () -> ClientAddress.trusting(proxies));
      ClientAddress.Trail trail =
          StartFailure.reading(
              "sluice.forwarded-header",
              () -> ClientAddress.Trail.parse(properties.forwardedHeader()));
      return StartFailure.reading(
          "sluice.ipv6-prefix",
          () -> ClientAddress.trusting(proxies, trail, properties.ipv6Prefix()));
    }

    private static ObservationRegistry ofMeters(@Nullable Meters meters) {
      return meters == null ? ObservationRegistry.NOOP : meters.observations();
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static RateLimitAdvisor sluiceAdvisor(ConfigurableListableBeanFactory beans) {
      return new RateLimitAdvisor(
          new RateLimitAdvice(
              () -> beans.getBean(Gate.class), new Expressions(beans), edges(beans)));
    }

    @Bean
    @Conditional(OnLogin.class)
    LoginGuard sluiceLoginGuard(
        Gate gate, SluiceProperties properties, ConfigurableListableBeanFactory beans) {
      SluiceProperties.Login login = Objects.requireNonNull(properties.login(), "sluice.login");
      return new LoginGuard(gate, login, edges(beans));
    }

    @Bean
    StartCheck sluiceStartCheck(
        ConfigurableListableBeanFactory beans,
        SluiceProperties properties,
        Environment environment) {
      return new StartCheck(beans, properties, environment);
    }

    private static List<Function<@Nullable Object[], @Nullable EdgeRequest>> edges(
        ConfigurableListableBeanFactory beans) {
      ClassLoader loader = beans.getBeanClassLoader();
      List<Function<@Nullable Object[], @Nullable EdgeRequest>> edges = new ArrayList<>();
      if (ClassUtils.isPresent("jakarta.servlet.http.HttpServletRequest", loader)
          && ClassUtils.isPresent(
              "org.springframework.web.context.request.ServletRequestAttributes", loader)) {
        edges.add(ServletEdge::current);
      }
      if (ClassUtils.isPresent("org.springframework.web.server.ServerWebExchange", loader)
          && ClassUtils.isPresent("reactor.core.publisher.Mono", loader)) {
        edges.add(ReactiveEdge::among);
      }
      return edges;
    }
  }

  /** For a web server that Spring Boot starts. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(WebServerFactoryCustomizer.class)
  static class EmbeddedServer {
    @Bean
    PeerSetup sluicePeerSetup() {
      return new PeerSetup();
    }
  }

  /** Whether {@code sluice.login} is set. */
  static final class OnLogin implements org.springframework.context.annotation.Condition {
    @Override
    public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
      return Binder.get(context.getEnvironment())
          .bind("sluice.login", Bindable.mapOf(String.class, Object.class))
          .isBound();
    }
  }

  /** Makes sure that annotated beans get proxies, also with spring.aop.auto=false. */
  static class Proxies implements ImportBeanDefinitionRegistrar {
    private final Environment environment;

    Proxies(Environment environment) {
      this.environment = environment;
    }

    @Override
    public void registerBeanDefinitions(
        AnnotationMetadata metadata, BeanDefinitionRegistry registry) {
      AopConfigUtils.registerAutoProxyCreatorIfNecessary(registry);
      if (environment.getProperty("spring.aop.proxy-target-class", Boolean.class, true)) {
        AopConfigUtils.forceAutoProxyCreatorToUseClassProxying(registry);
      }
    }
  }

  /** Counts metrics; a bean only if the application has Micrometer. */
  public interface Meters {
    void countFault(String kind);

    /** Counts a decision, for each of its rules. */
    void countDecision(Rules rules, Call call, Decision decision);

    /** Counts the cost of records and settlements that could not be charged. */
    void countUncharged(String rule, long cost);

    /** For an application with meters but without an observation registry. */
    ObservationRegistry observations();
  }
}
