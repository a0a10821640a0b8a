/** The limiter, its rules, and the store inside the JVM. */
// The modules of the qualified exports are built later; DataSketches has no module descriptor.
@SuppressWarnings({"module", "requires-automatic"})
module dev.sluice.core {
  requires java.xml;
  requires org.slf4j;
  requires org.snakeyaml.engine;
  requires static com.github.benmanes.caffeine;
  requires static datasketches.java;
  requires static transitive org.jspecify;

  exports dev.sluice;
  exports dev.sluice.http;
  exports dev.sluice.memory;
  exports dev.sluice.metrics;
  exports dev.sluice.rules;
  exports dev.sluice.rules.source;
  exports dev.sluice.store;
  exports dev.sluice.internal to
      dev.sluice.redis;
  exports dev.sluice.outage to
      dev.sluice.redis;
  exports dev.sluice.traffic to
      dev.sluice.redis;
}
