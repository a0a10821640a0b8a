package dev.sluice.spring.boot;

import dev.sluice.internal.Text;
import dev.sluice.memory.MemoryStore;
import dev.sluice.redis.RedisStore;
import dev.sluice.redis.RedisStoreBuilder;
import dev.sluice.spring.SluiceProperties;
import dev.sluice.store.Store;
import dev.sluice.store.StoreException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.core.env.Environment;

/** Opens the store of {@code sluice.store}. */
public final class StoreSettings {
  private static final String MEMORY = "memory";
  private static final String SPRING = "spring";
  private static final String REDIS = "spring.data.redis";

  private StoreSettings() {}

  /** The properties spring.data.redis.*; their class differs between versions of Spring Boot. */
  public record Redis(
      @Nullable String url,
      @DefaultValue("localhost") String host,
      @DefaultValue("6379") int port,
      @DefaultValue("0") int database,
      @Nullable String username,
      @Nullable String password,
      @DefaultValue Ssl ssl,
      @Nullable Cluster cluster,
      @Nullable Sentinel sentinel) {
    record Ssl(@DefaultValue("false") boolean enabled, @Nullable String bundle) {}

    record Cluster(List<String> nodes) {}

    record Sentinel(
        String master, List<String> nodes, @Nullable String username, @Nullable String password) {}

    public String uri() {
      refuseWhatUrisCannotExpress();
      if (url != null && !url.isEmpty()) {
        return url;
      }
      String user =
          password == null || password.isEmpty()
              ? ""
              : (username == null ? "" : encoded(username)) + ":" + encoded(password) + "@";
      String scheme = ssl.enabled ? "rediss" : "redis";
      if (cluster != null) {
        return "%s-cluster://%s%s".formatted(scheme, user, String.join(",", cluster.nodes));
      }
      String path = database == 0 ? "" : "/" + database;
      if (sentinel != null) {
        return "%s-sentinel://%s%s%s#%s"
            .formatted(scheme, user, String.join(",", sentinel.nodes), path, sentinel.master);
      }
      return "%s://%s%s:%d%s".formatted(scheme, user, host, port, path);
    }

    private void refuseWhatUrisCannotExpress() {
      String name =
          ssl.bundle != null
              ? "ssl.bundle"
              : sentinel != null && (sentinel.username != null || sentinel.password != null)
                  ? "sentinel.password"
                  : null;
      if (name != null) {
        throw StartFailure.ofProperty(
            "sluice.store: spring, and %s.%s is set, which Sluice does not support (expected: a URI in"
                    .formatted(REDIS, name)
                + " sluice.store, or a bean of type Store)",
            null);
      }
    }

    private static String encoded(String text) {
      return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }
  }

  static Store open(
      SluiceProperties properties, Environment environment, Consumer<StoreException> onFault) {
    String store = properties.store().strip();
    if (store.equalsIgnoreCase(MEMORY)) {
      return MemoryStore.create();
    }
    String uri = store.equalsIgnoreCase(SPRING) ? ofSpring(environment) : store;
    if (!uri.startsWith("redis")) {
      throw StartFailure.ofProperty(
          "sluice.store: %s (expected: memory, spring, or a URI such as redis://host:6379)"
              .formatted(Text.quoted(Text.withoutPassword(uri))),
          null);
    }
    RedisStoreBuilder settings =
        RedisStore.builder(uri)
            .functions(properties.functions())
            .reports(properties.reports())
            .overrides(true)
            .program("spring")
            .requireStore(properties.requireStore())
            .onFault(onFault);
    StartFailure.reading("sluice.deadline", () -> settings.deadline(properties.deadline()));
    StartFailure.reading("sluice.nodes", () -> settings.nodes(properties.nodes()));
    try {
      return StartFailure.reading("sluice.store", settings::build);
    } catch (StoreException fault) {
      throw StartFailure.of(
          List.of("sluice.require-store is true, and Redis does not answer: " + fault.getMessage()),
          "Start Redis, or correct sluice.store. Without sluice.require-store the application starts,"
              + " and each rule's onStoreFailure decides until Redis answers.",
          fault);
    }
  }

  private static String ofSpring(Environment environment) {
    return Binder.get(environment).bindOrCreate(REDIS, Redis.class).uri();
  }

  /** The store in use, for the log; without its password. */
  static String name(
      ListableBeanFactory beans, SluiceProperties properties, Environment environment) {
    if (beans.containsBean("sluiceTestStore")) {
      return "memory (of SluiceTesting)";
    }
    return beans.containsBean("sluiceStore")
        ? name(properties, environment)
        : "bean " + String.join(", ", beans.getBeanNamesForType(Store.class));
  }

  /** The store of the properties, for the log; without its password. */
  private static String name(SluiceProperties properties, Environment environment) {
    String store = properties.store().strip();
    if (store.equalsIgnoreCase(MEMORY)) {
      boolean redis =
          Binder.get(environment).bind(REDIS, Bindable.mapOf(String.class, Object.class)).isBound();
      return "memory (this JVM alone"
          + (redis ? "; sluice.store=spring shares limits through spring.data.redis)" : ")");
    }
    return Text.withoutPassword(store.equalsIgnoreCase(SPRING) ? ofSpring(environment) : store);
  }
}
