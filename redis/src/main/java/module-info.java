/** The store on Redis. */
@SuppressWarnings("requires-automatic") // Lettuce has no module descriptor
module dev.sluice.redis {
  requires transitive dev.sluice.core;
  requires com.github.benmanes.caffeine;
  requires io.netty.buffer;
  requires io.netty.common;
  requires io.netty.transport;
  requires lettuce.core;
  requires org.slf4j;
  requires static transitive org.jspecify;

  exports dev.sluice.redis;
}
